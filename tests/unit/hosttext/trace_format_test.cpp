#include "src/hosttext/trace_format.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

using namespace gradsync;

namespace {

constexpr const char* kIrqEntry = R"(name: irq_handler_entry
ID: 225
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:int irq;	offset:8;	size:4;	signed:1;
	field:__data_loc char[] name;	offset:12;	size:4;	signed:0;

print fmt: "irq=%d name=%s", REC->irq, __get_str(name)
)";

template <class Number>
void put(std::vector<std::byte>& record, std::size_t at, Number value) {
  record.resize(std::max(record.size(), at + sizeof value));
  std::memcpy(record.data() + at, &value, sizeof value);
}

}  // namespace

TEST_CASE("number and fields; text behind a location") {
  const auto format = parse_trace_format(kIrqEntry);
  REQUIRE(format);
  CHECK(format->id == 225);
  std::vector<std::byte> record(24);
  put<std::int32_t>(record, 8, 38);
  put<std::uint32_t>(record, 12, 7U << 16 | 16U);
  std::memcpy(record.data() + 16, "virtio", 7);
  CHECK(*trace_number(record, format->fields.at("irq")) == 38);
  CHECK(trace_text(record, format->fields.at("name")) == "virtio");
}

TEST_CASE("records that are too short, texts that are no format") {
  const auto format = parse_trace_format(kIrqEntry);
  const std::vector<std::byte> record(10);
  CHECK_FALSE(trace_number(record, format->fields.at("irq")));
  CHECK(trace_text(record, format->fields.at("name")).empty());
  std::vector<std::byte> beyond(16);
  put<std::uint32_t>(beyond, 12, 100U << 16 | 16U);
  CHECK(trace_text(beyond, format->fields.at("name")).empty());
  for (const char* text :
       {"", "ID: 5\n", "field:int a;\toffset:0;\tsize:4;\n", "ID: 5\nfield:int a;\toffset:x;\tsize:4;\n"})
    CHECK_FALSE(parse_trace_format(text));
}
