// What the names of a trace mean, worked out once for each different name: a trace of a million events has some
// thousand names. Owned by one import.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "src/model/event_sink.h"

namespace gradsync {

// Marker ranges of a deep window; see clock_map.h.
inline constexpr std::string_view kClockOpen = "gsd_clock_open";
inline constexpr std::string_view kClockClose = "gsd_clock_close";

struct KnownName {
  NameId id = NameId::none;
  std::optional<std::uint32_t> step;  // ProfilerStep#12
  std::string_view spanning;          // gloo:all_reduce → all_reduce; these three are constants
  std::string_view nccl_operation;    // of an NCCL kernel; empty = it is none
  std::string_view nccl_reduction;
  bool casts = false;      // a kernel that converts between element types
  bool host_sync = false;  // a runtime call that blocks until the device is done
  bool clock_marker = false;
};

class KnownNames {
 public:
  explicit KnownNames(EventSink& sink) : sink_(sink) {}

  // The reference stays valid.
  const KnownName& find(std::string_view name);
  NameId id(std::string_view text) { return text.empty() ? NameId::none : find(text).id; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  KnownName work_out(std::string_view name);

  EventSink& sink_;
  std::unordered_map<std::string, KnownName, Hash, std::equal_to<>> names_;
};

}  // namespace gradsync
