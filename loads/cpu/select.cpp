#include "loads/cpu/select.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "loads/parallel.h"

namespace gradsync {
namespace {

constexpr std::int64_t kGrain = 1024;

std::uint32_t magnitude_of(float x) { return std::bit_cast<std::uint32_t>(x) & kernels::kMagnitude; }

template <class Count>
void count_in_parts(std::span<const float> x, std::vector<std::uint32_t>& bins, int threads, const Count& count) {
  const std::vector<Part> parts = parts_of(static_cast<std::int64_t>(x.size()), threads, kGrain);
  const std::size_t size = bins.size();
  std::fill(bins.begin(), bins.end(), 0U);
  std::vector<std::vector<std::uint32_t>> others(parts.empty() ? 0 : parts.size() - 1);
  for_parts(parts, [&](const Part& part) {
    std::uint32_t* into = bins.data();
    if (part.number > 0) {
      others[static_cast<std::size_t>(part.number) - 1].assign(size, 0U);
      into = others[static_cast<std::size_t>(part.number) - 1].data();
    }
    count(x.data() + part.begin, part.end - part.begin, into);
  });
  for (const auto& other : others)
    for (std::size_t i = 0; i < size; ++i) bins[i] += other[i];
}

void append(const Entries& entries, std::int64_t count, Payload& out, std::int64_t at) {
  std::memcpy(out.indices.data() + at, entries.indices.data(), static_cast<std::size_t>(count) * 4);
  std::memcpy(out.values.data() + at, entries.values.data(), static_cast<std::size_t>(count) * 4);
}

// Puts the first `ties` entries equal to `tie` between those that are there, from the back, so that order stays.
void merge_ties(std::span<const float> x, std::uint32_t tie, std::int64_t ties, Payload& out) {
  std::vector<std::uint32_t> places;
  for (std::size_t i = 0; static_cast<std::int64_t>(places.size()) < ties && i < x.size(); ++i)
    if (magnitude_of(x[i]) == tie) places.push_back(static_cast<std::uint32_t>(i));
  std::int64_t from = out.indices.size() - 1, to = from + static_cast<std::int64_t>(places.size());
  out.indices.resize(to + 1);
  out.values.resize(to + 1);
  for (; !places.empty(); --to) {
    const bool mine = from >= 0 && out.indices[from] > places.back();
    out.indices[to] = mine ? out.indices[from] : places.back();
    out.values[to] = mine ? out.values[from] : x[places.back()];
    if (mine)
      --from;
    else
      places.pop_back();
  }
}

}  // namespace

void count_bins(std::span<const float> x, int shift, std::vector<std::uint32_t>& bins, int threads) {
  bins.resize(std::size_t{1} << (31 - shift));
  count_in_parts(x, bins, threads, [shift](const float* from, std::int64_t n, std::uint32_t* into) {
    kernels::histogram(from, n, shift, into);
  });
}

Bin find_bin(std::span<const std::uint32_t> bins, std::int64_t wanted) {
  Bin bin;
  for (std::size_t i = bins.size(); i-- > 0;) {
    bin.number = static_cast<std::uint32_t>(i);
    bin.inside = bins[i];
    if (bin.above + bin.inside >= wanted) break;
    if (i > 0) bin.above += bin.inside;
  }
  return bin;
}

Cut find_cut(std::span<const float> x, std::int64_t wanted, std::int64_t most, int threads) {
  Cut cut;
  int known = 31;
  std::uint32_t prefix = 0;
  std::int64_t above = 0;
  std::vector<std::uint32_t> bins;
  for (const int shift : {19, 9, 0}) {
    if (known == 31) {
      count_bins(x, shift, bins, threads);
    } else {
      bins.resize(std::size_t{1} << (known - shift));
      count_in_parts(x, bins, threads, [&](const float* from, std::int64_t n, std::uint32_t* into) {
        kernels::histogram_within(from, n, known, prefix, shift, into);
      });
    }
    ++cut.passes;
    const Bin bin = find_bin(bins, wanted - above);
    above += bin.above;
    prefix = (prefix << (known - shift)) | bin.number;
    known = shift;
    cut.above = prefix << shift;
    cut.count = above + bin.inside;
    if (cut.count <= most) return cut;
  }
  // Equal magnitudes, and more of them than wanted.
  cut.tie = prefix;
  cut.above = prefix + 1;
  cut.ties = wanted - above;
  cut.count = wanted;
  return cut;
}

bool gather(std::span<const float> x, std::uint32_t magnitude, std::int64_t most, std::vector<Entries>& scratch,
            Payload& out, int threads) {
  const std::vector<Part> parts = parts_of(static_cast<std::int64_t>(x.size()), threads, kGrain);
  std::vector<std::int64_t> counts(parts.size());
  if (scratch.size() + 1 < parts.size()) scratch.resize(parts.size() - 1);
  for_parts(parts, [&](const Part& part) {
    const auto other = static_cast<std::size_t>(part.number);
    if (part.number > 0) {
      scratch[other - 1].indices.reserve(most + kSelectSlack);
      scratch[other - 1].values.reserve(most + kSelectSlack);
    }
    counts[other] = kernels::compact(x.data(), part.begin, part.end, magnitude,
                                     part.number > 0 ? scratch[other - 1].indices.data() : out.indices.data(),
                                     part.number > 0 ? scratch[other - 1].values.data() : out.values.data(), most);
  });
  std::int64_t total = 0;
  for (const std::int64_t count : counts) {
    if (count < 0 || total + count > most) return false;
    total += count;
  }
  std::int64_t at = counts.empty() ? 0 : counts[0];
  for (std::size_t i = 1; i < counts.size(); at += counts[i], ++i) append(scratch[i - 1], counts[i], out, at);
  out.indices.resize(total);
  out.values.resize(total);
  return true;
}

void gather_cut(std::span<const float> x, const Cut& cut, std::vector<Entries>& scratch, Payload& out, int threads) {
  gather(x, cut.above, cut.count - cut.ties, scratch, out, threads);
  if (cut.ties > 0) merge_ties(x, cut.tie, cut.ties, out);
}

void keep_cut(const Cut& cut, Payload& payload) {
  std::int64_t kept = 0, ties = cut.ties;
  for (std::int64_t i = 0; i < payload.indices.size(); ++i) {
    const std::uint32_t magnitude = magnitude_of(payload.values[i]);
    const bool tie = magnitude < cut.above && magnitude == cut.tie && ties > 0;
    payload.indices[kept] = payload.indices[i];
    payload.values[kept] = payload.values[i];
    kept += magnitude >= cut.above || tie ? 1 : 0;
    ties -= tie ? 1 : 0;
  }
  payload.indices.resize(kept);
  payload.values.resize(kept);
}

bool all_finite(std::span<const float> values) {
  return kernels::all_finite(values.data(), static_cast<std::int64_t>(values.size()));
}

}  // namespace gradsync
