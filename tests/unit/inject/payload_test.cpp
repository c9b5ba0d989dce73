// Layouts of payloads: what clients say about them and what is read from the bytes.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "collectors/inject/nccl_calls.h"
#include "collectors/inject/payload_layout.h"
#include "collectors/inject/payload_schema.h"
#include "src/spool_writer/gsd.h"
#include "src/spool_writer/strings.h"
#include "tests/unit/spool_writer/spool_probe.h"

using namespace gradsync::nvtx;
namespace spool = gradsync::spool;

namespace {

constexpr uint64_t kUsual = SchemaField::type | SchemaField::entries | SchemaField::entry_count;

SchemaAttributes described(const std::vector<SchemaEntry>& entries, uint64_t id = 0, uint64_t more = 0) {
  SchemaAttributes attributes = {};
  attributes.field_mask = kUsual | more;
  if (id != 0) attributes.field_mask |= SchemaField::schema_id;
  attributes.type = kSchemaTypeStatic;
  attributes.entries = entries.data();
  attributes.entry_count = entries.size();
  attributes.schema_id = id;
  return attributes;
}

SchemaEntry entry(uint64_t type, const char* name, uint64_t offset = 0, uint64_t flags = 0, uint64_t count = 0) {
  return {flags, type, name, nullptr, count, offset, nullptr, nullptr};
}

Schema laid_out(const std::vector<SchemaEntry>& entries, uint64_t pack = 0) {
  Schema schema = {};
  SchemaAttributes attributes = described(entries);
  if (pack != 0) attributes.field_mask |= SchemaField::alignment;
  attributes.pack_align = pack;
  lay_out(attributes, schema);
  return schema;
}

// Names need the string table, which exists only in a process that records.
int recorded(const std::function<int()>& body) {
  const gradsync::test::Recording recording;
  return gradsync::test::run_writer(&recording, body);
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

TEST_CASE("NCCL's calls, by the layouts of its versions") {
  CHECK(recorded([] {
          const auto is = [](uint32_t id, const char* text) { return std::string(spool::text_of(id)) == text; };
          const uint64_t id = kStaticSchemaStart + 5;
          const std::vector<SchemaEntry> v216 = {entry(EntryType::size, "Message size [bytes]"),
                                                 entry(kStaticSchemaStart + 11, "Reduction operation"),
                                                 entry(0, nullptr)};
          const std::vector<SchemaEntry> v225 = {
              entry(EntryType::uint64, "NCCL communicator ID"), entry(EntryType::size, "Message size [bytes]"),
              entry(kStaticSchemaStart + 11, "Reduction operation"), entry(0, nullptr)};
          // Both NCCLs in one process, one domain name, one id: sizes tell them apart. payloadStaticSize is 0, masked.
          register_schema(1, described(v216, id, SchemaField::static_size), 0);
          register_schema(1, described(v225, id, SchemaField::static_size), 0);
          struct Old {
            size_t bytes;
            int op;
          } old = {1 << 20, 2};
          struct New {
            uint64_t communicator;
            size_t bytes;
            int op;
          } now = {0xabcdef0123456789u, 4096, 0};
          const uint32_t all_reduce = nccl_call_of("ncclAllReduce");
          const PayloadBlob old_blob = {id, sizeof old, &old};
          const PayloadBlob new_blob = {id, sizeof now, &now};

          const Collective without = read_nccl_call(all_reduce, 1, nullptr);
          if (!is(without.name, "all_reduce") || without.bytes != 0 || without.group != 0) return 1;
          const Collective a = read_nccl_call(all_reduce, 1, &old_blob);
          if (a.bytes != 1 << 20 || a.group != 0 || !is(a.reduction, "max")) return 2;
          const Collective b = read_nccl_call(all_reduce, 1, &new_blob);
          if (b.bytes != 4096 || !is(b.group, "abcdef0123456789") || !is(b.reduction, "sum")) return 3;
          if (b.sequence != 0 || read_nccl_call(all_reduce, 1, &new_blob).sequence != 1) return 4;
          now.communicator = 5;
          if (read_nccl_call(all_reduce, 1, &new_blob).sequence != 0) return 5;
          now.op = 17;
          if (!is(read_nccl_call(all_reduce, 1, &new_blob).reduction, "user")) return 6;

          // Broadcast, send and receive called it otherwise before 2.25.
          const std::vector<SchemaEntry> rooted = {entry(EntryType::size, "Bytes"), entry(EntryType::int_, "Root")};
          register_schema(1, described(rooted, kStaticSchemaStart + 6), 0);
          const PayloadBlob rooted_blob = {kStaticSchemaStart + 6, sizeof old, &old};
          if (read_nccl_call(nccl_call_of("ncclBroadcast"), 1, &rooted_blob).bytes != 1 << 20) return 8;

          // NCCL 2.16's all-gather is a bare size_t.
          const std::vector<SchemaEntry> bare = {entry(EntryType::size, "Message size [bytes]")};
          register_schema(1, described(bare, kStaticSchemaStart + 4), 0);
          const size_t bytes = 12345;
          const PayloadBlob bare_blob = {kStaticSchemaStart + 4, sizeof bytes, &bytes};
          if (read_nccl_call(nccl_call_of("ncclAllGather"), 1, &bare_blob).bytes != 12345) return 7;
          return 0;
        }) == 0);
}

TEST_CASE("names of NCCL's ranges") {
  CHECK(recorded([] {
          const struct {
            const char* range;
            const char* name;
          } cases[] = {{"ncclAllReduce", "all_reduce"},
                       {"ncclReduceScatter", "reduce_scatter"},
                       {"ncclAllGather", "all_gather"},
                       {"ncclBroadcast", "broadcast"},
                       {"ncclBcast", "broadcast"},
                       {"ncclReduce", "reduce"},
                       {"ncclAlltoAll", "all_to_all"},
                       {"ncclGather", "gather"},
                       {"ncclScatter", "scatter"},
                       {"ncclSend", "send"},
                       {"ncclRecv", "recv"}};
          for (const auto& c : cases) {
            const Collective collective = read_nccl_call(nccl_call_of(c.range), 1, nullptr);
            if (std::string(spool::text_of(collective.name)) != c.name) return 1;
          }
          return nccl_call_of("ncclGroupEnd") + nccl_call_of("ncclCommInitRank") + nccl_call_of(nullptr) == 0 ? 0 : 1;
        }) == 0);
}
