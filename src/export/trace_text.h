// The text of trace events, one a line: {"ph":"X","pid":1,"tid":3,"ts":12.345,"dur":1.000,"name":"…","args":{…}},
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "src/model/event.h"

namespace gradsync {

struct Track {
  int process = 0;
  int thread = 0;
};

class TraceText {
 public:
  using Put = std::function<void(std::string_view)>;

  explicit TraceText(const Put& put) : put_(put) {}

  // {"<first>":…, "clocks":…, "traceEvents":[ … ]}
  void begin_trace(std::string_view first, int version, std::string_view clocks);
  void end_trace();

  // Between open() and close(): members in any order; after args(), its members.
  void open(char phase, Track track, std::string_view name);
  void time(std::string_view key, Nanoseconds time);  // in microseconds, to the nanosecond
  void number(std::string_view key, std::int64_t value);
  void real(std::string_view key, double value);  // not finite: left out
  void text(std::string_view key, std::string_view value);
  void args();
  void close();

  // What a process or thread is called, and where it stands.
  void name_process(int process, std::string_view name, int sort);
  void name_thread(Track track, std::string_view name, int sort);

 private:
  void key(std::string_view key);

  const Put& put_;
  std::string lines_;  // not yet given to put_
  bool first_event_ = true, in_args_ = false, first_member_ = true;
};

}  // namespace gradsync
