#include "collectors/import/trace_metadata.h"

#include <simdjson.h>

#include "collectors/import/decimal.h"
#include "collectors/import/trace_event_json.h"

namespace gradsync {
namespace {

using simdjson::ondemand::object;
using simdjson::ondemand::value;

// Calls `visit(key, value)` for each member until the text stops making sense.
template <class Visit>
void for_each_member(object members, Visit visit) {
  for (auto member : members) {
    simdjson::ondemand::field field;
    if (std::move(member).get(field)) return;
    std::string_view key;
    if (field.unescaped_key().get(key)) return;
    visit(key, field.value());
  }
}

// 12080 → "12.8"
std::string cuda_version(std::string_view number) {
  const std::optional<std::int64_t> version = integer_from(number);
  if (!version || *version <= 0) return {};
  return std::to_string(*version / 1000) + "." + std::to_string(*version % 1000 / 10);
}

void read_distributed_info(value content, TraceMetadata& metadata) {
  object info;
  if (content.get_object().get(info)) return;
  for_each_member(std::move(info), [&](std::string_view key, value member) {
    if (key == "rank") metadata.rank = integer_from(scalar_text(member));
    if (key == "world_size") metadata.world_size = integer_from(scalar_text(member));
    if (key == "backend") metadata.backend = scalar_text(member);
    if (key == "nccl_version") metadata.nccl = scalar_text(member);
  });
}

void read_first_device(value content, TraceMetadata& metadata) {
  simdjson::ondemand::array devices;
  if (content.get_array().get(devices)) return;
  for (auto item : devices) {
    object device;
    if (item.get_object().get(device)) return;
    for_each_member(std::move(device), [&](std::string_view key, value member) {
      if (key == "name") metadata.device = scalar_text(member);
    });
    return;
  }
}

}  // namespace

void read_metadata(const std::string& text, TraceMetadata& metadata) {
  const simdjson::padded_string padded(text);
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  object members;
  if (parser.iterate(padded).get(document) || document.get_object().get(members)) return;
  for_each_member(std::move(members), [&](std::string_view key, value content) {
    if (key == "distributedInfo") read_distributed_info(content, metadata);
    if (key == "deviceProperties") read_first_device(content, metadata);
    if (key == "cuda_runtime_version") metadata.cuda = cuda_version(scalar_text(content));
    if (key == "baseTimeNanoseconds") metadata.base_time = integer_from(scalar_text(content));
  });
}

}  // namespace gradsync
