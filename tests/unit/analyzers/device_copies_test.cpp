// Copies between device and host, told from those that feed the model by when they begin, and what no kernel hides of them.
#include <doctest/doctest.h>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;
using test::analyze;
using test::repeat_step;

namespace {

// Forward, backward and optimiser, each with a kernel; times in µs.
Conclusions with(const std::string& copies) {
  return analyze("process host=n pid=1\nfact rank=0 device=cuda ddp.gradient_bytes=4000000\n" +
                 repeat_step(20, 60000,
                             "range forward @1000..@10000\nrange backward @10000..@45000 compute_end_us=@40000\n"
                             "range optimizer @50000..@60000\nkernel gemm @1000..@40000 stream=7\n"
                             "collective all_reduce @41000..@43000 bytes=1000000 dtype=float32 elements=250000\n"
                             "kernel adam @50000..@60000 stream=7\n" +
                                 copies));
}

}  // namespace

TEST_CASE("copies of input and of gradients") {
  const Conclusions found = with(
      "copy Memcpy_HtoD_(Pageable_->_Device) @0..@900 stream=7 bytes=9000000\n"
      "copy Memcpy_DtoH_(Device_->_Pinned) @20000..@21000 stream=8 bytes=500000\n"
      "copy Memcpy_DtoH_(Device_->_Pinned) @41000..@44000 stream=8 bytes=3500000\n"
      "copy Memcpy_HtoD_(Pinned_->_Device) @45000..@46000 stream=8 bytes=3000000\n");
  const auto value = [&](const char* name) { return found.metrics.value(name, "all").value_or(-1); };
  CHECK(value("copies.to_host_bytes_per_step") == 4000000);
  CHECK(value("copies.to_device_bytes_per_step") == 3000000);
  CHECK(value("copies.exposed_ms") == doctest::Approx(4));
  CHECK(value("copies.exposed_percent") == doctest::Approx(100 * 4.0 / 60));
  CHECK(value("copies.exposed_share_percent") == doctest::Approx(80));
  CHECK(value("copies.to_host_over_sent_percent") == doctest::Approx(400));
  CHECK(value("copies.round_trip_percent") == doctest::Approx(75));
}

TEST_CASE("no copies are none, and without a recorded device nothing is known") {
  const Conclusions none = with("");
  CHECK(*none.metrics.value("copies.to_host_bytes_per_step", "all") == 0);
  CHECK_FALSE(none.metrics.value("copies.exposed_share_percent", "all"));
  const Conclusions cpu = analyze("process host=n pid=1\nfact rank=0 device=cpu\n" +
                                  repeat_step(20, 1000, "range backward @0..@500 compute_end_us=@400\n"));
  CHECK_FALSE(cpu.metrics.value("copies.to_host_bytes_per_step", "all"));
}
