#include "analyzers/predict/half_precision.h"

#include <algorithm>

#include "analyzers/predict/edits.h"

namespace gradsync {
namespace {

constexpr double kHalfBytes = 2;
// The hook divides in 16 bits, for which a CPU has no instruction either: an element, by PyTorch 1.13 on an AMD EPYC, one thread.
constexpr double kHalfDivisionNs = 1.5;

bool is_dense(const Exchange& exchange) {
  return exchange.operation == "all_reduce" && !exchange.compressed && exchange.bytes > 0;
}

double as_halves(const Exchange& exchange) { return static_cast<double>(exchange.bytes) / 2; }

}  // namespace

std::optional<FabricCost> half_cost(const FabricFit& fit, const std::string& operation, double bytes, bool on_device) {
  if (const auto own = fabric_cost_of(fit, kHalf, operation, bytes)) return own;
  const std::optional<FabricCost> of_floats = fabric_cost(fit, operation, bytes);
  const bool added_by_cpu = operation == "all_reduce" && !on_device;
  // 10 MB of gradients over loopback took 69 ms a step in place of 42.
  if (of_floats && added_by_cpu && 1e3 * of_floats->us < kHalfSumNs * bytes / kHalfBytes) return std::nullopt;
  return of_floats;
}

bool lacks_halves(const Job& job, const std::vector<StepGraph>& ranks, const FabricFit* fit) {
  if (fit == nullptr) return false;
  for (const StepGraph& graph : ranks) {
    const std::optional<StepGraph> plain = dense(graph, job, fit, Draw{});
    if (!plain) continue;
    for (const Exchange& exchange : plain->exchanges)
      if (is_dense(exchange) && fabric_cost(*fit, exchange.operation, as_halves(exchange)) &&
          !half_cost(*fit, exchange.operation, as_halves(exchange), job.on_device))
        return true;
  }
  return false;
}

double half_coding_ns(const LoadCurve& cast, double elements, bool on_device, double level) {
  return 1e6 * cast.own_ms(elements, level) + (on_device ? 0 : kHalfDivisionNs * elements);
}

std::optional<StepGraph> halved(const StepGraph& graph, const Job& job, const FabricFit* fit, const LoadCurve& cast,
                                const Draw& draw) {
  std::optional<StepGraph> halves = dense(graph, job, fit, draw);
  if (!halves || fit == nullptr) return std::nullopt;
  const Numbers numbers = job.on_device ? Numbers::halves_on_device : Numbers::halves_on_cpu;
  bool any = false;
  for (std::size_t i = 0; i < halves->stages.size(); ++i) {
    const auto [kind, index] = halves->stages[i].anchor;
    if (kind != AnchorKind::issue) continue;
    Exchange& exchange = halves->exchanges[static_cast<std::size_t>(index)];
    if (!is_dense(exchange)) continue;
    const double elements = static_cast<double>(exchange.bytes) / 4;
    const auto ns = retimed_ns(exchange, as_halves(exchange), *fit, draw, numbers);
    if (!ns) return std::nullopt;
    exchange.transfer_ns = *ns;
    exchange.bytes /= 2;
    exchange.decode_ns = 1e6 * cast.decode_ms(elements, 1, draw.level).value_or(cast.own_ms(elements, draw.level));
    halves->at(i, StepClass::compress) += half_coding_ns(cast, elements, job.on_device, draw.level);
    any = true;
  }
  return any ? halves : std::nullopt;
}

double cap_of_halves(const Job& job, const FabricFit* fit, const StepGraph& graph, const Replayed& today) {
  constexpr auto kComm = static_cast<std::size_t>(StepClass::comm);
  const auto plain = job.compresses ? dense(graph, job, fit, Draw{}) : std::nullopt;
  if (!plain) return today.classes[kComm];
  const Replayed uncompressed = replay(*plain);
  return std::max(0.0, today.step_ns - uncompressed.step_ns) + uncompressed.classes[kComm];
}

}  // namespace gradsync
