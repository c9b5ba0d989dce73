// The pages that a perf event writes its records into, mapped and read in order.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "src/base/cpu_list.h"
#include "src/base/file.h"
#include "src/model/event.h"

namespace gradsync {

// -1 and errno. Closed on exec.
int open_perf_event(perf_event_attr& attributes, int pid, int cpu, int group = -1);

// Why it was refused, and what would help: privileges, a virtual machine without counters, a bad event, too many.
// `open_to_all_at`: the highest kernel.perf_event_paranoid at which the kernel gives this to every user.
Error perf_refusal(std::string what, std::string on, int error, std::optional<int> open_to_all_at = std::nullopt);

// The same of EACCES and EPERM, for the user `uid` under this kernel.perf_event_paranoid (absent: not known). Pure.
struct PerfDenial {
  std::string why, hint;
};
PerfDenial perf_denial(unsigned uid, std::optional<int> paranoid, std::optional<int> open_to_all_at);

// Why its pages could not be mapped: EPERM is the limit of memory that a user may lock.
Error pages_refusal(std::string what, std::string on, int error);

// The online CPUs of the machine whose /sys is below `root`; CPU 0 where it does not say.
CpuList cpus_online(const std::filesystem::path& root);

// What a time namespace adds to this process' CLOCK_MONOTONIC: stamps of perf are without it.
Nanoseconds perf_clock_offset(const std::filesystem::path& root);

class PerfPages {
 public:
  // Nothing when the kernel refuses; errno says why (EPERM: the limit of locked memory). `bytes`: a power of two.
  static std::optional<PerfPages> map(int fd, std::size_t bytes);
  // `most`, or what this user may still lock, down to `least`.
  static std::optional<PerfPages> map_down(int fd, std::size_t most, std::size_t least);
  PerfPages(PerfPages&& other) noexcept;
  PerfPages& operator=(PerfPages&&) = delete;
  ~PerfPages();

  // `record`: with its header, valid during the call. PERF_RECORD_LOST is counted and not handed on.
  using Record = std::function<void(const perf_event_header& header, std::span<const std::byte> record)>;
  void drain(const Record& record);
  std::uint64_t lost() const { return lost_; }

 private:
  PerfPages(void* pages, std::size_t bytes) : pages_(pages), bytes_(bytes) {}

  void* pages_;
  std::size_t bytes_;
  std::uint64_t lost_ = 0;
  std::vector<std::byte> wrapped_;  // a record that the end of the pages cuts in two
};

}  // namespace gradsync
