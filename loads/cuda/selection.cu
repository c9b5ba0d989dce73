#include "loads/cuda/selection.h"

#include "loads/cuda/device_code.h"

namespace gradsync::cuda {
namespace {

constexpr unsigned kThreads = 256, kWarps = kThreads / 32;
constexpr int kDigitBits = 12;
constexpr unsigned kDigitBins = 1U << kDigitBits;
constexpr unsigned kChunk = 1024;  // bins that a block looks at together
constexpr int kSampleShift = 15;
constexpr unsigned kSampleBins = 1U << (31 - kSampleShift);
constexpr std::int64_t kLine = 16;  // floats

constexpr unsigned kEach = 16;  // entries of a lane in a tile
constexpr std::int64_t kTile = std::int64_t{kThreads} * kEach;

GSD_DEVICE std::int64_t size_of(const Entries& x) {
  return x.count == nullptr ? x.room : least<std::int64_t>(*x.count, x.room);
}

__global__ void begin_cut(Cut* cut, std::uint32_t magnitude) {
  if (threadIdx.x != 0) return;
  *cut = Cut();
  cut->above = magnitude;
}

// Bins in shared memory for each block, then those that are not zero are added to those of all.
__global__ void count_digit(Entries x, const Cut* cut, int shift, std::uint32_t* bins) {
  __shared__ std::uint32_t mine[kDigitBins];
  if (cut->done != 0) return;  // the whole grid
  const int known = cut->known;
  const std::uint32_t prefix = cut->prefix, low = (1U << (known - shift)) - 1;
  for (std::uint32_t bin = threadIdx.x; bin <= low; bin += blockDim.x) mine[bin] = 0;
  __syncthreads();
  const std::int64_t n = size_of(x), step = thread_count();
  for (std::int64_t i = thread_number(); i < n; i += step) {
    const std::uint32_t magnitude = bits_of(x.values[i]) & kMagnitude;
    if (magnitude >> known == prefix) atomicAdd(&mine[magnitude >> shift & low], 1U);
  }
  __syncthreads();
  for (std::uint32_t bin = threadIdx.x; bin <= low; bin += blockDim.x)
    if (mine[bin] != 0) atomicAdd(&bins[bin], mine[bin]);
}

struct Found {
  std::uint32_t bin;
  std::int64_t above, inside, total;
};

// The highest bin from which upwards at least `wanted` are counted (bin 0 when there are fewer). One block of kChunk
// threads. First the sums of chunks of bins, then the one chunk in which it lies. Leaves zeros in the bins.
GSD_DEVICE Found find_bin(std::uint32_t* bins, unsigned size, std::int64_t wanted) {
  __shared__ std::int64_t sums[kSampleBins / kChunk];
  __shared__ std::int64_t warps[kChunk / 32];
  __shared__ Found found;
  const unsigned chunks = (size + kChunk - 1) / kChunk, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (unsigned chunk = warp; chunk < chunks; chunk += kChunk / 32) {
    std::int64_t sum = 0;
    for (unsigned i = lane; i < kChunk; i += 32) {
      const unsigned bin = chunk * kChunk + i;
      sum += bin < size ? bins[bin] : 0;
    }
    sum = warp_sum(sum);
    if (lane == 0) sums[chunk] = sum;
  }
  __syncthreads();
  std::int64_t above = 0, total = 0;
  unsigned chunk = chunks - 1;
  for (unsigned i = 0; i < chunks; ++i) total += sums[i];
  for (; chunk > 0 && above + sums[chunk] < wanted; --chunk) above += sums[chunk];

  // Sums of a bin and those above it in the chunk, by lanes and then by warps.
  const unsigned bin = chunk * kChunk + threadIdx.x;
  const std::int64_t inside = bin < size ? bins[bin] : 0;
  std::int64_t upwards = inside;
  for (unsigned by = 1; by < 32; by *= 2) {
    const std::int64_t more = __shfl_down_sync(kAllLanes, upwards, by);
    if (lane + by < 32) upwards += more;
  }
  if (lane == 0) warps[warp] = upwards;
  __syncthreads();
  upwards += above;
  for (unsigned higher = warp + 1; higher < kChunk / 32; ++higher) upwards += warps[higher];
  const bool reached = upwards >= wanted, higher_reached = upwards - inside >= wanted;
  if ((reached && !higher_reached) || (bin == 0 && !reached)) found = {bin, upwards - inside, inside, total};
  __syncthreads();
  const Found result = found;
  for (unsigned i = threadIdx.x; i < size; i += kChunk) bins[i] = 0;
  return result;
}

__global__ void __launch_bounds__(kChunk)
    choose_digit(Entries x, Cut* cut, int shift, std::int64_t wanted, std::int64_t most, std::uint32_t* bins) {
  const Cut before = *cut;
  if (before.done != 0) return;
  const Found found = find_bin(bins, 1U << (before.known - shift), wanted - before.surely);
  if (threadIdx.x != 0) return;
  Cut after = before;
  after.surely += found.above;
  after.prefix = before.prefix << (before.known - shift) | found.bin;
  after.known = shift;
  after.above = after.prefix << shift;
  after.count = after.surely + found.inside;
  after.elements = before.known == 31 ? size_of(x) : before.count - before.surely;
  after.in_bins = found.total;
  ++after.passes;
  if (after.count <= most) {
    after.done = 1;
  } else if (shift == 0) {  // equal magnitudes, and more of them than wanted
    after.tie = after.prefix;
    after.above = after.prefix + 1;
    after.ties = wanted - after.surely;
    after.count = wanted;
    after.done = 1;
  }
  *cut = after;
}

// One line of every `stride` of them, at a random place in its stretch.
__global__ void count_sample(const float* x, std::int64_t lines, std::int64_t stride, std::uint64_t seed,
                             std::uint32_t* bins) {
  const std::int64_t i = thread_number(), line = i / kLine;
  if (line >= lines) return;
  const std::uint64_t mixed = (static_cast<std::uint64_t>(line) + seed + 1) * 0x9E3779B97F4A7C15U;
  const std::int64_t from =
      line * stride + static_cast<std::int64_t>((mixed >> 40) % static_cast<std::uint64_t>(stride));
  atomicAdd(&bins[(bits_of(x[from * kLine + i % kLine]) & kMagnitude) >> kSampleShift], 1U);
}

__global__ void __launch_bounds__(kChunk)
    choose_of_sample(std::int64_t elements, std::int64_t wanted, std::uint32_t* bins, Cut* cut) {
  const Found found = find_bin(bins, kSampleBins, wanted);
  if (threadIdx.x != 0) return;
  *cut = Cut();
  cut->above = found.bin << kSampleShift;
  cut->elements = elements;
  cut->in_bins = found.total;
}

// Counts of a tile: two of 31 bits, and whether the one is only the tile's own or includes all before it.
//
//   63    62   61 … 31      30 … 0
//   all   own  above        ties
constexpr std::uint64_t kOwn = std::uint64_t{1} << 62, kAll = std::uint64_t{1} << 63;
constexpr std::uint64_t kBoth = kOwn - 1, kLow = (std::uint64_t{1} << 31) - 1;

// Sum of all tiles before `tile`. Called by warp 0: 32 tiles are looked at together, back to the nearest that knows.
GSD_DEVICE std::uint64_t counts_before(volatile std::uint64_t* counts, std::int64_t tile) {
  std::uint64_t sum = 0;
  for (std::int64_t nearest = tile - 1; nearest >= 0; nearest -= 32) {
    const std::int64_t mine = nearest - threadIdx.x;
    std::uint64_t count = mine < 0 ? kAll : 0;
    bool there = mine < 0;
    while (__ballot_sync(kAllLanes, there) != kAllLanes) {
      if (!there) count = counts[mine];
      there = (count & (kOwn | kAll)) != 0;
    }
    const unsigned knowing = __ballot_sync(kAllLanes, (count & kAll) != 0);
    const unsigned nearest_knowing = knowing == 0 ? 32 : 31 - __clz(knowing & (0U - knowing));
    sum += warp_sum(threadIdx.x <= nearest_knowing ? count & kBoth : 0);
    if (knowing != 0) break;
  }
  return sum;
}

// Each warp has 512 neighbours, 32 at a time. Tiles are numbered in the order in which blocks begin, so that those before
// a tile are on their way when it waits for them.
__global__ void __launch_bounds__(kThreads, 4)
    take_in_order(Entries x, const Cut* cut, Taken to, std::int64_t tiles, std::uint64_t* counts) {
  __shared__ std::int64_t tile_shared;
  __shared__ std::uint64_t before_shared;
  __shared__ std::uint64_t warp_counts[kWarps];
  if (threadIdx.x == 0) tile_shared = static_cast<std::int64_t>(atomicAdd(reinterpret_cast<unsigned*>(counts), 1U));
  __syncthreads();
  const std::int64_t tile = tile_shared, n = size_of(x);
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::int64_t first = tile * kTile + warp * 32 * kEach + lane;
  const std::uint32_t above = cut->above, tie = cut->tie;
  const std::int64_t ties = cut->ties;
  counts += 1;

  float values[kEach];
#pragma unroll
  for (unsigned k = 0; k < kEach; ++k) values[k] = first + 32 * k < n ? x.values[first + 32 * k] : 0;
  std::uint64_t mine = 0;
#pragma unroll
  for (unsigned k = 0; k < kEach; ++k) {
    const std::int64_t i = first + 32 * k;
    const std::uint32_t magnitude = bits_of(values[k]) & kMagnitude;
    const bool over = i < n && magnitude >= above, equal = i < n && !over && ties > 0 && magnitude == tie;
    mine += static_cast<std::uint64_t>(__popc(__ballot_sync(kAllLanes, over))) << 31;
    if (ties > 0) mine += static_cast<std::uint64_t>(__popc(__ballot_sync(kAllLanes, equal)));
  }
  if (lane == 0) warp_counts[warp] = mine;
  __syncthreads();
  if (warp == 0) {
    std::uint64_t own = 0;
    for (unsigned w = 0; w < kWarps; ++w) own += warp_counts[w];
    volatile std::uint64_t* published = counts;
    if (lane == 0) published[tile] = own | (tile == 0 ? kAll : kOwn);
    const std::uint64_t before = counts_before(published, tile);
    if (lane == 0) {
      published[tile] = (before + own) | kAll;
      before_shared = before;
      const std::uint64_t sum = before + own;
      if (tile == tiles - 1)
        to.outcome->count = static_cast<std::uint32_t>((sum >> 31) + least<std::uint64_t>(sum & kLow, ties));
    }
  }
  __syncthreads();
  std::uint64_t running = before_shared;
  for (unsigned w = 0; w < warp; ++w) running += warp_counts[w];
  const unsigned lower = (1U << lane) - 1;
  bool finite = true;
#pragma unroll
  for (unsigned k = 0; k < kEach; ++k) {
    const std::int64_t i = first + 32 * k;
    const std::uint32_t magnitude = bits_of(values[k]) & kMagnitude;
    const bool over = i < n && magnitude >= above, equal = i < n && !over && ties > 0 && magnitude == tie;
    const unsigned overs = __ballot_sync(kAllLanes, over), equals = ties > 0 ? __ballot_sync(kAllLanes, equal) : 0;
    const std::int64_t over_before = static_cast<std::int64_t>(running >> 31) + __popc(overs & lower);
    const std::int64_t equal_before = static_cast<std::int64_t>(running & kLow) + __popc(equals & lower);
    const std::int64_t place = over_before + least(equal_before, ties);
    if ((over || (equal && equal_before < ties)) && place < to.room) {
      to.indices[place] = x.indices == nullptr ? static_cast<std::uint32_t>(i) : x.indices[i];
      to.values[place] = values[k];
      finite = finite && magnitude < kInfinity;
    }
    running += (static_cast<std::uint64_t>(__popc(overs)) << 31) + static_cast<std::uint64_t>(__popc(equals));
  }
  if (!finite) atomicOr(&to.outcome->not_finite, 1U);
}

__global__ void add_entries(const std::uint32_t* indices, const float* values, std::int64_t count, float* sum) {
  const std::int64_t i = thread_number();
  if (i < count) sum[indices[i]] += values[i];
}

}  // namespace

void Selector::prepare(std::int64_t elements) {
  cut_.reserve(1);
  bins_.assign_zeros(kSampleBins);
  counts_.reserve(1 + blocks_for(elements, kTile));
}

void Selector::begin() { cut_at(0); }
void Selector::cut_at(std::uint32_t magnitude) { launch("begin a cut", begin_cut, 1, 32, cut_.data(), magnitude); }

void Selector::digit(const Entries& x, std::int64_t wanted, std::int64_t most, int shift) {
  if (x.room == 0) return;
  launch("count a digit", count_digit, some_blocks(x.room, kTile), kThreads, x, cut_.data(), shift, bins_.data());
  launch("choose a digit", choose_digit, 1, kChunk, x, cut_.data(), shift, wanted, most, bins_.data());
}

void Selector::digits(const Entries& x, std::int64_t wanted, std::int64_t most) {
  for (const int shift : {19, 9, 0}) digit(x, wanted, most, shift);
}

void Selector::take(const Entries& x, const Taken& to) {
  const std::int64_t tiles = blocks_for(x.room, kTile);
  fill_zeros(counts_.data(), static_cast<std::size_t>(1 + tiles) * sizeof(std::uint64_t));
  launch("take what was chosen", take_in_order, tiles, kThreads, x, cut_.data(), to, tiles, counts_.data());
}

void Selector::cut_of_sample(const float* x, std::int64_t lines, std::int64_t stride, std::uint64_t seed,
                             std::int64_t wanted) {
  launch("count a sample", count_sample, blocks_for(lines * kLine, kThreads), kThreads, x, lines, stride, seed,
         bins_.data());
  launch("choose of a sample", choose_of_sample, 1, kChunk, lines * kLine, wanted, bins_.data(), cut_.data());
}

void SparseLoad::allocate() {
  wanted_ = selected_count(options_.ratio, n_);
  most_ = most_selected(wanted_);
  room_ = room_for(wanted_);
  traffic_ = {};
  selector_.prepare(n_);
  allocate_selection();
}

std::optional<HistogramCount> SparseLoad::histogram() const {
  const Cut cut = selector_.cut();
  return HistogramCount{cut.elements, cut.in_bins};
}

// One rank after the other, so that every element is added up in their order; no two entries of a rank meet.
void SparseLoad::decode(std::span<const PayloadView> views, const PayloadView*, float* sum) {
  scatter_add(views, sum, n_);
}

void scatter_add(std::span<const PayloadView> views, float* sum, std::int64_t n) {
  fill_zeros(sum, static_cast<std::size_t>(n) * sizeof(float));
  for (const PayloadView& view : views)
    launch("add entries", add_entries, blocks_for(view.count, kThreads), kThreads, view.indices, view.values,
           view.count, sum);
}

Traffic SparseLoad::decompress_traffic(std::span<const Payload* const> payloads) const {
  return scatter_traffic(payloads, n_);
}

// What an entry is added to has left the cache when the next rank comes, for vectors that are larger than it. That is
// not counted, since part of it may still be there.
Traffic scatter_traffic(std::span<const Payload* const> payloads, std::int64_t elements) {
  Traffic traffic{0, 4.0 * static_cast<double>(elements), 0};
  for (const Payload* payload : payloads) traffic.read += 8.0 * static_cast<double>(payload->indices.size());
  return traffic;
}

}  // namespace gradsync::cuda
