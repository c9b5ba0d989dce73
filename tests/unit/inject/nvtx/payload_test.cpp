// Layouts of payloads: what clients say about them and what is read from the bytes.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "collectors/inject/nvtx/payload_layout.h"
#include "collectors/inject/nvtx/payload_schema.h"
#include "tests/unit/inject/nvtx/schemas.h"

using namespace gradsync::test;

namespace {

Schema laid_out(const std::vector<SchemaEntry>& entries, uint64_t pack = 0) {
  Schema schema = {};
  SchemaAttributes attributes = described(entries);
  if (pack != 0) attributes.field_mask |= SchemaField::alignment;
  attributes.pack_align = pack;
  lay_out(attributes, schema);
  return schema;
}

}  // namespace

TEST_CASE("natural alignment decides where offsets were left out") {
  struct Natural {
    char a;
    double b;
    short c;
    int d;
  };
  const Schema schema = laid_out({entry(EntryType::char_, "a"), entry(EntryType::double_, "b"),
                                  entry(EntryType::short_, "c"), entry(EntryType::int_, "d")});
  REQUIRE(schema.field_count == 4);
  CHECK(schema.fields[0].offset == offsetof(Natural, a));
  CHECK(schema.fields[1].offset == offsetof(Natural, b));
  CHECK(schema.fields[2].offset == offsetof(Natural, c));
  CHECK(schema.fields[3].offset == offsetof(Natural, d));
  CHECK(schema.size == sizeof(Natural));
}

TEST_CASE("packed, explicit, arrays, pointers, terminators") {
  SUBCASE("packed") {
    const Schema schema = laid_out({entry(EntryType::char_, "a"), entry(EntryType::uint64, "b")}, 1);
    CHECK(schema.fields[1].offset == 1);
    CHECK(schema.size == 9);
  }
  SUBCASE("explicit offsets win") {
    const Schema schema = laid_out({entry(EntryType::int_, "a"), entry(EntryType::int_, "b", 12)});
    CHECK(schema.fields[1].offset == 12);
    CHECK(schema.size == 16);
  }
  SUBCASE("a fixed array is stepped over, a pointer is one word, both are not read") {
    const Schema schema =
        laid_out({entry(EntryType::int_, "array", 0, EntryFlag::array_fixed, 3),
                  entry(EntryType::int_, "pointer", 0, EntryFlag::pointer), entry(EntryType::int_, "after")});
    REQUIRE(schema.field_count == 1);
    CHECK(schema.fields[0].offset == 24);
  }
  SUBCASE("after an array of unknown length only entries with an offset are known") {
    const Schema schema = laid_out({entry(EntryType::int_, "array", 0, 2 << 4), entry(EntryType::int_, "lost"),
                                    entry(EntryType::int_, "found", 64)});
    REQUIRE(schema.field_count == 1);
    CHECK(schema.fields[0].offset == 64);
  }
  SUBCASE("the terminator that macros append ends the list") {
    const Schema schema = laid_out({entry(EntryType::int_, "a"), entry(0, nullptr), entry(EntryType::int_, "b")});
    CHECK(schema.field_count == 1);
    CHECK(schema.size == 4);
  }
  SUBCASE("more fields than are kept") {
    CHECK(laid_out(std::vector<SchemaEntry>(40, entry(EntryType::int_, "x"))).field_count == kMaxFields);
  }
  SUBCASE("no entries at all") {
    Schema schema = {};
    lay_out(SchemaAttributes{}, schema);
    CHECK(schema.field_count == 0);
  }
}

TEST_CASE("values are read within the payload and nowhere else") {
  const unsigned char bytes[] = {0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0};
  const Field minus_one = {0, 0, 0, Scalar::signed_integer, 4, Role::plain};
  const Field unsigned_max = {0, 0, 0, Scalar::unsigned_integer, 4, Role::plain};
  const Field outside = {0, 0, 5, Scalar::unsigned_integer, 4, Role::plain};
  const PayloadBlob blob = {0, sizeof bytes, bytes};
  CHECK(read_field(minus_one, blob).bits == -1);
  CHECK(read_field(unsigned_max, blob).bits == 0xffffffff);
  CHECK_FALSE(read_field(outside, blob).present);
  CHECK_FALSE(read_field(minus_one, {0, 3, bytes}).present);
  CHECK_FALSE(read_field(minus_one, {0, 8, nullptr}).present);

  const float pi = 3.25f;
  double wide;
  const int64_t bits = read_field({0, 0, 0, Scalar::float32, 4, Role::plain}, {0, sizeof pi, &pi}).bits;
  std::memcpy(&wide, &bits, sizeof wide);
  CHECK(wide == 3.25);
}

TEST_CASE("ids: the client's own, the next tool's, or a new one") {
  const std::vector<SchemaEntry> entries = {entry(EntryType::int_, "x")};
  CHECK(register_schema(9, described(entries, kStaticSchemaStart + 3), 0) == kStaticSchemaStart + 3);
  CHECK(register_schema(9, described(entries), 77) == 77);
  const uint64_t first = register_schema(9, described(entries), 0);
  const uint64_t second = register_schema(9, described(entries), 0);
  CHECK(first >= kDynamicSchemaStart);
  CHECK(second != first);
  CHECK(find_schema(9, {kStaticSchemaStart + 3, 4, nullptr}) != nullptr);
  CHECK(find_schema(9, {77, 4, nullptr}) != nullptr);
  CHECK(find_schema(8, {77, 4, nullptr}) == nullptr);  // ids belong to a domain
}
