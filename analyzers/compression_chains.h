// Compressed exchanges: what was issued for a collective and what follows it, put together.
//
//   thread   … select  compact │all_gather│all_gather│ scatter …
//            └── feeds ────────┘          └ follows ─┘
//
// A collective is fed by what its thread issued since its previous collective (where the thread is not known, by what
// anybody did), and what starts on the device after its end and before another collective's follows it. Whether that
// is compression is decided by rows of rules/kernels.toml that say more than what every model does; see there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzers/issued_work.h"

namespace gradsync {

struct Chain {
  std::int64_t step = -1;
  std::set<WorkKind> before, behind;
  std::string operation, wire;
  std::int64_t kernels = 0, collectives = 0;
  Nanoseconds compress = 0, decompress = 0;  // sums of durations
  std::optional<std::int64_t> wire_bytes;
  std::optional<std::int64_t> narrowed_bytes;  // of the kernels that narrowed it, where the collective tells nothing
  bool widened = true;                         // false: a narrowing that waits for its counterpart
};

struct UnknownKernel {
  std::int64_t count = 0;
  Nanoseconds total = 0;
};

struct CompressedExchanges {
  std::vector<Chain> chains;
  std::int64_t gradient_collectives = 0;    // that were issued where gradients are handled
  std::map<NameId, UnknownKernel> unknown;  // kernels of no row between the gradient and its collective
};

CompressedExchanges find_compressed_exchanges(const RankTimeline& rank, const IssuedWork& work);

}  // namespace gradsync
