// Load: a reference compressor, the work that gradient compression puts on a device. Every device implements this one
// interface; the CPU is the oracle of the others (verify.h).
//
//   prepare(n, seed) ─▶ compress(gradient) ─▶ Payload: what one rank sends ─▶ decompress(payloads of all ranks) ─▶ sum
//
// Not finite: a NaN or an infinity in the input sets Payload::not_finite and is never packed as if it were a number.
// What is sent then decodes to something that is not finite. Error feedback stays what it was before the step, so that it
// is never poisoned: of the whole vector, or of the chunk that has a scale of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loads/buffer.h"
#include "src/base/result.h"

namespace gradsync {

// What one rank puts on the wire: exactly these numbers. Indices ascend.
struct Payload {
  Buffer<std::uint32_t> indices;
  Buffer<float> values;        // of the indices, or scales, or factors
  Buffer<std::uint8_t> codes;  // packed bits, bytes, halves
  std::int64_t elements = 0;   // of the dense vector
  std::uint64_t step = 0;      // known to every rank: not on the wire
  bool not_finite = false;

  void reserve(std::int64_t index_room, std::int64_t value_room, std::int64_t code_room) {
    indices.reserve(index_room);
    values.reserve(value_room);
    codes.reserve(code_room);
  }
};

inline std::int64_t wire_bytes(const Payload& payload) {
  return 4 * payload.indices.size() + 4 * payload.values.size() + payload.codes.size();
}

// Bytes that an implementation must move through main memory, each pass counted once; a write that needs its line read
// first is counted as a write alone. What is rewritten in place is apart: there the line is read anyway.
struct Traffic {
  double read = 0, written = 0, updated = 0;
  double bytes() const { return read + written + 2 * updated; }
};

// What a load promises; the verifier checks it by this.
enum class LoadKind {
  exact_selection,      // the K largest magnitudes, ties by the lowest index
  threshold_selection,  // all above a threshold; how many is bounded
  random_selection,     // K positions that every rank draws alike; unbiased
  sign,                 // one bit an element
  cast,                 // rounding to a smaller type
  stochastic,           // unbiased rounding
  low_rank,
  decoder,  // the half that counts is decompress
  server,   // decompress: pushes, update and pull of a parameter server
};

struct LoadTraits {
  LoadKind kind = LoadKind::cast;
  bool keeps_residual = false;             // error feedback: what was not sent is added to the next gradient
  double least_count = 1, most_count = 1;  // selections: count of entries over K
  // cast: the largest error is the largest of these, of a number, of its block's largest, and absolute.
  double relative_error = 0, block_error = 0, absolute_error = 0;
  std::int64_t block = 1;  // cast: elements that share a scale
};

struct HistogramCount {
  std::int64_t elements = 0, in_bins = 0;
};

enum class Feedback { none, residual };
enum class HalfFormat { fp16, bf16 };
enum class Merge { then_apply, apply_each };  // parameter server: sum all pushes first, or apply each

struct LoadOptions {
  double ratio = 0.01;  // selections: K = ceil(ratio × n)
  int threads = 1;
  Feedback feedback = Feedback::none;  // of loads that work with and without
  double momentum = 0;  // with feedback: u = momentum × u + gradient is what is accumulated; u of what was
                        // sent starts anew (DGC)
  int rank = 4;         // PowerSGD
  int levels = 127;     // QSGD
  HalfFormat half = HalfFormat::fp16;
  Merge merge = Merge::then_apply;
};

class Load {
 public:
  virtual ~Load() = default;
  virtual LoadTraits traits() const = 0;
  // For vectors of `elements`. Every buffer is there afterwards; state begins anew. Ranks of one job use one seed.
  virtual Result<void> prepare(std::int64_t elements, std::uint64_t seed) = 0;
  // Makes room in a payload, once, outside of what is timed.
  virtual void reserve(Payload& payload) const = 0;
  // One step. `gradient` has the prepared size and is not kept.
  virtual void compress(std::span<const float> gradient, Payload& payload) = 0;
  // The sum over ranks of what their payloads stand for.
  virtual void decompress(std::span<const Payload* const> payloads, std::span<float> sum) = 0;

  // Of the last compress(), and of decompress() of such payloads.
  virtual Traffic compress_traffic() const = 0;
  virtual Traffic decompress_traffic(std::span<const Payload* const> payloads) const = 0;
  // That the last compress() or decompress() took by the device's own clock, without copies from and to the host;
  // absent where the caller's clock tells.
  virtual std::optional<double> seconds() const { return std::nullopt; }
  // What was not sent yet; empty without error feedback.
  virtual std::span<const float> residual() const { return {}; }
  // Of the last histogram: how many elements it was made of, and the sum of its bins.
  virtual std::optional<HistogramCount> histogram() const { return std::nullopt; }
};

// K of a selection: at least 1 when there is anything.
inline std::int64_t selected_count(double ratio, std::int64_t elements) {
  if (elements <= 0) return 0;
  const double wanted = std::ceil(ratio * static_cast<double>(elements) * (1 - 1e-12));
  return std::clamp(static_cast<std::int64_t>(wanted), std::int64_t{1}, elements);
}

struct LoadEntry {
  std::string algorithm;  // topk_sort, …: the <algorithm> of load.<algorithm>.<device>.ms
  std::string summary;
  std::unique_ptr<Load> (*make)(const LoadOptions&) = nullptr;
};

}  // namespace gradsync
