// GPUs in looks about a second apart: how often something held their clocks down, what their links carried, which errors
// came, and whether another job computed on them. In the doctor's own process; the job's is left alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collectors/host/gpu_look.h"
#include "collectors/host/nvml.h"
#include "src/model/collector.h"

namespace gradsync {

enum class Owner { job, other, unknown };  // unknown: no such process here (it ended, or is of another pid namespace)

class GpuSampler {
 public:
  // `owner_of` says whose a process is; asked once for each process at each look.
  using OwnerOf = std::function<Owner(std::int64_t pid)>;
  GpuSampler(std::unique_ptr<NvmlLibrary> library, OwnerOf owner_of);
  ~GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  void look(Nanoseconds at);
  // The series `gpu` (one row a GPU) and `gpu_samples` (thinned when there are many).
  void add_parts(RecordingParts& parts) const;

 private:
  struct Gpu {
    NvmlDevice device = nullptr;
    std::string name;  // "gpu0"
    NvmlGpu fixed;
    std::optional<std::uint64_t> max_sm_mhz, max_memory_mhz;
    std::int64_t looks = 0, busy = 0, told = 0;  // told: busy looks with reasons
    std::int64_t throttled = 0, power_capped = 0, thermal = 0, hardware = 0, sync_boost = 0;  // of those
    std::optional<std::uint64_t> busy_generation, busy_width, most_memory, ecc_first;         // best of the busy looks
    std::map<std::uint64_t, std::int64_t> xids;
    std::map<std::int64_t, int> others;  // process → looks in which it was there and not the job's
    bool processes_told = false, of_job = false, has_strangers = false;  // strangers: of unknown owners
    std::vector<GpuLook> samples;                                        // first and last are always kept
    std::optional<std::uint64_t> nvlink_bytes, pcie_bytes;               // summed differences, both directions
  };
  void count(Gpu& gpu, const GpuLook& look) const;
  void count_owners(Gpu& gpu, const GpuLook& look) const;
  void take_events();
  static std::optional<std::int64_t> is_of_job(const Gpu& gpu);
  Series totals() const;
  Series samples() const;

  std::unique_ptr<NvmlLibrary> library_;
  OwnerOf owner_of_;
  std::vector<Gpu> gpus_;
  NvmlEventSet events_ = nullptr;
  bool events_told_ = false;
};

}  // namespace gradsync
