// Calls of the job's own that wait for the whole device, told from reads of single values.
#include <doctest/doctest.h>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;
using test::analyze;
using test::repeat_step;

TEST_CASE("explicit synchronisations per step") {
  const auto with = [](const std::string& calls) {
    return analyze("process host=n pid=1\nfact rank=0\n" +
                   repeat_step(20, 1000, "range backward @0..@500 compute_end_us=@400\n" + calls))
        .metrics.value("host_sync.explicit_per_step", "all");
  };
  CHECK(*with("host_sync cuda.synchronize @510..@600\nhost_sync cuda.synchronize @610..@650\n") == 2);
  CHECK(*with("host_sync cuda.synchronize @410..@450 hook=1\n") == 0);  // PowerSGD's hook of PyTorch has one
  CHECK(*with("host_sync Tensor.item @510..@600\n") == 0);
  CHECK(*with("") == 0);
  CHECK_FALSE(analyze("").metrics.value("host_sync.explicit_per_step", "all"));
}
