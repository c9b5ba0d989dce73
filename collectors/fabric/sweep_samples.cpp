#include "collectors/fabric/sweep_session.h"

namespace gradsync {

void add_samples(const std::vector<SweepSample>& samples, SeriesSet& series, const std::string& load) {
  for (const SweepSample& sample : samples) {
    const std::string name = std::string("sweep_samples.") + to_string(sample.call.operation);
    Series& table = series[name];
    if (table.columns.empty()) {
      table.name = name;
      table.columns = {"bytes", "repeat", "us", "type", "count", "skew_us", "graph_us", "wrong", "load"};
    }
    table.rows.push_back({sample.call.elements * size_of(sample.call.type), std::int64_t{sample.repeat}, sample.us,
                          std::string(to_string(sample.call.type)), sample.call.elements, sample.skew_us,
                          sample.graph_us, sample.wrong, sample.loaded ? load : std::string()});
  }
}

}  // namespace gradsync
