#include "analyzers/predict/edits.h"

#include <algorithm>

#include "analyzers/fabric_cost.h"
#include "analyzers/predict/half_precision.h"

namespace gradsync {
namespace {

constexpr std::int64_t kMessage = 25 << 20;  // as a framework cuts a gradient

// What a CPU has to do with a byte on its way: copied into a socket and out of it, and summed. Over loopback Gloo moves
// about one byte in a nanosecond, and there all of the time is the CPU's.
constexpr double kCpuNsPerByte = 1;

// A dense all-reduce, in as many messages as a framework makes of it.
std::optional<double> dense_ns(const FabricFit& fit, std::int64_t bytes, const Draw& draw) {
  double ns = 0;
  for (std::int64_t left = bytes; left > 0; left -= kMessage) {
    const auto part = price_ns(fit, "all_reduce", static_cast<double>(std::min(left, kMessage)), draw);
    if (!part) return std::nullopt;
    ns += *part;
  }
  return ns;
}

double take_from(Stage& stage, StepClass what, double ns) {
  double& held = stage.ns[static_cast<std::size_t>(what)];
  const double taken = std::clamp(ns, 0.0, held);
  held -= taken;
  return taken;
}

// Of the time in which a stage's thread could run and had no CPU, what goes with `ns` of its work: delays come with work.
double delay_of(const Stage& stage, double ns) {
  double work = 0;
  for (const StepClass what : {StepClass::compute, StepClass::compress, StepClass::decompress})
    work += stage.ns[static_cast<std::size_t>(what)];
  return work > 0 ? stage.ns[static_cast<std::size_t>(StepClass::sched_irq)] * std::min(1.0, ns / work) : 0;
}

std::size_t last_join(const StepGraph& graph) {
  for (std::size_t i = graph.stages.size(); i-- > 0;)
    if (graph.stages[i].anchor.kind == AnchorKind::join) return i;
  return graph.stages.size() - 1;  // the end
}

void insert_issue(StepGraph& graph, std::size_t behind, std::int64_t exchange) {
  graph.stages.insert(graph.stages.begin() + static_cast<std::ptrdiff_t>(behind) + 1,
                      Stage{{}, {AnchorKind::issue, exchange}});
}

// What is late without compression: of the waiting for peers at compressed exchanges (of one bucket, or of all: -1) the
// share that work other than compression has in the step. Ranks that were late with it stay late.
double late_ns(const StepGraph& graph, std::int64_t bucket) {
  double all = 0, wait = 0;
  for (const Stage& stage : graph.stages)
    for (const double ns : stage.ns) all += ns;
  for (const Exchange& exchange : graph.exchanges)
    if (exchange.compressed && (bucket < 0 || exchange.bucket == bucket)) wait = std::max(wait, exchange.wait_ns);
  return all > 0 ? wait * (1 - coding_ns(graph) / all) : 0;
}

// Removed exchanges stay as names without a time, so that every index keeps its meaning.
void erase_compressed(StepGraph& graph) {
  for (Exchange& exchange : graph.exchanges)
    if (exchange.compressed) exchange.transfer_ns = exchange.wait_ns = exchange.decode_ns = exchange.bytes = 0;
}

}  // namespace

// Computing beside it disturbs the CPU's part of a collective, not the wire's.
std::optional<double> price_ns(const FabricFit& fit, const std::string& operation, double bytes, const Draw& draw,
                               Numbers numbers) {
  const std::string swept = swept_operation(operation);
  const double swept_size = swept_bytes(operation, bytes, fit.ranks);
  const auto cost = numbers == Numbers::floats
                        ? fabric_cost(fit, swept, swept_size)
                        : half_cost(fit, swept, swept_size, numbers == Numbers::halves_on_device);
  if (!cost) return std::nullopt;
  const double price = 1e3 * cost->us * draw.transfer;
  const double cpu_ns_per_byte = kCpuNsPerByte + (numbers == Numbers::halves_on_cpu ? kHalfSumNs / 2 : 0);
  const double cpu = std::min(price, 1e3 * cost->startup_us + cpu_ns_per_byte * swept_size);
  return std::max(price, cpu * draw.contention);
}

double take(StepGraph& graph, StepClass what, double ns) {
  const double all = graph.total(what);
  if (all <= 0) return 0;
  const double share = std::min(1.0, ns / all);
  const bool coding = what == StepClass::compress || what == StepClass::decompress;
  for (Stage& stage : graph.stages) {
    const double part = share * stage.ns[static_cast<std::size_t>(what)];
    if (coding) take_from(stage, StepClass::sched_irq, delay_of(stage, part));
    take_from(stage, what, part);
  }
  return share * all;
}

double coding_ns(const StepGraph& graph) {
  double ns = 0;
  for (const Stage& stage : graph.stages) {
    const double own = stage.ns[static_cast<std::size_t>(StepClass::compress)] +
                       stage.ns[static_cast<std::size_t>(StepClass::decompress)];
    ns += own + delay_of(stage, own);
  }
  return ns;
}

void take_coding(StepGraph& graph, double compress_ns, double decompress_ns) {
  std::vector<std::size_t> before, behind;
  for (std::size_t i = 0; i < graph.stages.size(); ++i) {
    const auto [kind, index] = graph.stages[i].anchor;
    const bool compressed = index >= 0 && (kind == AnchorKind::issue || kind == AnchorKind::join) &&
                            graph.exchanges[static_cast<std::size_t>(index)].compressed;
    if (!compressed) continue;
    if (kind == AnchorKind::issue) before.push_back(i);
    if (kind == AnchorKind::join && i + 1 < graph.stages.size()) behind.push_back(i + 1);
  }
  const auto spread = [&graph](const std::vector<std::size_t>& stages, double ns) {
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const double part = ns / static_cast<double>(stages.size() - i);
      ns -= take_from(graph.stages[stages[i]], StepClass::compute, part);
    }
  };
  spread(before, compress_ns);
  spread(behind, decompress_ns);
}

std::optional<StepGraph> without_compression(const StepGraph& graph, const Job& job, const FabricFit* fit,
                                             const Draw& draw) {
  StepGraph plain = graph;
  take(plain, StepClass::compress, draw.removed * plain.total(StepClass::compress));
  take(plain, StepClass::decompress, draw.removed * plain.total(StepClass::decompress));
  if (job.on_device) take_coding(plain, draw.removed * job.compress_ns, draw.removed * job.decompress_ns);
  erase_compressed(plain);
  if (job.framework_syncs) return plain;  // the gradient travels already
  if (fit == nullptr) return std::nullopt;

  // Each bucket when it is full; without buckets the whole gradient where the first exchange was.
  std::vector<std::pair<std::size_t, std::int64_t>> ready;  // stage, bytes
  for (std::size_t i = 0; i < plain.stages.size(); ++i) {
    const Anchor& anchor = plain.stages[i].anchor;
    if (anchor.kind == AnchorKind::bucket)
      ready.emplace_back(i, plain.bucket_bytes[static_cast<std::size_t>(anchor.index)]);
  }
  for (std::size_t i = 0; i < plain.stages.size() && ready.empty(); ++i) {
    const Anchor& anchor = plain.stages[i].anchor;
    if (anchor.kind == AnchorKind::issue && graph.exchanges[static_cast<std::size_t>(anchor.index)].compressed)
      ready.emplace_back(i, static_cast<std::int64_t>(4 * job.elements));
  }
  if (ready.empty()) return std::nullopt;
  const std::size_t first = plain.exchanges.size();
  for (std::size_t i = 0; i < ready.size(); ++i) {
    const auto ns = dense_ns(*fit, ready[i].second, draw);
    if (!ns) return std::nullopt;
    const double late = late_ns(graph, graph.bucket_bytes.empty() ? -1 : static_cast<std::int64_t>(i));
    plain.exchanges.push_back(
        {"all_reduce", "dense", "float32", ready[i].second, static_cast<std::int64_t>(i), false, false, late, *ns});
  }
  for (std::size_t i = ready.size(); i-- > 0;)  // from behind, so that the places of the others hold
    insert_issue(plain, ready[i].first, static_cast<std::int64_t>(first + i));
  // The last join waits for everything.
  Stage& joins = plain.stages[last_join(plain)];
  const auto last = static_cast<std::int64_t>(plain.exchanges.size()) - 1;
  if (joins.anchor.kind == AnchorKind::join) {
    joins.anchor.index = last;
  } else {
    plain.stages.insert(plain.stages.end() - 1, Stage{{}, {AnchorKind::join, last}});
  }
  return plain;
}

std::optional<StepGraph> dense(const StepGraph& graph, const Job& job, const FabricFit* fit, const Draw& draw) {
  return job.compresses ? without_compression(graph, job, fit, draw) : std::optional(graph);
}

std::optional<double> retimed_ns(const Exchange& exchange, double bytes, const FabricFit& fit, const Draw& draw,
                                 Numbers numbers) {
  const auto before = price_ns(fit, exchange.operation, static_cast<double>(exchange.bytes), draw);
  const auto after = price_ns(fit, exchange.operation, bytes, draw, numbers);
  if (!before || !after) return std::nullopt;
  // Of an exchange whose time is itself a price the price is scaled, and never below the start-up of nothing.
  const double changed = exchange.transfer_ns - (*before - *after);
  return std::max(changed, std::min(*after, exchange.transfer_ns));
}

std::optional<StepGraph> merged(const StepGraph& graph, int together, const FabricFit& fit, const Draw& draw) {
  StepGraph result = graph;
  std::vector<std::vector<std::size_t>> by_bucket(graph.bucket_bytes.size());
  for (std::size_t i = 0; i < graph.exchanges.size(); ++i) {
    const Exchange& exchange = graph.exchanges[i];
    if (exchange.bytes == 0) continue;
    if (exchange.bucket < 0 || exchange.bucket >= static_cast<std::int64_t>(by_bucket.size())) return std::nullopt;
    by_bucket[static_cast<std::size_t>(exchange.bucket)].push_back(i);
  }
  const auto group = static_cast<std::size_t>(together);
  for (std::size_t first = 0; first < by_bucket.size(); first += group) {
    const std::size_t last = std::min(first + group, by_bucket.size()) - 1;
    for (std::size_t place = 0; place < by_bucket[last].size(); ++place) {
      Exchange& kept = result.exchanges[by_bucket[last][place]];
      double bytes = 0, before = 0;
      for (std::size_t bucket = first; bucket <= last; ++bucket) {
        if (by_bucket[bucket].size() != by_bucket[last].size()) return std::nullopt;
        Exchange& part = result.exchanges[by_bucket[bucket][place]];
        const auto price = price_ns(fit, part.operation, static_cast<double>(part.bytes), draw);
        if (!price) return std::nullopt;
        before += part.transfer_ns - *price;  // what the price does not explain stays
        bytes += static_cast<double>(part.bytes);
        if (bucket != last) part.transfer_ns = part.wait_ns = part.bytes = 0;
      }
      const auto price = price_ns(fit, kept.operation, bytes, draw);
      if (!price) return std::nullopt;
      kept.bytes = static_cast<std::int64_t>(bytes);
      kept.transfer_ns = std::max(*price, *price + before);
    }
  }
  return result;
}

double largest_dense(const StepGraph& graph) {
  std::int64_t most = 0;
  for (const Exchange& exchange : graph.exchanges)
    if (!exchange.compressed) most = std::max(most, exchange.bytes);
  return static_cast<double>(most);
}

}  // namespace gradsync
