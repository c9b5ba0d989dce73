// What a trace says about itself outside its events: members of the top object, before or behind the list.
#pragma once

#include <optional>
#include <string>

#include "src/model/event.h"

namespace gradsync {

struct TraceMetadata {
  std::optional<std::int64_t> rank, world_size;  // distributedInfo
  std::string backend;                           // nccl, gloo, cpu:gloo,cuda:nccl
  std::string nccl;                              // version
  std::string cuda;                              // runtime version, 12.8
  std::string device;                            // name of the first one
  std::optional<Nanoseconds> base_time;          // stamps of the events count from here (since 1970)
};

// Adds what the members of `object` (JSON text) say. Text that is not well-formed is read up to its fault.
void read_metadata(const std::string& object, TraceMetadata& metadata);

}  // namespace gradsync
