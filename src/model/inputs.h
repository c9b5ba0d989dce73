// Inputs: everything an analyzer may know besides the timelines. A plain value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/model/report.h"
#include "src/model/series.h"

namespace gradsync {

// Cost of one collective on a measured fabric, per size segment: t = alpha + bytes * beta.
struct FabricSegment {
  std::int64_t from_bytes = 0, to_bytes = 0;
  double alpha_us = 0;
  double beta_us_per_byte = 0;
};

struct FabricFit {
  std::string fingerprint;  // hosts, interface, backend, versions
  std::string backend;
  int ranks = 0;
  // all_reduce, all_gather, …: of floats, of another type where those were not measured.
  std::map<std::string, std::vector<FabricSegment>> operations;
  // Of each type that was measured, by the word of a sweep (float, half, …): its operations.
  std::map<std::string, std::map<std::string, std::vector<FabricSegment>>> types{};
};

struct LoadTimes {
  double p10 = 0, p50 = 0, p90 = 0;  // ms
};

// Measured time of one reference compressor on one device at one size. ms_* is the half that the load is about:
// compression, of decoders and servers decompression. What an older measurement does not tell is absent, or 0.
struct LoadProfile {
  std::string algorithm, device;
  std::int64_t elements = 0;
  double ms_p10 = 0, ms_p50 = 0, ms_p90 = 0;
  std::optional<LoadTimes> decompress{};  // of the payloads of `ranks` ranks, into one sum
  int ranks = 0;
  std::int64_t wire_bytes = 0;  // one payload
  double ratio = 0;             // share of the elements that selections send
  double roofline_percent = 0;  // of what memory could move in ms_p50
};

// A name pattern (ECMAScript regex) and what it stands for: compress, decompress, comm, forward, backward, optimizer,
// data, step, other. The words of all fields are explained in rules/kernels.toml; the last three may be empty.
struct NameClass {
  std::string pattern;
  std::string meaning;
  std::string kind{};      // select, compact, quantise, low-rank, error-feedback, host-pack, reconstruct
  std::string evidence{};  // chain (also when empty), codec, pair, beside
  std::string wire{};      // element type that it makes for the wire
};

// Whether the doctor watched the job itself, or reads files that something else left of it.
enum class Origin { watched, files };

struct Inputs {
  Origin origin = Origin::watched;
  SeriesSet series;  // from collectors
  std::optional<FabricFit> fabric;
  std::vector<LoadProfile> loads;
  RunInfo run;
  bool one_clock = true;  // stamps of different ranks can be compared
  Facts facts;
  std::vector<Coverage> coverage;
  std::map<std::string, std::string> options;
  std::vector<NameClass> operator_classes;  // profiler operators and kernels (rules/kernels.toml)
  std::vector<NameClass> range_classes;     // NVTX ranges of native jobs (rules/kernels.toml)
};

}  // namespace gradsync
