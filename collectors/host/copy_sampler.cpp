#include "collectors/host/copy_sampler.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>

#include "collectors/host/job_tree.h"
#include "collectors/host/ticker.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRingBytes = std::size_t{256} * 1024, kSymbolBytes = std::size_t{256} << 20;
constexpr std::uint64_t kDeepest = 24;  // frames: from a copy up to its system call
constexpr int kPollMs = 500, kNice = 5;
constexpr Nanoseconds kNameLook = 1'000'000'000;
constexpr double kSampleCost = 12'000;  // ns that a sample costs its CPU, of a guest (benchmarks/copy_sampler.cpp)
constexpr double kCredit = 150e6;       // ns that may be spent before the budget is asked

constexpr const char* kWhat = "cannot sample what copies";

perf_event_attr sampling(bool cycles) {
  perf_event_attr attributes{};
  attributes.type = cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
  attributes.config = cycles ? std::uint64_t{PERF_COUNT_HW_CPU_CYCLES} : std::uint64_t{PERF_COUNT_SW_CPU_CLOCK};
  attributes.freq = 1;
  attributes.sample_freq = CopySampler::kHertz;
  attributes.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
  attributes.task = 1;  // who was born to whom, and names: a process may be gone before anybody looks
  attributes.comm = 1;
  attributes.exclude_callchain_user = 1;
  attributes.exclude_idle = 1;
  attributes.exclude_hv = 1;
  attributes.sample_max_stack = kDeepest;
  attributes.disabled = 1;
  attributes.watermark = 1;
  attributes.wakeup_watermark = kRingBytes / 2;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  return attributes;
}

// Cycles where a PMU counts them: the sample then stands where the time went, and not behind the next enabling of
// interrupts.
FileDescriptor open_sampling(int cpu, std::string& source) {
  for (const bool cycles : {true, false}) {
    if (!source.empty() && (source == "cycles") != cycles) continue;
    perf_event_attr attributes = sampling(cycles);
    for (const unsigned precise : {2U, 1U, 0U}) {
      if (!cycles && precise > 0) continue;
      attributes.precise_ip = precise;
      FileDescriptor fd(open_perf_event(attributes, -1, cpu));
      if (!fd && errno != EINVAL && errno != EOPNOTSUPP) break;
      if (!fd) continue;
      source = cycles ? "cycles" : "cpu-clock";
      return fd;
    }
  }
  return FileDescriptor();
}

Error hidden_symbols() {
  return {kWhat, "", "kernel symbols are hidden (kernel.kptr_restrict, or no CAP_SYSLOG)",
          "run it as root; sysctl kernel.kptr_restrict=1 where it is 2"};
}

// The kernel takes some 0.1 s to print them all: whether it shows any is asked of the first line.
std::optional<Error> are_symbols_hidden(const fs::path& root) {
  std::ifstream file(root / "proc/kallsyms");
  std::string first;
  if (!std::getline(file, first)) return Error{kWhat, "", "/proc/kallsyms lists no function", ""};
  const bool hidden = first.find_first_not_of('0') == first.find(' ');
  return hidden ? std::optional(hidden_symbols()) : std::nullopt;
}

Result<CopyMap> read_symbols(const fs::path& root) {
  const Result<std::string> text = read_file(root / "proc/kallsyms", kSymbolBytes);
  if (!text) return Error{kWhat, "", text.error().message(), ""};
  std::variant<CopyMap, CopyMap::Refusal> parsed = CopyMap::parse(*text, CopySymbols::builtin());
  if (CopyMap* map = std::get_if<CopyMap>(&parsed)) {
    if (map->copying() > 0) return std::move(*map);
    return Error{kWhat, "", "this kernel has none of the functions of rules/copy_symbols.txt", ""};
  }
  if (std::get<CopyMap::Refusal>(parsed) == CopyMap::Refusal::empty)
    return Error{kWhat, "", "/proc/kallsyms lists no function", ""};
  return hidden_symbols();
}

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t at) {
  Number value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::string comm_of(const fs::path& folder) {
  const Result<std::string> text = read_file(folder / "comm", 4096);
  return text ? std::string(trim(*text)) : std::string();
}

}  // namespace

Result<std::unique_ptr<CopySampler>> CopySampler::open(const CopyOptions& options) {
  if (const std::optional<Error> hidden = are_symbols_hidden(options.root)) return *hidden;
  std::unique_ptr<CopySampler> sampler(new CopySampler(options));
  sampler->clock_offset_ = perf_clock_offset(options.root);
  for (const int cpu : cpus_online(options.root)) {
    const std::string on = "on CPU " + std::to_string(cpu);
    FileDescriptor fd = open_sampling(cpu, sampler->source_);
    if (!fd) return perf_refusal(kWhat, on, errno);
    std::optional<PerfPages> pages = PerfPages::map(fd.get(), kRingBytes);
    if (!pages) return perf_refusal(kWhat, on, errno);
    sampler->rings_.push_back({std::move(fd), std::move(*pages)});
  }
  return sampler;
}

Result<std::string> CopySampler::probe(const fs::path& root) {
  if (const std::optional<Error> hidden = are_symbols_hidden(root)) return *hidden;
  std::string source;
  const FileDescriptor fd = open_sampling(cpus_online(root).front(), source);
  if (!fd) return perf_refusal(kWhat, "", errno);
  return source;
}

CopySampler::~CopySampler() { stop(); }

Result<void> CopySampler::start() {
  began_ = monotonic_now();
  switch_on(began_);
  return reader_.start(kWhat, [this] { run(); });
}

void CopySampler::stop() { reader_.stop(); }

std::uint64_t CopySampler::lost() const {
  std::uint64_t lost = 0;
  for (const Ring& ring : rings_) lost += ring.pages.lost();
  return lost;
}

void CopySampler::run() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNice);  // the symbols are no hurry
  if (Result<CopyMap> map = read_symbols(options_.root))
    account_ = CopyAccount(std::move(*map));
  else
    refused_ = map.error();
  std::vector<pollfd> fds{{reader_.wake_fd(), POLLIN, 0}};
  for (const Ring& ring : rings_) fds.push_back({ring.fd.get(), POLLIN, 0});
  Nanoseconds next_look = began_ + kNameLook;
  while (!reader_.stopping() && !refused_) {
    ::poll(fds.data(), fds.size(), kPollMs);
    drain();
    const Nanoseconds now = monotonic_now();
    if (now < next_look) continue;
    look_at_names();
    keep_budget(now);
    next_look = now + kNameLook;
  }
  switch_off(monotonic_now());
  drain();
  look_at_names();
  reader_cpu_ = thread_cpu_now();
}

void CopySampler::switch_on(Nanoseconds now) {
  on_ = true;
  windows_.emplace_back(now, now);
  for (const Ring& ring : rings_) ::ioctl(ring.fd.get(), PERF_EVENT_IOC_ENABLE, 0);
}

void CopySampler::switch_off(Nanoseconds now) {
  if (!on_) return;
  on_ = false;
  for (const Ring& ring : rings_) ::ioctl(ring.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  windows_.back().second = now;
}

double CopySampler::seconds() const {
  Nanoseconds sum = 0;
  for (const auto& [from, to] : windows_) sum += to - from;
  return static_cast<double>(sum) * 1e-9;
}

void CopySampler::drain() {
  for (Ring& ring : rings_)
    ring.pages.drain([this](const perf_event_header& header, std::span<const std::byte> record) {
      if (header.type == PERF_RECORD_SAMPLE) take(record);
      if (header.type == PERF_RECORD_FORK) take_birth(record);
      if (header.type == PERF_RECORD_COMM) take_name(record);
      throttled_ += header.type == PERF_RECORD_THROTTLE ? 1 : 0;
    });
}

// header │ ip u64 │ pid u32 │ tid u32 │ time u64 │ frames u64 │ frame u64 …
void CopySampler::take(std::span<const std::byte> record) {
  constexpr std::size_t kPid = 16, kTid = 20, kTime = 24, kFrames = 32, kFirst = 40;
  if (record.size() < kFirst) return;
  ++samples_;
  CopySample sample{number_at<std::uint32_t>(record, kPid),
                    number_at<std::uint32_t>(record, kTid),
                    static_cast<Nanoseconds>(number_at<std::uint64_t>(record, kTime)) + clock_offset_,
                    {}};
  if (!of_job(sample.pid)) return;
  const std::size_t there = (record.size() - kFirst) / sizeof(std::uint64_t);
  const std::size_t frames = std::min<std::size_t>(number_at<std::uint64_t>(record, kFrames), there);
  chain_.clear();
  for (std::size_t i = 0; i < frames; ++i) {
    const auto address = number_at<std::uint64_t>(record, kFirst + i * sizeof(std::uint64_t));
    if (address < static_cast<std::uint64_t>(PERF_CONTEXT_MAX)) chain_.push_back(address);  // else what follows is
  }
  sample.chain = chain_;
  account_.add(sample);
}

// header │ pid u32 │ parent's pid u32 │ tid u32 │ parent's tid u32 │ time u64
void CopySampler::take_birth(std::span<const std::byte> record) {
  if (record.size() < sizeof(perf_event_header) + 16) return;
  const std::int64_t pid = number_at<std::uint32_t>(record, 8), parent = number_at<std::uint32_t>(record, 12);
  const std::int64_t tid = number_at<std::uint32_t>(record, 16);
  const auto known = of_job_.find(parent);
  const bool ours = parent == options_.ancestor ? pid != parent : known != of_job_.end() && known->second;
  if (pid != parent && tid == pid) of_job_[pid] = ours;  // a number that another process had before
  if (!ours) return;
  if (const auto name = names_.find(number_at<std::uint32_t>(record, 20)); name != names_.end())
    names_[tid] = name->second;
}

// header │ pid u32 │ tid u32 │ characters, 0
void CopySampler::take_name(std::span<const std::byte> record) {
  constexpr std::size_t kName = 16;
  if (record.size() <= kName || !of_job(number_at<std::uint32_t>(record, 8))) return;
  const char* const name = reinterpret_cast<const char*>(record.data() + kName);
  names_[number_at<std::uint32_t>(record, 12)] = std::string(name, ::strnlen(name, record.size() - kName));
}

// Where its birth was not seen, /proc is asked, once for each process: a job's processes are its descendants.
bool CopySampler::of_job(std::int64_t pid) {
  if (options_.ancestor == 0) return true;
  const auto [known, is_new] = of_job_.try_emplace(pid, false);
  if (is_new) known->second = pid != options_.ancestor && descends_from(options_.root / "proc", pid, options_.ancestor);
  return known->second;
}

// The name at the end is the program's own: a process is called after its parent at first.
void CopySampler::look_at_names() {
  const auto told = [this](std::int64_t tid) {
    const auto name = names_.find(tid);
    return name == names_.end() ? std::string() : name->second;
  };
  for (auto& [key, thread] : account_.threads()) {
    if (thread.process.empty()) thread.process = told(key.first);
    if (thread.thread.empty()) thread.thread = told(key.second);
    const fs::path process = options_.root / "proc" / std::to_string(key.first);
    if (std::string name = comm_of(process); !name.empty()) thread.process = std::move(name);
    if (std::string name = comm_of(process / "task" / std::to_string(key.second)); !name.empty())
      thread.thread = std::move(name);
  }
}

// What the samples cost the job and the reader itself, against the budget so far.
void CopySampler::keep_budget(Nanoseconds now) {
  if (options_.budget_percent <= 0) return;
  const double spent = static_cast<double>(samples_) * kSampleCost + static_cast<double>(thread_cpu_now());
  const double allowed =
      kCredit + static_cast<double>(now - began_) * static_cast<double>(rings_.size()) * options_.budget_percent * 1e-2;
  if (on_ && spent > allowed) switch_off(now);
  // Not before there is something to spend: a window of moments holds no whole step.
  if (!on_ && spent < allowed - kCredit / 2) switch_on(now);
}

}  // namespace gradsync
