// What the ranks and the one that keeps their store say to each other. Pure.
//
//   frame   u32 length of the rest · field · field …      the first field is the verb; at most `limit` bytes
//   field   u32 length · bytes                             numbers are decimal text, lengths little endian
//
//   a rank says                                          and is answered
//   gsd-ranks-1 version options token rank ranks host    welcome address-it-came-to | refused text
//   set key value                                        ok
//   get key timeout_ms                                   value text | error what on why
//   exchange round value timeout_ms                      values of-rank-0 of-rank-1 … | error …
//   time                                                 value CLOCK_MONOTONIC in ns of rank 0
//   fail text                                            ok; every rank's next answer is an error that holds the text
//   trouble wait_ms                                      value text (what went wrong elsewhere; empty: nothing known)
//   bye                                                  nothing
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace gradsync {

using Frame = std::vector<std::string>;

inline constexpr const char* kStoreGreeting = "gsd-ranks-1";  // a stranger's first bytes are something else
inline constexpr std::size_t kMostGreetingBytes = 8192;       // before a rank is known
inline constexpr std::size_t kMostFrameBytes = std::size_t{64} << 20;

std::string encode_frame(const Frame& frame);

// Bytes in as they come, whole frames out.
class FrameReader {
 public:
  explicit FrameReader(std::size_t limit) : limit_(limit) {}
  void set_limit(std::size_t limit) { limit_ = limit; }
  void add(std::string_view bytes) { bytes_.append(bytes); }
  // Nothing: the frame is not complete. Error: these bytes are not of this protocol, or too many.
  Result<std::optional<Frame>> next();

 private:
  std::string bytes_;
  std::size_t limit_;
};

std::optional<std::int64_t> whole_number(std::string_view text);  // decimal, nothing behind it

}  // namespace gradsync
