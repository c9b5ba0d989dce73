// How much of their CPU time processes spend in copies between user and kernel memory: there is no tracepoint for it, so
// all CPUs are sampled some 999 times a second, with the kernel's call chain.
//
//   cycles, or cpu-clock ─▶ a ring per CPU ─▶ a thread of ours: CopyAccount ─▶ series usercopy, events for the join
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "collectors/host/copy_account.h"
#include "collectors/host/perf_pages.h"
#include "collectors/host/reader_thread.h"
#include "src/model/collector.h"

namespace gradsync {

struct CopyOptions {
  std::filesystem::path root = "/";
  std::int64_t ancestor = 0;  // the job: its descendants; 0 = every process of the machine
  double budget_percent = 0;  // of all CPUs together: sampling pauses above it; 0 = no bound
};

class CopySampler {
 public:
  static constexpr int kHertz = 999;

  static Result<std::unique_ptr<CopySampler>> open(const CopyOptions& options);
  // What samples here: "cycles" or "cpu-clock"; else why nothing does.
  static Result<std::string> probe(const std::filesystem::path& root);
  ~CopySampler();

  Result<void> start();
  void stop();

  // After stop.
  const CopyAccount& account() const { return account_; }
  const std::optional<Error>& refused() const { return refused_; }  // why nothing was counted
  const std::string& source() const { return source_; }
  Nanoseconds reader_cpu() const { return reader_cpu_; }
  std::uint64_t lost() const;
  std::int64_t throttled() const { return throttled_; }
  const std::vector<std::pair<Nanoseconds, Nanoseconds>>& windows() const { return windows_; }
  double seconds() const;  // sampled, pauses left out

 private:
  struct Ring {
    FileDescriptor fd;
    PerfPages pages;
  };
  explicit CopySampler(CopyOptions options) : options_(std::move(options)) {}
  void run();
  void drain();
  void take(std::span<const std::byte> record);
  void take_birth(std::span<const std::byte> record);
  void take_name(std::span<const std::byte> record);
  bool of_job(std::int64_t pid);
  void look_at_names();
  void keep_budget(Nanoseconds now);
  void switch_on(Nanoseconds now);
  void switch_off(Nanoseconds now);

  CopyOptions options_;
  CopyAccount account_;
  std::string source_;
  std::vector<Ring> rings_;
  std::map<std::int64_t, bool> of_job_;        // by process
  std::map<std::int64_t, std::string> names_;  // of its threads, as the kernel told them
  std::vector<std::uint64_t> chain_;
  ReaderThread reader_;
  std::vector<std::pair<Nanoseconds, Nanoseconds>> windows_;
  std::optional<Error> refused_;
  Nanoseconds began_ = 0, reader_cpu_ = 0, clock_offset_ = 0;
  std::uint64_t samples_ = 0;
  std::int64_t throttled_ = 0;
  bool on_ = false;
};

// After stop: the series, facts and coverage; and a sample in a copy as an event each.
void add_copy_parts(const CopySampler& sampler, RecordingParts& parts);
void write_copies(const CopySampler& sampler, EventSink& events);

}  // namespace gradsync
