#include "collectors/import/doctor_event.h"

#include <algorithm>

#include "collectors/import/decimal.h"
#include "collectors/import/trace_event_json.h"

namespace gradsync {
namespace {

using simdjson::ondemand::object;
using simdjson::ondemand::value;

bool read_args(object args, DoctorEvent& event) {
  for (auto member : args) {
    simdjson::ondemand::field field;
    std::string_view key;
    if (std::move(member).get(field) || field.unescaped_key().get(key)) return false;
    const std::string name(key);
    value content = field.value();
    simdjson::ondemand::json_type type{};
    if (content.type().get(type)) return false;
    if (type == simdjson::ondemand::json_type::string)
      event.texts.emplace_back(name, scalar_text(content));
    else if (const std::optional<std::int64_t> number = integer_from(scalar_text(content)))
      event.numbers.emplace_back(name, *number);
  }
  return true;
}

}  // namespace

std::string DoctorEvent::text(std::string_view key) const {
  const auto found = std::find_if(texts.begin(), texts.end(), [&](const auto& entry) { return entry.first == key; });
  return found == texts.end() ? std::string() : found->second;
}

std::optional<std::int64_t> DoctorEvent::number(std::string_view key) const {
  const auto found =
      std::find_if(numbers.begin(), numbers.end(), [&](const auto& entry) { return entry.first == key; });
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

bool read_doctor_event(object members, DoctorEvent& event) {
  event = DoctorEvent{};
  for (auto member : members) {
    simdjson::ondemand::field field;
    std::string_view key;
    if (std::move(member).get(field) || field.unescaped_key().get(key)) return false;
    value content = field.value();
    if (key == "args") {
      object args;
      if (!content.get_object().get(args) && !read_args(std::move(args), event)) return false;
    } else if (key == "ph") {
      event.phase = scalar_text(content);
    } else if (key == "name") {
      event.name = scalar_text(content);
    } else if (key == "pid") {
      event.process = integer_from(scalar_text(content)).value_or(0);
    } else if (key == "ts") {
      event.start = nanoseconds_from_us(scalar_text(content));
    } else if (key == "dur") {
      event.duration = nanoseconds_from_us(scalar_text(content));
    }
  }
  return true;
}

}  // namespace gradsync
