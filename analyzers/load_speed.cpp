// How well this device's memory is used where payloads are added up, by the reference load that was measured nearest to the
// job's own bucket. A benchmark says nothing of sizes that are far from those it measured.
#include <charconv>
#include <cmath>

#include "analyzers/analyzers.h"
#include "analyzers/rows.h"

namespace gradsync {
namespace {

constexpr double kFarthest = 4;  // times larger or smaller
constexpr double kFloat = 4;
constexpr const char* kAlgorithm = "scatter";

// Elements of the largest bucket; of a framework without buckets those of the gradient.
double elements_of(const Conclusions& known) {
  if (const auto bytes = known.metrics.value("ddp.largest_bucket_bytes", "all")) return *bytes / kFloat;
  const auto gradient = known.facts.find("ddp.gradient_bytes");
  double bytes = 0;
  if (gradient != known.facts.end())
    std::from_chars(gradient->second.data(), gradient->second.data() + gradient->second.size(), bytes);
  return bytes / kFloat;
}

class LoadSpeed final : public Analyzer {
 public:
  std::string_view name() const override { return "load_speed"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}
  void conclude(const Summary&, const Inputs& inputs, Conclusions& conclusions) const override {
    const auto device = conclusions.facts.find("device");
    const double elements = elements_of(conclusions);
    if (device == conclusions.facts.end() || elements <= 0) return;
    const LoadProfile* nearest = nullptr;
    double off = std::log(kFarthest);
    for (const LoadProfile& load : inputs.loads) {
      if (load.algorithm != kAlgorithm || load.device != device->second || load.elements <= 0) continue;
      const double distance = std::abs(std::log(static_cast<double>(load.elements) / elements));
      if (load.roofline_percent <= 0 || distance > off) continue;
      nearest = &load;
      off = distance;
    }
    if (nearest == nullptr) return;
    const std::string stem = std::string("load.") + kAlgorithm + "." + nearest->device;
    add_value(conclusions.metrics, stem + ".ms", "all", nearest->ms_p50, 1, "bench");
    add_value(conclusions.metrics, stem + ".roofline_percent", "all", nearest->roofline_percent, 1, "bench");
    conclusions.facts["bench"] = nearest->device;
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_load_speed() { return std::make_unique<LoadSpeed>(); }

}  // namespace gradsync
