#include "collectors/import/clock_map.h"

#include <cmath>
#include <cstdint>

namespace gradsync {
namespace {

// Stamps of a hostile file may be anything; the result is then of no use, but defined.
Nanoseconds wrapping_add(Nanoseconds a, Nanoseconds b) {
  return static_cast<Nanoseconds>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
Nanoseconds wrapping_subtract(Nanoseconds a, Nanoseconds b) {
  return static_cast<Nanoseconds>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

}  // namespace

ClockMap::ClockMap(ClockStamps profile, ClockStamps monotonic)
    : profile_(profile),
      offset_(wrapping_subtract(monotonic.open, profile.open)),
      drift_(wrapping_subtract(wrapping_subtract(monotonic.close, profile.close), offset_)) {}

Nanoseconds ClockMap::map(Nanoseconds profile_time) const {
  const Nanoseconds mapped = wrapping_add(profile_time, offset_);
  const Nanoseconds span = wrapping_subtract(profile_.close, profile_.open);
  if (span <= 0 || drift_ == 0) return mapped;
  // The drift is small, so a double keeps its share to the nanosecond.
  const double share = static_cast<double>(wrapping_subtract(profile_time, profile_.open)) / static_cast<double>(span);
  return wrapping_add(mapped, std::llround(static_cast<double>(drift_) * share));
}

}  // namespace gradsync
