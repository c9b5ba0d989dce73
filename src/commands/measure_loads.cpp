#include "src/commands/measure_loads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "loads/parallel.h"
#include "loads/philox.h"
#include "src/base/available_memory.h"
#include "src/base/seconds_of.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

constexpr double kSlowSeconds = 1;  // a call that takes longer is repeated three times only
constexpr int kSlowRepeats = 3;
constexpr std::int64_t kShift = 64;  // ranks see the same numbers, so many elements apart
constexpr double kFasterThanMemory = 1.05;

// By the device's clock where it has one.
template <class Function>
double seconds_on(const Load& load, const Function& function) {
  const double here = seconds_of(function);
  return load.seconds().value_or(here);
}

double median_of(const std::vector<double>& values) { return median(values).value_or(0); }

// Vectors of the size that may be there together: a gradient, the probe's two, two payloads, one sum, what a load keeps
// (a sort: four), and the mailboxes of a server.
Result<void> check_memory(const BenchPlan& plan) {
  std::int64_t largest = 0;
  for (const BenchSize& size : plan.sizes) largest = std::max(largest, size.elements);
  const double needed = 4.0 * static_cast<double>(largest) * (10 + plan.ranks);
  const std::optional<double> there = available_memory();
  if (!there || needed <= *there) return {};
  return Error{
      "cannot measure loads of", format_count(static_cast<double>(largest)) + " elements",
      fmt::format("that takes about {}, and {} of memory are free", format_bytes(needed), format_bytes(*there)),
      "choose a smaller --n"};
}

// Smaller vectors stay in a cache, where no bandwidth of memory limits them.
bool beyond_caches(const LoadLibrary& library, std::int64_t elements) {
  const std::int64_t known = library.cache_bytes();
  const std::int64_t cache = known > 0 ? known : std::int64_t{32} << 20;
  return 4 * elements >= 3 * cache;
}

class Measurement {
 public:
  Measurement(const BenchPlan& plan, const BenchSize& size, BenchResult& result)
      : plan_(plan),
        size_(size),
        result_(result),
        probe_(plan.library->bandwidth(size.elements, plan.options.threads)) {
    const std::int64_t all = size.elements + kShift * plan.ranks;
    gradient_.reserve(all + 4);
    gradient_.resize(all);
    for_parts(all, plan.options.threads, 64, [&](const Part& part) {
      for (std::int64_t i = part.begin; i < part.end; i += 4) {
        const auto drawn = normals(1, static_cast<std::uint64_t>(i / 4));
        std::copy_n(drawn.begin(), std::min<std::int64_t>(4, part.end - i), gradient_.data() + i);
      }
    });
    sum_.reserve(size.elements);
    sum_.resize(size.elements);
  }

  // The rooflines of this size, for the whole result.
  std::vector<Bandwidth> bandwidths;

  Result<void> measure(const LoadEntry& entry) {
    const std::unique_ptr<Load> load = entry.make(plan_.options);
    if (Result<void> prepared = load->prepare(size_.elements, 1); !prepared) return prepared;
    Payload payloads[2];
    for (Payload& payload : payloads) load->reserve(payload);
    BenchRow row{.algorithm = entry.algorithm, .size = size_, .kind = load->traits().kind};
    load->compress(of_rank(0), payloads[0]);
    const Payload* first = &payloads[0];
    load->decompress({&first, 1}, sum_.span());
    row.cosine = cosine();
    row.wire_bytes = wire_bytes(payloads[0]);
    check_count(*load, entry.algorithm, payloads[0]);
    load->compress(of_rank(1), payloads[1]);
    std::vector<const Payload*> ranks;
    for (int rank = 0; rank < plan_.ranks; ++rank) ranks.push_back(&payloads[rank % 2]);
    load->decompress(ranks, sum_.span());
    repeat(*load, payloads[1], ranks, row);
    result_.rows.push_back(std::move(row));
    return {};
  }

 private:
  std::span<const float> of_rank(int rank) const {
    return gradient_.span().subspan(static_cast<std::size_t>(kShift * rank), static_cast<std::size_t>(size_.elements));
  }

  template <class Function>
  double timed(const Load& load, const BenchRow& row, LoadHalf half, const Function& function) const {
    double seconds = 0;
    plan_.around({row.algorithm, row.size.elements, half}, [&] { seconds = seconds_on(load, function); });
    return seconds;
  }

  void repeat(Load& load, Payload& payload, const std::vector<const Payload*>& ranks, BenchRow& row) {
    std::vector<double> compress, decompress, compress_share, decompress_share;
    double peak = 0;
    for (int i = 0; i < plan_.repeats; ++i) {
      const Bandwidth bandwidth = probe_->measure();
      bandwidths.push_back(bandwidth);
      peak = std::max({peak, bandwidth.read, bandwidth.copy, bandwidth.update});
      const double encode =
          timed(load, row, LoadHalf::compress, [&] { load.compress(of_rank(1 + i % (plan_.ranks - 1)), payload); });
      row.compress_traffic = load.compress_traffic();
      const double decode = timed(load, row, LoadHalf::decompress, [&] { load.decompress(ranks, sum_.span()); });
      row.decompress_traffic = load.decompress_traffic(ranks);
      compress.push_back(1e3 * encode);
      decompress.push_back(1e3 * decode);
      compress_share.push_back(100 * roofline_seconds(row.compress_traffic, bandwidth) / encode);
      decompress_share.push_back(100 * roofline_seconds(row.decompress_traffic, bandwidth) / decode);
      if (encode + decode > kSlowSeconds && i + 1 >= kSlowRepeats) break;
    }
    row.compress_ms = *spread(compress);
    row.decompress_ms = *spread(decompress);
    row.compress_roofline_percent = median_of(compress_share);
    row.decompress_roofline_percent = median_of(decompress_share);
    check_speed(row, peak);
  }

  // V2 in the very run that is timed.
  void check_count(const Load& load, const std::string& algorithm, const Payload& payload) {
    const LoadTraits traits = load.traits();
    if (traits.kind != LoadKind::exact_selection && traits.kind != LoadKind::threshold_selection) return;
    const auto wanted = static_cast<double>(selected_count(plan_.options.ratio, size_.elements));
    const auto sent = static_cast<double>(payload.indices.size());
    const bool holds =
        sent >= std::ceil(traits.least_count * wanted) && sent <= std::max(wanted, traits.most_count * wanted);
    result_.checks.push_back(
        {algorithm,
         {"V2", fmt::format("{} elements: count within bounds", format_count(static_cast<double>(size_.elements))),
          holds, fmt::format("{} of K = {}", sent, wanted)}});
  }

  // V10: what seems faster than memory has not moved the bytes that it says.
  void check_speed(const BenchRow& row, double peak) {
    if (!beyond_caches(*plan_.library, size_.elements)) return;
    for (const bool decode : {false, true}) {
      const Spread& ms = decode ? row.decompress_ms : row.compress_ms;
      const double speed = (decode ? row.decompress_traffic : row.compress_traffic).bytes() / ms.p50 * 1e3;
      result_.checks.push_back(
          {row.algorithm,
           {"V10", decode ? "decompress is not faster than memory" : "compress is not faster than memory",
            speed <= kFasterThanMemory * peak,
            fmt::format("{:.1f} of at most {:.1f} GB/s", speed * 1e-9, peak * 1e-9)}});
    }
  }

  double cosine() const {
    double xy = 0, xx = 0, yy = 0;
    const std::span<const float> x = of_rank(0), y = sum_.span();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto a = static_cast<double>(x[i]), b = static_cast<double>(y[i]);
      xy += a * b;
      xx += a * a;
      yy += b * b;
    }
    return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
  }

  const BenchPlan& plan_;
  BenchSize size_;
  BenchResult& result_;
  std::unique_ptr<BandwidthProbe> probe_;
  Buffer<float> gradient_, sum_;
};

Bandwidth median_bandwidth(const std::vector<Bandwidth>& all) {
  std::vector<double> read, copy, update;
  for (const Bandwidth& one : all) {
    read.push_back(one.read);
    copy.push_back(one.copy);
    update.push_back(one.update);
  }
  return {median_of(read), median_of(copy), median_of(update)};
}

}  // namespace

std::int64_t BenchResult::failed() const {
  return std::count_if(checks.begin(), checks.end(), [](const BenchCheck& one) { return !one.check.passed; });
}

Result<BenchResult> measure_loads(const BenchPlan& plan) {
  if (const Result<void> enough = check_memory(plan); !enough) return enough.error();
  BenchResult result;
  std::vector<Bandwidth> bandwidths;
  try {
    for (const LoadEntry& entry : plan.loads) {
      plan.tell("verifying " + entry.algorithm);
      for (Check& check : plan.library->verify(entry.make, plan.options))
        result.checks.push_back({entry.algorithm, std::move(check)});
    }
    for (const BenchSize& size : plan.sizes) {
      Measurement measurement(plan, size, result);
      for (const LoadEntry& entry : plan.loads) {
        plan.tell(fmt::format("timing {} of {}", entry.algorithm, format_count(static_cast<double>(size.elements))));
        if (const Result<void> measured = measurement.measure(entry); !measured) return measured.error();
      }
      bandwidths = measurement.bandwidths;  // of the last, the largest size
    }
  } catch (const std::bad_alloc&) {
    return Error{"cannot measure loads", "", "out of memory", "choose a smaller --n"};
  } catch (const std::runtime_error& failure) {
    return Error{"cannot measure loads on", plan.library->device(), failure.what(), ""};
  }
  result.bandwidth = median_bandwidth(bandwidths);
  return result;
}

std::vector<LoadProfile> load_profiles(const BenchPlan& plan, const BenchResult& result) {
  std::vector<LoadProfile> profiles;
  for (const BenchRow& row : result.rows)
    profiles.push_back({row.algorithm, plan.library->device(), row.size.elements, row.ms().p10, row.ms().p50,
                        row.ms().p90, LoadTimes{row.decompress_ms.p10, row.decompress_ms.p50, row.decompress_ms.p90},
                        plan.ranks, row.wire_bytes, plan.options.ratio, row.roofline_percent()});
  return profiles;
}

}  // namespace gradsync
