#include <dlfcn.h>

#include "collectors/attach/attach.h"

namespace gradsync {
namespace {

constexpr const char* kVariable = "NVTX_INJECTION64_PATH";

class NvtxAttach final : public Collector {
 public:
  std::string name() const override { return "NVTX ranges"; }

  // NVTX ignores a path that does not load, silently: so the launcher tries it.
  std::vector<Coverage> probe(const CollectorContext& context) const override {
    Coverage coverage{name(), "", CoverageState::collected, "", "", 0};
    void* library = ::dlopen(context.library.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) {
      const char* why = ::dlerror();
      coverage.reason = why == nullptr ? "it does not load" : why;
    } else if (::dlsym(library, "InitializeInjectionNvtx2") == nullptr ||
               ::dlsym(library, "InitializeInjectionNvtxExtension") == nullptr) {
      coverage.reason = context.library.string() + " lacks the NVTX entry points";
    }
    if (library != nullptr) ::dlclose(library);
    if (!coverage.reason.empty()) {
      coverage.state = CoverageState::unavailable;
      coverage.hint = "install again with `make install`";
    }
    return {coverage};
  }

  Result<void> start(const CollectorContext& context, Environment& environment) override {
    const std::vector<Coverage> here = probe(context);
    if (here.front().state != CoverageState::collected)
      return Error{"cannot record NVTX ranges", context.library.string(), here.front().reason, here.front().hint};
    const auto before = environment.find(kVariable);
    if (before != environment.end() && !before->second.empty() && before->second != context.library.string()) {
      environment["GSD_NEXT_NVTX"] = before->second;
      chained_to_ = before->second;
    }
    environment[kVariable] = context.library.string();
    return {};
  }

  void stop(const CollectorContext&, EventSink&, RecordingParts& parts) override {
    if (!chained_to_.empty()) parts.facts["nvtx.chained_to"] = chained_to_;
  }

 private:
  std::string chained_to_;
};

}  // namespace

std::unique_ptr<Collector> make_nvtx_attach() { return std::make_unique<NvtxAttach>(); }

}  // namespace gradsync
