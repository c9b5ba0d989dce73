// The measurement behind `bench`: each load is verified, then timed beside the memory bandwidth of the same moment.
//
//   for each load and size   verify │ warm up │ ( read, copy, rewrite ─ compress ─ decompress ) × repeats
//
// A share of the roofline is taken within a repeat and the median of those is told, so that a machine that is busy now
// and then slows both sides alike.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "loads/library.h"
#include "src/base/statistics.h"
#include "src/model/inputs.h"

namespace gradsync {

struct BenchSize {
  std::int64_t elements = 0;
  int count = 1;  // buckets of this size in a step
};

enum class LoadHalf { compress, decompress };

// A timed call.
struct LoadCall {
  std::string algorithm;
  std::int64_t elements = 0;
  LoadHalf half = LoadHalf::compress;
};

struct BenchPlan {
  std::vector<BenchSize> sizes;
  const LoadLibrary* library = nullptr;
  std::vector<LoadEntry> loads;  // of the library
  LoadOptions options;
  int repeats = 11;
  int ranks = 4;                                                             // payloads that are decompressed together
  std::function<void(const std::string&)> tell = [](const std::string&) {};  // what is being measured
  // Calls `run` once; what it does around it is not timed.
  std::function<void(const LoadCall&, const std::function<void()>& run)> around =
      [](const LoadCall&, const std::function<void()>& run) { run(); };
};

struct BenchRow {
  std::string algorithm;
  BenchSize size;
  LoadKind kind = LoadKind::cast;
  Spread compress_ms, decompress_ms;
  Traffic compress_traffic, decompress_traffic;
  double compress_roofline_percent = 0, decompress_roofline_percent = 0;
  std::int64_t wire_bytes = 0;
  double cosine = 0;  // between a gradient of normal numbers and what its payload stands for

  // The half that the load is about: decompress of decoders and servers.
  bool decodes() const { return kind == LoadKind::decoder || kind == LoadKind::server; }
  const Spread& ms() const { return decodes() ? decompress_ms : compress_ms; }
  const Traffic& traffic() const { return decodes() ? decompress_traffic : compress_traffic; }
  double roofline_percent() const { return decodes() ? decompress_roofline_percent : compress_roofline_percent; }
};

struct BenchCheck {
  std::string algorithm;
  Check check;
};

struct BenchResult {
  std::vector<BenchRow> rows;
  std::vector<BenchCheck> checks;
  Bandwidth bandwidth;  // medians over everything
  std::int64_t failed() const;
};

// Error: not enough memory for the largest size; the device failed.
Result<BenchResult> measure_loads(const BenchPlan& plan);

// What later runs and other commands take from it.
std::vector<LoadProfile> load_profiles(const BenchPlan& plan, const BenchResult& result);

}  // namespace gradsync
