#include "src/commands/analyzers.h"

#include "analyzers/analyzers.h"

namespace gradsync {

std::vector<std::unique_ptr<Analyzer>> all_analyzers() {
  std::vector<std::unique_ptr<Analyzer>> analyzers;
  analyzers.push_back(make_environment());
  analyzers.push_back(make_configuration());
  analyzers.push_back(make_step_pass());
  analyzers.push_back(make_lanes());
  analyzers.push_back(make_step_time());
  analyzers.push_back(make_attribution());
  analyzers.push_back(make_overlap());
  analyzers.push_back(make_messages());
  analyzers.push_back(make_collective_sources());
  analyzers.push_back(make_device_copies());
  analyzers.push_back(make_device_time());
  analyzers.push_back(make_fingerprint());
  analyzers.push_back(make_kernel_occupancy());
  analyzers.push_back(make_gpu_counters());
  analyzers.push_back(make_host_sync());
  analyzers.push_back(make_lifecycle());
  analyzers.push_back(make_observer());
  analyzers.push_back(make_straggler());
  analyzers.push_back(make_fabric_curve());
  analyzers.push_back(make_fabric_fit());
  analyzers.push_back(make_cliff());
  analyzers.push_back(make_fabric_plateau());
  analyzers.push_back(make_overlay());
  analyzers.push_back(make_load_speed());
  analyzers.push_back(make_break_even());
  analyzers.push_back(make_nccl_choices());
  analyzers.push_back(make_whatif());
  analyzers.push_back(make_nccl_transport());
  analyzers.push_back(make_sched_delay());
  analyzers.push_back(make_irq_pressure());
  analyzers.push_back(make_host_pressure());
  analyzers.push_back(make_host_join());
  analyzers.push_back(make_user_copy());
  analyzers.push_back(make_nic_pressure());
  analyzers.push_back(make_gpu_state());
  analyzers.push_back(make_ab());
  analyzers.push_back(make_quality());
  analyzers.push_back(make_quality_passes());
  analyzers.push_back(make_measured_by());
  return analyzers;
}

}  // namespace gradsync
