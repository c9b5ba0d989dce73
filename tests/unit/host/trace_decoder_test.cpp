#include "collectors/host/trace_decoder.h"

#include <doctest/doctest.h>

#include <cstring>

using namespace gradsync;

namespace {

// Not where any kernel has them: the decoder goes by the format.
std::map<std::string, TraceFormat> formats() {
  std::map<std::string, TraceFormat> all;
  std::uint64_t id = 300;
  for (const std::string& name : TraceDecoder::names()) {
    TraceFormat& format = all[name];
    format.id = id++;
    format.fields = {{"common_type", {0, 2, false}}, {"common_pid", {4, 4, false}},  {"prev_pid", {8, 4, false}},
                     {"next_pid", {12, 4, false}},   {"prev_state", {16, 8, false}}, {"prev_comm", {24, 16, false}},
                     {"next_comm", {40, 16, false}}, {"pid", {12, 4, false}},        {"comm", {40, 16, false}},
                     {"irq", {12, 4, false}},        {"vec", {12, 4, false}},        {"name", {40, 16, false}},
                     {"ret", {8, 4, false}}};
  }
  return all;
}

struct Record {
  std::vector<std::byte> bytes = std::vector<std::byte>(56);
  template <class Number>
  Record& put(std::size_t at, Number value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return *this;
  }
  Record& text(std::size_t at, const char* value) {
    std::memcpy(bytes.data() + at, value, std::strlen(value));
    return *this;
  }
};

Record switch_record(std::int64_t state) {
  return Record().put<std::uint16_t>(0, 300).put(4, 11).put(8, 11).put(12, 22).put(16, state).text(24, "one").text(
      40, "sixteen letters!");
}

}  // namespace

TEST_CASE("a switch: who leaves, who comes, and whether it could go on") {
  const auto decoder = TraceDecoder::from(formats());
  REQUIRE(decoder);
  const auto event = decoder->decode(switch_record(0).bytes);
  REQUIRE(event);
  CHECK(event->kind == TraceKind::sched_switch);
  CHECK(event->from == 11);
  CHECK(event->to == 22);
  CHECK(event->name_of_from() == "one");
  CHECK(event->name_of_to() == "sixteen letters!");
  CHECK(event->runnable);
  CHECK(decoder->decode(switch_record(0x100).bytes)->runnable);       // preempted in the kernel
  CHECK_FALSE(decoder->decode(switch_record(1).bytes)->runnable);     // sleeps
  CHECK_FALSE(decoder->decode(switch_record(0x82).bytes)->runnable);  // in uninterruptible sleep
}

TEST_CASE("records of other tracepoints, cut records, formats without a field") {
  const auto decoder = TraceDecoder::from(formats());
  CHECK_FALSE(decoder->decode(Record().put<std::uint16_t>(0, 999).bytes));
  std::vector<std::byte> cut = switch_record(0).bytes;
  cut.resize(14);
  CHECK_FALSE(decoder->decode(cut));
  CHECK_FALSE(decoder->decode({}));
  auto lacking = formats();
  lacking["sched/sched_switch"].fields.erase("prev_state");
  CHECK_FALSE(TraceDecoder::from(lacking));
  lacking.erase("sched/sched_switch");
  CHECK_FALSE(TraceDecoder::from(lacking));
}
