// How fast and in how much memory a big trace is imported, next to three peers on the same file in the same run: a bare
// windowed walk with simdjson that reads the same fields and keeps nothing, bare inflating, and Python's json.load.
//
//   kineto_read [MEGABYTES|FILE.json.gz [RUNS]]        default 200 5; the trace is generated in the temporary folder, or
//                                                      FILE is unpacked there, and removed
//
// Every run is a process of its own, so that its peak memory is its own. The file is in the page cache. "counted": the
// events are dropped; "timeline": they are kept, sorted, and steps looked for, as `analyze` does. CPU seconds are those
// of the whole process and hold on a busy machine, too. Targets: counted >= 60 % of the walk, .gz >= 70 % of the plain file,
// timeline <= 0.35 x the file + 32 MiB, counted <= 16 MiB of buffers whatever the size.
#include <fcntl.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "collectors/import/byte_source.h"
#include "collectors/import/kineto.h"
#include "src/timeline/builder.h"
#include "tests/support/sinks.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

struct Run {
  double seconds = 0;
  double cpu_seconds = 0;
  double peak_mb = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Like Kineto's own output: per launch an operator, a runtime call, an arrow and a kernel, over several lines each.
void write_trace(const fs::path& path, std::size_t bytes) {
  std::ofstream out(path, std::ios::binary);
  out << "{\n  \"schemaVersion\": 1,\n  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 8},\n"
         "  \"traceEvents\": [\n";
  std::size_t written = 0;
  for (std::uint64_t i = 0; written < bytes; ++i) {
    const std::uint64_t us = 4458676524648797 + 9 * i, fraction = i * 37 % 1000;
    const std::string launch = fmt::format(
        R"json(  {{
    "ph": "X", "cat": "cpu_op", "name": "aten::operator_{0}", "pid": 2910249, "tid": 2919752,
    "ts": {1}.{2:03}, "dur": 8.422,
    "args": {{
      "External id": {3}, "Record function id": 0, "Concrete Inputs": ["", "", "1"], "Input type": ["float", "float", "Scalar"], "Input Dims": [[128, 1024], [1024], []], "Ev Idx": {3}
    }}
  }},
  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 2910249, "tid": 2919752,
    "ts": {1}.{2:03}, "dur": 4.556,
    "args": {{
      "External id": {3}, "cbid": 211, "correlation": {3}
    }}
  }},
  {{
    "ph": "s", "id": {3}, "pid": 2910249, "tid": 2919752, "ts": {1}.{2:03},
    "cat": "ac2g", "name": "ac2g"
  }},
  {{
    "ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_{4}<float>, at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_{4}<float>)", "pid": 0, "tid": 7,
    "ts": {1}.{2:03}, "dur": 8.669,
    "args": {{
      "External id": {3}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {3}, "registers per thread": 96, "shared memory": 87568, "blocks per SM": 0.074074, "warps per SM": 1.259259, "grid": [8, 1, 1], "block": [544, 1, 1], "est. achieved occupancy %": 0
    }}
  }},
)json",
        i % 300, us, fraction, i, i % 100);
    out << launch;
    written += launch.size();
  }
  out << "  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\", \"pid\": \"\", \"tid\": \"\", \"ts\": "
         "1\n  }\n"
         "  ],\n  \"traceName\": \"generated\"\n}\n";
}

// Runs `work` in a child; its own time comes through a pipe, its peak memory from the kernel.
Run in_a_process(const std::function<double()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  const pid_t child = ::fork();
  if (child < 0) std::abort();
  if (child == 0) {
    const double seconds = work();
    const bool told = ::write(ends[1], &seconds, sizeof seconds) == sizeof seconds;
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  Run run;
  const bool told = ::read(ends[0], &run.seconds, sizeof run.seconds) == sizeof run.seconds;
  ::close(ends[0]);
  struct rusage usage {};
  int status = 0;
  ::wait4(child, &status, 0, &usage);
  if (!told || status != 0 || run.seconds < 0) {
    fmt::print(stderr, "a run failed\n");
    std::exit(1);
  }
  const auto in_seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  run.cpu_seconds = in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
  run.peak_mb = static_cast<double>(usage.ru_maxrss) / 1024;
  return run;
}

double import_once(const fs::path& path, EventSink& sink) {
  const auto start = std::chrono::steady_clock::now();
  ImportOptions options;
  options.process = ProcessInfo{};
  const Result<ImportStats> stats = import_kineto(path, options, sink);
  return stats && stats->lost == 0 ? seconds_since(start) : -1;
}

double count_once(const fs::path& path) {
  test::CountingSink sink;
  return import_once(path, sink);
}

double timeline_once(const fs::path& path) {
  const auto start = std::chrono::steady_clock::now();
  TimelineBuilder builder;
  if (import_once(path, builder) < 0) return -1;
  return builder.build().size() == 1 ? seconds_since(start) : -1;
}

double inflate_once(const fs::path& path) {
  const auto start = std::chrono::steady_clock::now();
  Result<ByteSource> source = ByteSource::open(path);
  if (!source) return -1;
  std::vector<char> buffer(std::size_t{1} << 20);
  while (source->read(buffer.data(), buffer.size()) == buffer.size()) {
  }
  return source->damage() == Damage::none ? seconds_since(start) : -1;
}

// What an import costs at least: the same fields are looked at, nothing is made of them.
class Walk {
 public:
  bool window(char* text, std::size_t length) {
    simdjson::ondemand::document document;
    simdjson::ondemand::array events;
    if (parser_.iterate(text, length, length + simdjson::SIMDJSON_PADDING).get(document)) return false;
    if (document.get_array().get(events)) return false;
    for (auto element : events) {
      simdjson::ondemand::object event;
      if (element.get_object().get(event) || !fields(event, 0)) return false;
    }
    return true;
  }
  std::uint64_t sum() const { return sum_; }

 private:
  bool fields(simdjson::ondemand::object object, int depth) {
    for (auto member : object) {
      simdjson::ondemand::field field;
      if (std::move(member).get(field)) return false;
      const std::string_view key(field.key().raw(), 2);
      simdjson::ondemand::value content = field.value();
      if (depth == 0 && key == "ar") {
        simdjson::ondemand::object arguments;
        if (!content.get_object().get(arguments) && !fields(arguments, 1)) return false;
      } else if (key == "ph" || key == "ca" || key == "na") {
        simdjson::ondemand::raw_json_string text;
        if (!content.get_raw_json_string().get(text)) sum_ += static_cast<unsigned char>(text.raw()[0]);
      } else if (key == "ts" || key == "du") {
        double microseconds = 0;
        if (!content.get_double().get(microseconds)) sum_ += static_cast<std::uint64_t>(microseconds);
      } else if (key == "pi" || key == "ti" || key == "st" || key == "de" || key == "co" || key == "by") {
        std::int64_t number = 0;
        if (!content.get_int64().get(number)) sum_ += static_cast<std::uint64_t>(number);
      }
    }
    return true;
  }

  simdjson::ondemand::parser parser_;
  std::uint64_t sum_ = 0;
};

double walk_once(const fs::path& path) {
  const auto start = std::chrono::steady_clock::now();
  constexpr std::size_t kWindow = std::size_t{1} << 20;
  std::vector<char> buffer(2 * kWindow + simdjson::SIMDJSON_PADDING);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::size_t held = 0;
  Walk walk;
  bool first = true, good = file >= 0;
  while (good) {
    const ssize_t got = ::read(file, buffer.data() + held, kWindow);
    if (got <= 0) break;
    held += static_cast<std::size_t>(got);
    const std::string_view text(buffer.data(), held);
    std::size_t begin = 0;
    if (first) begin = text.find("traceEvents\": [") + 14;
    const std::size_t cut = text.rfind("},\n  {");  // between two events, as this trace is written
    first = false;
    if (cut == std::string_view::npos || cut < begin) continue;
    buffer[begin] = '[';
    buffer[cut + 1] = ']';
    good = walk.window(buffer.data() + begin, cut + 2 - begin);
    held -= cut + 1;
    std::copy_n(buffer.data() + cut + 1, held, buffer.data());
  }
  ::close(file);
  return good && walk.sum() > 0 ? seconds_since(start) : -1;
}

// The interpreter replaces the child, so the peak is its own; it writes its time where the pipe expects it.
Run python_once(const fs::path& path) {
  const fs::path times = path.string() + ".seconds";
  const Run run = in_a_process([&] {
    const std::string code =
        "import json, sys, time; t = time.perf_counter(); json.load(open(sys.argv[1])); "
        "open(sys.argv[2], 'w').write(str(time.perf_counter() - t))";
    const pid_t python = ::fork();
    if (python == 0) {
      ::execlp("python3", "python3", "-c", code.c_str(), path.c_str(), times.c_str(), nullptr);
      ::_exit(127);
    }
    int status = 0;
    ::waitpid(python, &status, 0);
    double seconds = -1;
    std::ifstream(times) >> seconds;
    return status == 0 ? seconds : -1;
  });
  fs::remove(times);
  return run;
}

void print_row(const char* name, std::vector<Run> runs, double megabytes) {
  const auto rates = [&](double Run::*seconds) {
    std::vector<double> all;
    for (const Run& run : runs) all.push_back(megabytes / (run.*seconds));
    std::sort(all.begin(), all.end());
    return fmt::format("{:>6.0f} [{:>4.0f} {:>4.0f}]", all[all.size() / 2], all.front(), all.back());
  };
  double peak = 0;
  for (const Run& run : runs) peak = std::max(peak, run.peak_mb);
  fmt::print("{:<25} {:>18} {:>18} {:>3} {:>9.1f} {:>7.2f}\n", name, rates(&Run::seconds), rates(&Run::cpu_seconds),
             runs.size(), peak, peak * 1.048576 / megabytes);
}

int benchmark(const std::string& what, int runs) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("gsd-kineto-read-{}", ::getpid());
  fs::create_directory(folder);
  const fs::path plain = folder / "trace.json";
  fs::path packed = folder / "trace.json.gz";
  const int megabytes = std::atoi(what.c_str());
  bool has_gzip = true;
  if (megabytes > 0) {
    write_trace(plain, static_cast<std::size_t>(megabytes) * 1'000'000);
    has_gzip = std::system(fmt::format("gzip -c '{}' > '{}'", plain.string(), packed.string()).c_str()) == 0;
  } else {
    packed = what;
    if (std::system(fmt::format("gzip -dc '{}' > '{}'", packed.string(), plain.string()).c_str()) != 0) return 2;
  }
  const double size = static_cast<double>(fs::file_size(plain)) * 1e-6;

  fmt::print("{:.0f} MB of JSON, {:.0f} MB compressed. Rates: median [slowest fastest] of n.\n\n", size,
             has_gzip ? static_cast<double>(fs::file_size(packed)) * 1e-6 : 0);
  fmt::print("{:<25} {:>18} {:>18} {:>3} {:>9} {:>7}\n", "", "MB/s", "MB per CPU second", "n", "peak MiB", "/ file");
  const auto row = [&](const char* name, const std::function<Run()>& run) {
    std::vector<Run> all;
    for (int i = 0; i < runs; ++i) all.push_back(run());
    print_row(name, all, size);
  };
  const auto apart = [](double (*work)(const fs::path&), const fs::path& path) {
    return [work, &path] { return in_a_process([&] { return work(path); }); };
  };
  row("windowed walk", apart(walk_once, plain));
  row("import .json, counted", apart(count_once, plain));
  row("import .json, timeline", apart(timeline_once, plain));
  if (has_gzip) {
    row("inflating .json.gz", apart(inflate_once, packed));
    row("import .json.gz, counted", apart(count_once, packed));
  }
  if (size <= 500) row("python3 json.load", [&] { return python_once(plain); });  // five times the file in memory
  fs::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace gradsync

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "200";
  const int runs = argc > 2 ? std::atoi(argv[2]) : 5;
  if (what.empty() || runs < 1) {
    fmt::print(stderr, "usage: kineto_read [MEGABYTES|FILE.json.gz [RUNS]]\n");
    return 2;
  }
  return gradsync::benchmark(what, runs);
}
