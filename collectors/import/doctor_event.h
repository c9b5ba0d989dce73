// One event of a doctor's trace as it stands in the file. Private to this folder: it speaks simdjson.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/model/event.h"

namespace gradsync {

struct DoctorEvent {
  std::string phase, name;
  std::int64_t process = 0;
  std::optional<Nanoseconds> start, duration;
  std::vector<std::pair<std::string, std::string>> texts;  // args, in their order
  std::vector<std::pair<std::string, std::int64_t>> numbers;

  std::string text(std::string_view key) const;
  std::optional<std::int64_t> number(std::string_view key) const;
};

// False: not well-formed.
bool read_doctor_event(simdjson::ondemand::object object, DoctorEvent& event);

}  // namespace gradsync
