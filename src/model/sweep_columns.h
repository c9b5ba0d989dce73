// Columns of the series sweep.<op>, in the order of the contract (docs/metrics.md). A live sweep's table ends with `load` and `graph_us`.
#pragma once

#include <string>
#include <vector>

namespace gradsync {

inline const std::vector<std::string> kSweepColumns{"bytes",
                                                    "count",
                                                    "type",
                                                    "n",
                                                    "p10_us",
                                                    "p50_us",
                                                    "p90_us",
                                                    "p99_us",
                                                    "algbw_gbytes_per_s",
                                                    "busbw_gbytes_per_s",
                                                    "wrong",
                                                    "startup_share_percent",
                                                    "place",
                                                    "source",
                                                    "ranks"};

}  // namespace gradsync
