// The compression fingerprint: which exchanges of a profile are compressed, by what, at what cost in kernels and time,
// and which kernels on the way nobody knows. Steps of warm-up are left out, those of the deep window are not: only
// there do a job's own recordings hold operators.
#include <algorithm>
#include <map>
#include <set>

#include "analyzers/analyzers.h"
#include "analyzers/compression_calls.h"
#include "analyzers/compression_chains.h"
#include "analyzers/rows.h"

namespace gradsync {
namespace {

constexpr std::string_view kSteps = "fingerprint_steps", kParts = "fingerprint_parts", kUnknown = "fingerprint_unknown",
                           kSeen = "fingerprint_seen", kCalls = "fingerprint_calls";
constexpr std::size_t kMostUnknown = 50, kMostLabels = 3;
constexpr std::size_t kLongestName = 300;  // of a kernel in the series
constexpr std::int64_t kNotTold = -1;
constexpr const char *kWhole = "exchange", *kBefore = "before ", *kBehind = "behind ", *kWire = "wire ";

struct StepSum {
  std::int64_t kernels = 0, wire_bytes = 0;
  Nanoseconds compress = 0, decompress = 0;
  bool bytes_told = true;
};

void add_chain(StepSum& sum, const Chain& chain) {
  sum.kernels += chain.kernels;
  sum.compress += chain.compress;
  sum.decompress += chain.decompress;
  const auto bytes = chain.wire_bytes ? chain.wire_bytes : chain.narrowed_bytes;
  sum.bytes_told &= bytes.has_value();
  sum.wire_bytes += bytes.value_or(0);
}

// A row for every step in which the profiler saw a collective, compressed or not.
void write_steps(const RankTimeline& rank, const IssuedWork& work, const CompressedExchanges& found, Summary& summary) {
  std::map<std::int64_t, StepSum> sums;
  for (const Work& one : work.list)
    if (one.collective() && one.step >= 0) sums[one.step];
  for (const Chain& chain : found.chains)
    if (chain.step >= 0) add_chain(sums[chain.step], chain);
  Series& table = summary.table(kSteps, {"rank", "step", "kernels", "compress_ns", "decompress_ns", "wire_bytes"});
  for (const auto& [index, sum] : sums) {
    const StepSpan& step = rank.steps[static_cast<std::size_t>(index)];
    if (step.warm_up && !step.deep) continue;
    table.rows.push_back({std::int64_t{rank.rank}, step.number, sum.kernels, std::int64_t{sum.compress},
                          std::int64_t{sum.decompress}, sum.bytes_told ? sum.wire_bytes : kNotTold});
  }
}

bool is_narrow(std::string_view type) {
  return type.ends_with("float16") || type.find("int8") != std::string_view::npos ||
         type.find("float8") != std::string_view::npos;
}

// What the exchanges of one operation are made of: "before select" 12 times, "behind reconstruct" 12, "wire uint8" 8, …
void write_parts(const RankTimeline& rank, const std::vector<Chain>& chains, Summary& summary) {
  std::map<std::pair<std::string, std::string>, std::int64_t> parts;
  for (const Chain& chain : chains) {
    ++parts[{chain.operation, kWhole}];
    for (const WorkKind kind : chain.before) ++parts[{chain.operation, kBefore + std::string(to_string(kind))}];
    for (const WorkKind kind : chain.behind) ++parts[{chain.operation, kBehind + std::string(to_string(kind))}];
    if (is_narrow(chain.wire)) ++parts[{chain.operation, kWire + chain.wire}];
  }
  Series& table = summary.table(kParts, {"rank", "operation", "part", "count"});
  for (const auto& [part, count] : parts)
    table.rows.push_back({std::int64_t{rank.rank}, part.first, part.second, count});
}

void write_unknown(const RankTimeline& rank, const CompressedExchanges& found, Summary& summary) {
  using Entry = std::pair<NameId, UnknownKernel>;
  std::vector<Entry> longest(found.unknown.begin(), found.unknown.end());
  std::sort(longest.begin(), longest.end(), [&rank](const Entry& a, const Entry& b) {
    return a.second.total != b.second.total ? a.second.total > b.second.total : rank.name(a.first) < rank.name(b.first);
  });
  longest.resize(std::min(longest.size(), kMostUnknown));
  Series& table = summary.table(kUnknown, {"rank", "name", "count", "total_ns"});
  for (const auto& [name, kernel] : longest)
    table.rows.push_back({std::int64_t{rank.rank}, std::string(rank.name(name).substr(0, kLongestName)), kernel.count,
                          std::int64_t{kernel.total}});
}

// A row for every step in which the profiler named operators.
void write_calls(const RankTimeline& rank, const IssuedWork& work, Summary& summary) {
  Series& table =
      summary.table(kCalls, {"rank", "step", "nonzero", "quantile", "topk", "sorted_topk", "signs", "on_device"});
  for (const auto& [index, calls] : compression_calls(rank, work)) {
    const StepSpan& step = rank.steps[static_cast<std::size_t>(index)];
    if (step.warm_up && !step.deep) continue;
    table.rows.push_back({std::int64_t{rank.rank}, step.number, calls.nonzero, calls.quantile, calls.topk,
                          calls.sorted_topk, calls.signs, std::int64_t{work.on_device}});
  }
}

std::int64_t integer(const std::vector<Cell>& row, std::size_t column) { return std::get<std::int64_t>(row[column]); }
const std::string& text(const std::vector<Cell>& row, std::size_t column) { return std::get<std::string>(row[column]); }

using Parts = std::map<std::string, std::int64_t>;

// "select+compact → all_gather → reconstruct", from what at least a fifth of the operation's exchanges have.
std::string label(const std::string& operation, const Parts& parts) {
  std::string before, behind;
  for (std::size_t i = 1; i < kWorkKinds; ++i) {  // in the order in which an exchange has them
    const std::string kind(to_string(static_cast<WorkKind>(i)));
    const auto common = [&](const char* side) {
      const auto found = parts.find(side + kind);
      return found != parts.end() && 5 * found->second >= parts.at(kWhole);
    };
    if (common(kBefore)) before += (before.empty() ? "" : "+") + kind;
    if (common(kBehind)) behind += (behind.empty() ? "" : "+") + kind;
  }
  return before + (before.empty() ? "" : " → ") + operation + (behind.empty() ? "" : " → ") + behind;
}

bool handled_gradients(const Summary& all) {
  const Series* seen = all.find(kSeen);
  return seen != nullptr &&
         std::any_of(seen->rows.begin(), seen->rows.end(), [](const auto& row) { return integer(row, 1) > 0; });
}

// What the job's own hook told: a cast on the host has no name of its own, and not to see it is no proof.
bool known_to_compress(const Facts& facts) {
  const auto is = [&facts](const char* key, std::string_view value) {
    const auto found = facts.find(key);
    return found != facts.end() && found->second == value;
  };
  return facts.contains("compression") && !is("compression", "none") && !is("compression.started", "no");
}

std::string joined(const std::vector<std::string>& parts) {
  std::string line;
  for (const std::string& part : parts) line += (line.empty() ? "" : ", ") + part;
  return line;
}

// The word of the fact `compression` for what the commonest exchanges are made of.
std::string compression_word(const Parts& parts, const std::set<std::string>& wires) {
  const auto common = [&parts](WorkKind kind) {
    const auto found = parts.find(kBefore + std::string(to_string(kind)));
    return found != parts.end() && 5 * found->second >= parts.at(kWhole);
  };
  if (common(WorkKind::select) || common(WorkKind::compact)) return "topk";
  if (common(WorkKind::low_rank)) return "powersgd";
  if (!common(WorkKind::quantise)) return "custom";
  if (wires.size() != 1) return "quantized";
  return *wires.begin() == "float16" ? "fp16" : *wires.begin() == "bfloat16" ? "bf16" : "quantized";
}

// Collectives that look dense to the job's own hook, or of files that knew of no hook, may carry what kernels compressed.
// Where a profile told of no exchange of gradients at all, nothing is known.
void correct_compression(Origin origin, const std::string& seen, Facts& facts) {
  const auto told = facts.find("compression");
  if (told == facts.end() || told->second != "none") return;
  if (!seen.empty()) {
    told->second = seen;
    facts.erase("compression.place");
  } else if (origin == Origin::files && !facts.contains("compression.fingerprint")) {
    facts.erase(told);
    facts.erase("compression.place");
  }
}

// All ranks together, the operation with the most exchanges first.
void conclude_labels(const Summary& all, Origin origin, Conclusions& conclusions) {
  std::map<std::string, Parts> operations;
  std::set<std::string> wires;
  if (const Series* table = all.find(kParts))
    for (const auto& row : table->rows) {
      operations[text(row, 1)][text(row, 2)] += integer(row, 3);
      if (text(row, 2).starts_with(kWire)) wires.insert(text(row, 2).substr(std::string_view(kWire).size()));
    }
  std::vector<std::pair<std::int64_t, std::string>> labels;
  for (const auto& [operation, parts] : operations) labels.emplace_back(parts.at(kWhole), label(operation, parts));
  std::stable_sort(labels.begin(), labels.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> said;
  for (const auto& [count, line] : labels)
    if (said.size() < kMostLabels) said.push_back(line);
  if (!said.empty())
    conclusions.facts["compression.fingerprint"] = joined(said);
  else if (handled_gradients(all) && !known_to_compress(conclusions.facts))
    conclusions.facts["compression.fingerprint"] = "none";
  if (!wires.empty()) conclusions.facts["compression.wire_dtype"] = joined({wires.begin(), wires.end()});
  const auto commonest = std::max_element(operations.begin(), operations.end(), [](const auto& a, const auto& b) {
    return a.second.at(kWhole) < b.second.at(kWhole);
  });
  correct_compression(origin, commonest == operations.end() ? "" : compression_word(commonest->second, wires),
                      conclusions.facts);
}

class PerStep {
 public:
  void add(std::int64_t rank, std::int64_t step, double value) {
    ranks_["rank:" + std::to_string(rank)].push_back(value);
    means_.add(step, value);
  }
  void write(const std::string& name, MetricSet& metrics) const {
    for (const auto& [scope, sample] : ranks_) write(name, scope, sample, metrics);
    write(name, "all", means_.sample(), metrics);
  }

 private:
  static void write(const std::string& name, const std::string& scope, const std::vector<double>& sample,
                    MetricSet& metrics) {
    if (sample.size() >= kFewestSteps) add_sample(metrics, name, scope, sample, "profiler");
  }
  std::map<std::string, std::vector<double>> ranks_;
  StepMeans means_;
};

// Mean length of what compresses on a device; operators of the host have no launch to be short beside.
void conclude_kernel_length(const Summary& all, Conclusions& conclusions) {
  const Series* calls = all.find(kCalls);
  if (calls != nullptr && !calls->rows.empty() && integer(calls->rows.front(), 7) == 0) return;
  const auto value = [&](const char* name) { return conclusions.metrics.value(name, "all"); };
  const auto kernels = value("compress.kernels_per_step"), before = value("compress.kernel_ms"),
             behind = value("decompress.kernel_ms");
  const auto device = conclusions.facts.find("device");
  if (device != conclusions.facts.end() && device->second != "cuda") return;
  if (!kernels || !before || !behind || *kernels <= 0) return;
  const std::int64_t steps = conclusions.metrics.find("compress.kernels_per_step", "all")->n;
  add_value(conclusions.metrics, "compress.kernel_mean_us", "all", 1e3 * (*before + *behind) / *kernels, steps,
            "profiler");
}

void conclude_steps(const Summary& all, Conclusions& conclusions) {
  const Series* table = all.find(kSteps);
  if (table == nullptr) return;
  const bool any =
      std::any_of(table->rows.begin(), table->rows.end(), [](const auto& row) { return integer(row, 2) > 0; });
  if (!any) return;
  PerStep kernels, compress, decompress, bytes;
  bool told = true;
  for (const auto& row : table->rows) {
    const std::int64_t rank = integer(row, 0), step = integer(row, 1);
    kernels.add(rank, step, static_cast<double>(integer(row, 2)));
    compress.add(rank, step, static_cast<double>(integer(row, 3)) * 1e-6);
    decompress.add(rank, step, static_cast<double>(integer(row, 4)) * 1e-6);
    told &= integer(row, 5) != kNotTold;
    bytes.add(rank, step, static_cast<double>(integer(row, 5)));
  }
  kernels.write("compress.kernels_per_step", conclusions.metrics);
  compress.write("compress.kernel_ms", conclusions.metrics);
  decompress.write("decompress.kernel_ms", conclusions.metrics);
  if (told) bytes.write("compress.wire_bytes", conclusions.metrics);
  conclude_kernel_length(all, conclusions);
}

// How the compression is written, of the steps in which operators were named.
void conclude_calls(const Summary& all, Conclusions& conclusions) {
  const Series* table = all.find(kCalls);
  if (table == nullptr || table->rows.empty()) return;
  PerStep nonzero, quantile;
  std::int64_t selections = 0, sorted = 0, signs = 0;
  for (const auto& row : table->rows) {
    nonzero.add(integer(row, 0), integer(row, 1), static_cast<double>(integer(row, 2)));
    quantile.add(integer(row, 0), integer(row, 1), static_cast<double>(integer(row, 3)));
    if (integer(row, 7) != 0) selections += integer(row, 4);
    sorted += integer(row, 5);
    signs += integer(row, 6);
  }
  nonzero.write("compress.nonzero_per_step", conclusions.metrics);
  quantile.write("compress.quantile_per_step", conclusions.metrics);
  if (selections > 0)
    add_value(conclusions.metrics, "compress.sorted_topk_percent", "all",
              100 * static_cast<double>(sorted) / static_cast<double>(selections), selections, "profiler");
  conclusions.facts["compression.codes"] = signs > 0 ? "signs" : "no signs";
}

void conclude_unknown(const Summary& all, Conclusions& conclusions) {
  const Series* table = all.find(kUnknown);
  if (table == nullptr || table->rows.empty()) return;
  std::map<std::string, UnknownKernel> kernels;
  for (const auto& row : table->rows) {
    UnknownKernel& kernel = kernels[text(row, 1)];
    kernel.count += integer(row, 2);
    kernel.total += integer(row, 3);
  }
  std::vector<std::pair<std::string, UnknownKernel>> longest(kernels.begin(), kernels.end());
  std::stable_sort(longest.begin(), longest.end(),
                   [](const auto& a, const auto& b) { return a.second.total > b.second.total; });
  Series series{"unknown_kernels", {"name", "count", "total_ms"}, {}};
  for (const auto& [name, kernel] : longest)
    if (series.rows.size() < kMostUnknown)
      series.rows.push_back({name, kernel.count, static_cast<double>(kernel.total) * 1e-6});
  conclusions.series[series.name] = std::move(series);
}

class FingerprintAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "fingerprint"; }

  void summarise(const RankTimeline& rank, const Inputs& inputs, Summary& summary) const override {
    NameKinds kinds(inputs.operator_classes, rank);
    const IssuedWork work = issued_work(rank, kinds);
    if (work.list.empty()) return;
    const CompressedExchanges found = find_compressed_exchanges(rank, work);
    summary.table(kSeen, {"rank", "gradient_collectives"})
        .rows.push_back({std::int64_t{rank.rank}, found.gradient_collectives});
    write_steps(rank, work, found, summary);
    write_parts(rank, found.chains, summary);
    write_unknown(rank, found, summary);
    write_calls(rank, work, summary);
  }

  void conclude(const Summary& all, const Inputs& inputs, Conclusions& conclusions) const override {
    conclude_labels(all, inputs.origin, conclusions);
    conclude_steps(all, conclusions);
    conclude_calls(all, conclusions);
    conclude_unknown(all, conclusions);
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_fingerprint() { return std::make_unique<FingerprintAnalyzer>(); }

}  // namespace gradsync
