#include "collectors/attach/gpu_counters.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "collectors/attach/attach.h"

using namespace gradsync;

namespace {

namespace fs = std::filesystem;

class Root {
 public:
  Root() {
    char name[] = "/tmp/gsd-counters-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path_ = name;
  }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  ~Root() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

  void file(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  void driver(const std::string& line) const {
    file("proc/driver/nvidia/params", "ResmanDebugLevel: 4294967295\n" + line + "EnablePCIERelaxedOrderingMode: 0\n");
  }
  void capabilities(const std::string& mask) const {
    file("proc/self/status",
         "Name:\tgradsync-doctor\nCapPrm:\t0000000000000000\nCapEff:\t" + mask + "\nNoNewPrivs:\t0\n");
  }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("who may read counters is a line of the driver's parameters") {
  Root root;
  CHECK(counter_permission(root.path()) == CounterPermission::unknown);  // no driver
  root.driver("");
  CHECK(counter_permission(root.path()) == CounterPermission::unknown);  // another driver
  root.driver("RmProfilingAdminOnly: 1\n");
  CHECK(counter_permission(root.path()) == CounterPermission::administrator_only);
  root.driver("RmProfilingAdminOnly: 0\n");
  CHECK(counter_permission(root.path()) == CounterPermission::everybody);
  root.file("proc/driver/nvidia/params", "RmProfilingAdminOnly: 1");  // the only line, and cut
  CHECK(counter_permission(root.path()) == CounterPermission::administrator_only);
}

TEST_CASE("the administrator is who has CAP_SYS_ADMIN") {
  Root root;
  CHECK_FALSE(may_administrate(root.path()));
  root.capabilities("0000000000000000");
  CHECK_FALSE(may_administrate(root.path()));
  root.capabilities("00000000a80425fb");  // docker's usual set
  CHECK_FALSE(may_administrate(root.path()));
  root.capabilities("000001ffffffffff");
  CHECK(may_administrate(root.path()));
}

TEST_CASE("nobody but the administrator: the job is not asked for counters, and the hint is exact") {
  Root root;
  root.driver("RmProfilingAdminOnly: 1\n");
  root.capabilities("0000000000000000");
  CollectorContext context;
  context.root = root.path();
  Environment environment;
  const Result<void> started = make_gpu_counters_attach()->start(context, environment);
  REQUIRE_FALSE(started);
  CHECK(environment.empty());
  CHECK(started.error().why.find("RmProfilingAdminOnly: 1") != std::string::npos);
  for (const char* part : {"root or with CAP_SYS_ADMIN", "NVreg_RestrictProfilingToAdminUsers=0", "/etc/modprobe.d"})
    CHECK(started.error().hint.find(part) != std::string::npos);
  root.capabilities("000001ffffffffff");
  CHECK(make_gpu_counters_attach()->start(context, environment));
  CHECK(environment.at("GSD_COUNTERS") == default_counters());
}

TEST_CASE("names of metrics; the job's own words are none") {
  CHECK(*counter_names("") == default_counters());
  CHECK(*counter_names(default_counters()) == default_counters());
  for (const char* wrong : {"python3", "train.py", "dram__bytes", "__bytes.sum", "dram__bytes.", "a__b.sum;c", ",",
                            "a__b.sum,", "a__b.sum,,c__d.sum"}) {
    CAPTURE(wrong);
    REQUIRE_FALSE(counter_names(wrong));
    CHECK(counter_names(wrong).error().hint.find("--") != std::string::npos);
  }
}
