#include "collectors/host/host_counters.h"

#include <doctest/doctest.h>

using namespace gradsync;

namespace {

// Two CPUs of four, ten seconds: 1600 of 2000 ticks are busy, and the job ran for 11 s.
JobShare share() {
  JobShare job;
  job.first = CpuTicks{};
  job.last = CpuTicks{};
  job.first->busy = {{0, 100}, {1, 100}, {2, 100}, {3, 100}};
  job.last->busy = {{0, 1100}, {1, 700}, {2, 9100}, {3, 100}};
  job.to = 10'000'000'000;
  job.cpus = {0, 1};
  job.job_run = 11'000'000'000;
  return job;
}

}  // namespace

TEST_CASE("others on the job's CPUs: what ran there and was not the job") {
  CHECK(*others_percent(share(), 100) == doctest::Approx(25));  // 5 of 20 s
  JobShare alone = share();
  alone.job_run = 17'000'000'000;  // by another clock a little more than was busy
  CHECK(*others_percent(alone, 100) == 0);
}

TEST_CASE("others cannot be told") {
  JobShare job = share();
  job.to = 2'000'000'000;
  CHECK_FALSE(others_percent(job, 100));  // too short
  job = share();
  job.cpus = {0, 9};
  CHECK_FALSE(others_percent(job, 100));  // a CPU that /proc/stat does not list
  job = share();
  job.cpus.clear();
  CHECK_FALSE(others_percent(job, 100));
  job = share();
  job.first.reset();
  CHECK_FALSE(others_percent(job, 100));
}
