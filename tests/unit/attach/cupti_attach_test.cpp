#include "collectors/attach/cupti_attach.h"

#include <doctest/doctest.h>

#include "collectors/attach/attach.h"
#include "tests/support/folder.h"

using namespace gradsync;

namespace {

class Root : public test::Folder {
 public:
  void process(int pid, int parent, const std::string& command) const {
    const std::string folder = "proc/" + std::to_string(pid);
    put(folder + "/comm", command + "\n");
    put(folder + "/status", "Name:\t" + command + "\nUmask:\t0022\nPid:\t" + std::to_string(pid) + "\nPPid:\t" +
                                std::to_string(parent) + "\nTracerPid:\t0\n");
  }
};

}  // namespace

TEST_CASE("a profiler among the ancestors is found by its command") {
  Root root;
  root.process(1, 0, "init");
  root.process(10, 1, "nsys");
  root.process(20, 10, "bash");
  root.process(30, 20, "gradsync-doctor");
  root.process(40, 1, "compute-sanitiz");
  root.process(50, 40, "python3");
  root.process(60, 1, "nsys-ui-like");
  root.process(70, 70, "its-own-parent");
  root.process(80, 999, "orphan");
  CHECK(profiler_among_ancestors(root.path(), 30) == "nsys");
  CHECK(profiler_among_ancestors(root.path(), 50) == "compute-sanitiz");
  CHECK(profiler_among_ancestors(root.path(), 20) == "nsys");
  for (const int pid : {60, 70, 80, 1, 12345}) CHECK(profiler_among_ancestors(root.path(), pid).empty());
}

TEST_CASE("the GPU is left to a tool that is named already, and otherwise taken for the steps that are wanted") {
  Root root;
  CollectorContext context;
  context.root = root.path();
  context.library = "/opt/gsd/libgradsync_inject.so";
  const auto collector = make_cupti_attach();
  Environment theirs{{"CUDA_INJECTION64_PATH", "/opt/other.so"}};
  const Result<void> refused = collector->start(context, theirs);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find("/opt/other.so") != std::string::npos);

  Environment free{{"CUDA_INJECTION64_PATH", ""}};
  REQUIRE(collector->start(context, free));
  CHECK(free == Environment{{"CUDA_INJECTION64_PATH", "/opt/gsd/libgradsync_inject.so"}, {"GSD_CUPTI", "windows"}});

  Environment ours{{"CUDA_INJECTION64_PATH", "/opt/gsd/libgradsync_inject.so"}};
  context.options["cupti"] = "3:7";
  REQUIRE(collector->start(context, ours));
  CHECK(ours["GSD_CUPTI"] == "3:7");
}

TEST_CASE("what would be collected is said with and without a driver") {
  const std::vector<Coverage> here = make_cupti_attach()->probe({});
  REQUIRE(here.size() == 1);
  CHECK(here[0].reason.find("kernels with what launched them") != std::string::npos);
  if (here[0].state == CoverageState::unavailable) CHECK(here[0].reason.starts_with("no NVIDIA driver here"));
}
