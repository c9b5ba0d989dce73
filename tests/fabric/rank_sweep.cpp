#include "tests/fabric/rank_sweep.h"

#include "src/base/statistics.h"

namespace gradsync {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

template <class Time>
double middle(const RankRow& row, const Time& time) {
  std::vector<double> times;
  for (const FabricTiming& timing : row.timings) {
    const std::optional<double> us = time(timing);
    if (!us) return kNone;
    times.push_back(*us);
  }
  return median(times).value_or(kNone);
}

}  // namespace

std::vector<FabricCall> calls_of(const RankSweep& sweep) {
  std::vector<FabricCall> calls;
  for (const char* word : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv"}) {
    const FabricOperation operation = *fabric_operation(word);
    for (const ElementType type : {ElementType::float32, ElementType::float16, ElementType::int8})
      for (const std::int64_t bytes : sweep.bytes)
        calls.push_back({operation, type, elements_of(operation, type, bytes, sweep.ranks)});
  }
  return calls;
}

Result<std::vector<RankRow>> sweep_rank(FabricBackend& backend, const RankSweep& sweep) {
  std::vector<RankRow> rows;
  for (const FabricCall& call : calls_of(sweep)) {
    RankRow row{call, {}, 0};
    if (auto prepared = backend.prepare(call); !prepared) return prepared.error();
    for (int i = 0; i < sweep.repeats; ++i) {
      const auto timing = backend.run();
      if (!timing) return timing.error();
      row.timings.push_back(*timing);
    }
    const auto wrong = backend.count_wrong();
    if (!wrong) return wrong.error();
    row.wrong = *wrong;
    rows.push_back(std::move(row));
  }
  return rows;
}

double median_device_us(const RankRow& row) {
  return middle(row, [](const FabricTiming& timing) { return timing.device_us; });
}

double median_graph_us(const RankRow& row) {
  return middle(row, [](const FabricTiming& timing) { return timing.graph_us; });
}

double bus_gbytes_per_s(const FabricCall& call, int ranks, double us) {
  const double bytes = static_cast<double>(call.elements * size_of(call.type));
  const double share = static_cast<double>(ranks - 1) / ranks;
  double factor = 1;
  if (call.operation == FabricOperation::all_reduce) factor = 2 * share;
  if (call.operation == FabricOperation::all_gather || call.operation == FabricOperation::reduce_scatter ||
      call.operation == FabricOperation::all_to_all)
    factor = share;
  return bytes * factor / us / 1000;
}

}  // namespace gradsync
