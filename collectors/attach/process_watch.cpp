// Reads /proc for the descendants of this process: often at first, then every few seconds; a thread of ours that
// sleeps between looks. It writes nothing but what it remembers.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "collectors/attach/attach.h"
#include "src/base/file.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoOtherReason = "the interpreter ended before its site module ran, or a .pth file replaced it";

struct SeenProcess {
  std::int64_t pid = 0, parent = 0;
  std::uint64_t stack = 0;  // where its stack begins: drawn at exec, inherited at fork; 0 = hidden from us
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
  bool environment_read = false;
};

std::vector<std::string> split_zero(const std::string& bytes) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\0', start), bytes.size());
    parts.push_back(bytes.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

// A field of /proc/<pid>/stat by its number in proc(5); 3 is the first behind the name.
template <class Number>
Number stat_field(const fs::path& process, int number, Number otherwise) {
  const Result<std::string> stat = read_file(process / "stat", 4096);
  const std::size_t after_name = stat ? stat->rfind(')') : std::string::npos;
  if (after_name == std::string::npos) return otherwise;
  std::istringstream fields(stat->substr(after_name + 1));
  std::string field;
  for (int at = 3; at <= number; ++at) fields >> field;
  std::from_chars(field.data(), field.data() + field.size(), otherwise);
  return otherwise;
}

std::int64_t parent_of(const fs::path& process) { return stat_field<std::int64_t>(process, 4, -1); }

bool is_python(const SeenProcess& process) {
  if (process.arguments.empty()) return false;
  return fs::path(process.arguments.front()).filename().string().starts_with("python");
}

// Options before the script or -m/-c, as python reads them.
std::string isolating_flag(const SeenProcess& process) {
  for (std::size_t i = 1; i < process.arguments.size(); ++i) {
    const std::string& argument = process.arguments[i];
    if (argument.size() < 2 || argument[0] != '-' || argument[1] == '-') return "";
    for (const char letter : std::string_view(argument).substr(1)) {
      if (letter == 'I' || letter == 'E' || letter == 'S') return std::string("-") + letter;
      if (letter == 'c' || letter == 'm') return "";
      if (letter == 'X' || letter == 'W') break;
    }
    if (argument == "-X" || argument == "-W") ++i;
  }
  return "";
}

std::string why_not_instrumented(const SeenProcess& process, const std::string& shim) {
  const std::string flag = isolating_flag(process);
  if (!flag.empty()) return "python was started with " + flag + ", which ignores PYTHONPATH or site";
  if (!process.environment_read) return "its environment could not be read";
  if (!process.environment.contains("GSD_RECORDING")) return "its environment was cleaned: GSD_RECORDING is not there";
  const auto path = process.environment.find("PYTHONPATH");
  if (path == process.environment.end() || path->second.find(shim) == std::string::npos)
    return "PYTHONPATH was replaced: the hook's folder is not in it";
  for (std::size_t start = 0; start < path->second.size();) {
    const std::size_t end = std::min(path->second.find(':', start), path->second.size());
    const std::string folder = path->second.substr(start, end - start);
    std::error_code error;
    if (folder == shim) break;
    if (fs::exists(fs::path(folder) / "sitecustomize.py", error))
      return "another sitecustomize.py comes first: " + folder;
    start = end + 1;
  }
  return kNoOtherReason;
}

// What interpreters said of themselves at their start (hello/, listed in docs/events.md).
struct Greetings {
  std::set<std::int64_t> pids;
  std::set<std::vector<std::string>> arguments;
};

Greetings read_greetings(const fs::path& folder) {
  Greetings greetings;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const Result<std::string> bytes = read_file(entry.path(), std::size_t{1} << 20);
    if (!bytes) continue;
    const auto hello = nlohmann::json::parse(*bytes, nullptr, /*allow_exceptions=*/false);
    if (!hello.is_object()) continue;
    if (const auto pid = hello.find("pid"); pid != hello.end() && pid->is_number_integer())
      greetings.pids.insert(pid->get<std::int64_t>());
    std::vector<std::string> arguments;
    if (const auto given = hello.find("argv"); given != hello.end() && given->is_array())
      for (const auto& argument : *given)
        if (argument.is_string()) arguments.push_back(argument.get<std::string>());
    if (!arguments.empty()) greetings.arguments.insert(std::move(arguments));
  }
  return greetings;
}

class ProcessWatch final : public Collector {
 public:
  ~ProcessWatch() override { join(); }

  std::string name() const override { return "processes"; }

  std::vector<Coverage> probe(const CollectorContext& context) const override {
    Coverage coverage{name(), "", CoverageState::collected, "", "", 0};
    std::error_code error;
    if (!fs::exists(context.root / "proc" / "self" / "stat", error)) {
      coverage.state = CoverageState::unavailable;
      coverage.reason = "no /proc";
    }
    return {coverage};
  }

  Result<void> start(const CollectorContext& context, Environment&) override {
    proc_ = context.root / "proc";
    // Signals are for the thread that waits for the job and passes them on.
    sigset_t all, before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);
    try {
      thread_ = std::thread([this] { watch(); });
    } catch (const std::system_error& refused) {
      ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
      return Error{"cannot watch the job's processes", "", refused.code().message(), ""};
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return {};
  }

  void stop(const CollectorContext& context, EventSink&, RecordingParts& parts) override {
    join();
    const Greetings greetings = read_greetings(context.recording / "hello");
    Series& series = parts.series["processes"];
    series.name = "processes";
    series.columns = {"pid", "parent", "command", "instrumented"};
    for (const auto& [pid, process] : seen_) {
      if (!is_python(process)) continue;
      std::string why;
      if (!greetings.pids.contains(pid) && !is_fork_of_greeted(process, greetings.pids)) {
        why = why_not_instrumented(process, context.torch_shim.string());
        // Forked from one that was gone before the first look.
        if (why == kNoOtherReason && greetings.arguments.contains(process.arguments)) why.clear();
      }
      std::string command;
      for (const std::string& argument : process.arguments) command += (command.empty() ? "" : " ") + argument;
      series.rows.push_back({pid, process.parent, command.substr(0, 200), std::int64_t{why.empty()}});
      if (why.empty()) continue;
      parts.facts.try_emplace("instrumented.reason", "pid " + std::to_string(pid) + ": " + why);
      parts.coverage.push_back({"python pid " + std::to_string(pid), "", CoverageState::unavailable, why,
                                "start it with the doctor's environment", 0});
    }
  }

 private:
  // A forked child runs no interpreter's start of its own; it carries its parent's hook.
  bool is_fork_of_greeted(const SeenProcess& process, const std::set<std::int64_t>& greeted) const {
    return process.stack != 0 && std::any_of(seen_.begin(), seen_.end(), [&](const auto& entry) {
             const SeenProcess& other = entry.second;
             return other.stack == process.stack && other.arguments == process.arguments &&
                    other.environment == process.environment && greeted.contains(other.pid);
           });
  }

  void watch() {
    using std::chrono::milliseconds;
    const milliseconds looks[] = {milliseconds(50),  milliseconds(150),  milliseconds(300),
                                  milliseconds(500), milliseconds(1000), milliseconds(2000)};
    std::unique_lock lock(mutex_);
    for (std::size_t look = 0;; ++look) {
      const milliseconds pause = look < std::size(looks) ? looks[look] : milliseconds(5000);
      if (wake_.wait_for(lock, pause, [this] { return stopping_; })) return;
      lock.unlock();
      scan();
      lock.lock();
    }
  }

  void scan() {
    std::map<std::int64_t, std::int64_t> parents;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(proc_, error)) {
      const std::string name = entry.path().filename().string();
      std::int64_t pid = 0;
      const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
      if (parsed.ec == std::errc{} && parsed.ptr == name.data() + name.size()) parents[pid] = parent_of(entry.path());
    }
    for (const auto& [pid, parent] : parents)
      if (descends(pid, parents)) remember(pid, parent);
  }

  static bool descends(std::int64_t pid, const std::map<std::int64_t, std::int64_t>& parents) {
    for (int depth = 0; depth < 64; ++depth) {
      const auto found = parents.find(pid);
      if (found == parents.end()) return false;
      if (found->second == ::getpid()) return true;
      pid = found->second;
    }
    return false;
  }

  // exec keeps the pid: a shell that became python is looked at again until it is one.
  void remember(std::int64_t pid, std::int64_t parent) {
    SeenProcess& process = seen_[pid];
    if (is_python(process) && process.environment_read) return;
    process.pid = pid;
    process.parent = parent;
    const fs::path folder = proc_ / std::to_string(pid);
    process.stack = stat_field<std::uint64_t>(folder, 28, 0);
    if (const auto arguments = read_file(folder / "cmdline", 1 << 20); arguments && !arguments->empty())
      process.arguments = split_zero(*arguments);
    // A process that is being replaced or has ended shows nothing; one that lives may have an empty environment.
    if (const auto environment = read_file(folder / "environ", 1 << 20); environment && !process.arguments.empty()) {
      process.environment.clear();
      for (const std::string& setting : split_zero(*environment)) {
        const std::size_t equals = setting.find('=');
        if (equals != std::string::npos) process.environment[setting.substr(0, equals)] = setting.substr(equals + 1);
      }
      process.environment_read = true;
    }
  }

  void join() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  fs::path proc_;
  std::map<std::int64_t, SeenProcess> seen_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
};

}  // namespace

std::unique_ptr<Collector> make_process_watch() { return std::make_unique<ProcessWatch>(); }

}  // namespace gradsync
