#include "collectors/attach/attach.h"

namespace gradsync {
namespace {

class TorchAttach final : public Collector {
 public:
  std::string name() const override { return "torch hook"; }

  std::vector<Coverage> probe(const CollectorContext& context) const override {
    Coverage coverage{name(), "", CoverageState::collected, "", "", 0};
    std::error_code error;
    if (!std::filesystem::exists(context.torch_shim / "sitecustomize.py", error)) {
      coverage.state = CoverageState::unavailable;
      coverage.reason = "no sitecustomize.py in " + context.torch_shim.string();
      coverage.hint = "install again with `make install`";
    }
    return {coverage};
  }

  Result<void> start(const CollectorContext& context, Environment& environment) override {
    const std::vector<Coverage> here = probe(context);
    if (here.front().state != CoverageState::collected)
      return Error{"cannot load the Python hook", context.torch_shim.string(), here.front().reason, here.front().hint};
    const std::string shim = context.torch_shim.string();
    const std::string before = environment["PYTHONPATH"];
    environment["PYTHONPATH"] = before.empty() ? shim : shim + ":" + before;
    for (const auto& [option, variable] : {std::pair{"deep", "GSD_DEEP"},
                                           {"steps", "GSD_STEPS"},
                                           {"budget", "GSD_BUDGET"},
                                           {"ab", "GSD_AB"},
                                           {"ab-yes", "GSD_AB_YES"},
                                           {"quality", "GSD_QUALITY"}})
      if (const auto found = context.options.find(option); found != context.options.end())
        environment[variable] = found->second;
      else
        environment.erase(variable);
    return {};
  }

  // What the hook saw is in the spools; who it did not reach is found by the process watch.
  void stop(const CollectorContext&, EventSink&, RecordingParts&) override {}
};

}  // namespace

std::unique_ptr<Collector> make_torch_attach() { return std::make_unique<TorchAttach>(); }

}  // namespace gradsync
