#include "collectors/import/nccl_tests_json.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "collectors/import/byte_source.h"
#include "collectors/import/json_scan.h"
#include "collectors/import/nccl_lines.h"
#include "collectors/import/nccl_operation.h"
#include "src/base/statistics.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::size_t kLargestFile = std::size_t{1} << 28;
constexpr std::size_t kMostResults = 100000;

std::size_t skip(std::string_view text, std::size_t at, char separator) {
  while (at < text.size() && (is_json_space(text[at]) || text[at] == separator)) ++at;
  return at;
}

// Calls `member` with each key of the object and the text of its value, which of the last one may be cut.
// False: the object does not end.
bool each_member(std::string_view text, const std::function<void(std::string_view, std::string_view)>& member) {
  std::size_t at = skip(text, 0, ' ');
  if (at >= text.size() || text[at] != '{') return false;
  for (++at;;) {
    at = skip(text, at, ',');
    if (at >= text.size()) return false;
    if (text[at] == '}') return true;
    const Scan key = scan_value(text.substr(at));
    if (text[at] != '"' || key.state != ScanState::complete) return false;
    const std::string_view name = text.substr(at + 1, key.length - 2);
    at = skip(text, at + key.length, ':');
    const Scan value = scan_value(text.substr(at));
    member(name, value.state == ScanState::complete ? text.substr(at, value.length) : text.substr(at));
    if (value.state != ScanState::complete) return false;
    at += value.length;
  }
}

// Calls `item` with each whole element of the list. False: the list does not end.
bool each_element(std::string_view text, const std::function<void(std::string_view)>& item) {
  std::size_t at = skip(text, 0, ' ');
  if (at >= text.size() || text[at] != '[') return false;
  for (++at;;) {
    at = skip(text, at, ',');
    if (at >= text.size()) return false;
    if (text[at] == ']') return true;
    const Scan value = scan_value(text.substr(at));
    if (value.state != ScanState::complete) return false;
    item(text.substr(at, value.length));
    at += value.length;
  }
}

double number(const object& from, std::string_view key) {
  double value = 0;
  return from[key].get(value) == simdjson::SUCCESS && std::isfinite(value) ? value : kUnknownNumber;
}

std::string text_of(const object& from, std::string_view key) {
  std::string_view value;
  return from[key].get(value) == simdjson::SUCCESS ? std::string(value.substr(0, 256)) : "";
}

class Reader {
 public:
  NcclTestsJson read(std::string_view text) {
    found_.cut = !each_member(text, [&](std::string_view key, std::string_view value) { member(key, value); });
    for (SweepRow& row : found_.run.rows)
      if (!(row.n > 0)) row.n = std::isfinite(found_.run.iterations) ? found_.run.iterations : 1;
    // A device is listed for each process; each of its threads has as many GPUs.
    const double ranks = devices_ * threads_ * gpus_;
    if (ranks >= 1 && ranks < 1e9) found_.run.ranks = shape_.ranks = ranks;
    if (!hosts_.empty()) found_.run.nodes = static_cast<double>(hosts_.size());
    name_operation();
    return std::move(found_);
  }

 private:
  std::optional<object> parse(std::string_view text) {
    object parsed;
    if (parser_.parse(text.data(), text.size()).get(parsed) != simdjson::SUCCESS) return std::nullopt;
    return parsed;
  }

  void member(std::string_view key, std::string_view value) {
    if (key == "args") {
      each_element(value, [&](std::string_view argument) {
        if (program_.empty()) program_ = operation_in_command(argument);
      });
    } else if (key == "nccl_version") {
      found_.version = nccl_version_from(std::strtod(value_text(value).c_str(), nullptr));
    } else if (key == "config") {
      each_member(value, [&](std::string_view name, std::string_view of) {
        if (name == "iterations") found_.run.iterations = std::strtod(value_text(of).c_str(), nullptr);
        if (name == "nthreads") threads_ = std::strtod(value_text(of).c_str(), nullptr);
        if (name == "ngpus") gpus_ = std::strtod(value_text(of).c_str(), nullptr);
        if (name == "devices") each_element(of, [&](std::string_view device) { add_device(device); });
      });
    } else if (key == "results") {
      each_element(value, [&](std::string_view result) { add_result(result); });
    } else if (key == "out_of_bounds") {
      if (const auto count = parse(value)) found_.run.out_of_bounds = number(*count, "count");
    } else if (key.starts_with("average_bus_bandwi")) {  // the first versions wrote bandwidith
      const auto average = parse(value);
      if (average) found_.run.average_busbw = number(*average, "bandwidth");
      if (average && std::isnan(found_.run.average_busbw)) found_.run.average_busbw = number(*average, "bandwidith");
    }
  }

  static std::string value_text(std::string_view value) { return std::string(value.substr(0, 32)); }

  void add_device(std::string_view text) {
    const auto device = parse(text);
    if (!device) return;
    ++devices_;
    hosts_.insert(text_of(*device, "hostname"));
    if (found_.gpu.empty()) found_.gpu = text_of(*device, "device_info");
  }

  void add_result(std::string_view text) {
    const auto result = parse(text);
    const double size = result ? number(*result, "size") : kUnknownNumber;
    if (!(size >= 0) || size > 9e18 || found_.run.rows.size() >= kMostResults) {
      ++found_.broken;
      return;
    }
    const std::string redop = text_of(*result, "redop"), root = text_of(*result, "root");
    shape_.redop = redop == "none" || redop.empty() ? RedopCells::none : RedopCells::named;
    shape_.has_root = root.find('-') == std::string::npos && !trim(root).empty();
    if (program_.empty()) program_ = operation_of_program(text_of(*result, "experiment_name"));
    for (const char* const place : {"out", "in"}) add_place(*result, size, place);
  }

  void add_place(const object& result, double size, const char* place) {
    const std::string key = std::string(place) == "out" ? "out_of_place" : "in_place";
    object cells;
    if (result[key].get(cells) != simdjson::SUCCESS) return;
    SweepRow row;
    row.bytes = static_cast<std::int64_t>(size);
    row.count = number(result, "count");
    row.type = text_of(result, "type");
    row.n = number(result, "actual_iterations");
    row.place = place;
    row.p50_us = number(cells, "time");
    row.algbw = number(cells, "alg_bw");
    row.busbw = number(cells, "bus_bw");
    row.wrong = number(cells, "nwrong");
    object each;
    if (result[key + "_per_iter"].get(each) == simdjson::SUCCESS) add_iterations(each, row);
    if (row.busbw > largest_busbw_ && row.algbw >= 0.5) {
      largest_busbw_ = row.busbw;
      shape_.busbw_over_algbw = row.busbw / row.algbw;
    }
    found_.run.rows.push_back(std::move(row));
  }

  // -I 1: the time of every iteration, of which the first `skipped_iterations` are not in the test's own summary.
  static void add_iterations(const object& each, SweepRow& row) {
    simdjson::dom::array list;
    if (each["times_us"].get(list) != simdjson::SUCCESS) return;
    const double skipped = number(each, "skipped_iterations");
    std::vector<double> times;
    double place = 0;
    for (const element time : list) {
      double us = 0;
      if (place++ >= (skipped > 0 ? skipped : 0) && time.get(us) == simdjson::SUCCESS && std::isfinite(us))
        times.push_back(us);
    }
    if (times.empty()) return;
    row.n = static_cast<double>(times.size());
    row.p10_us = *quantile(times, 0.1);
    row.p50_us = *quantile(times, 0.5);
    row.p90_us = *quantile(times, 0.9);
    row.p99_us = *quantile(times, 0.99);
  }

  void name_operation() {
    const std::vector<std::string> possible = possible_operations(shape_);
    if (!program_.empty()) {
      found_.run.operation = program_;
      found_.run.operation_from = "printed";
    } else if (possible.size() == 1) {
      found_.run.operation = possible.front();
      found_.run.operation_from = "columns and ratio of the bandwidths";
    } else {
      found_.run.operation_from = "could be " + join(possible, ", ");
    }
  }

  simdjson::dom::parser parser_;
  NcclTestsJson found_;
  TableShape shape_;
  double largest_busbw_ = 0, devices_ = 0, threads_ = 0, gpus_ = 0;
  std::string program_;
  std::set<std::string> hosts_;
};

}  // namespace

bool is_nccl_tests_json(std::string_view head) {
  const std::string_view text = trim(head);
  if (text.empty() || text.front() != '{' || head.find("\"nccl_version\"") == std::string_view::npos) return false;
  const bool config = head.find("\"minimum_bytes\"") != std::string_view::npos;
  return config || head.find("\"out_of_place\"") != std::string_view::npos;
}

NcclTestsJson read_nccl_tests_json(std::string_view text) { return Reader().read(text); }

Result<Imported> import_nccl_tests_json(const ImportRequest& request, EventSink&) {
  Result<ByteSource> source = ByteSource::open(request.path);
  if (!source) return source.error();
  std::string text;
  constexpr std::size_t kStep = std::size_t{1} << 20;
  for (std::size_t size = 0;; size = text.size()) {
    text.resize(size + kStep);
    const std::size_t more = source->read(text.data() + size, kStep);
    text.resize(size + more);
    if (more < kStep) break;
    if (text.size() > kLargestFile)
      return Error{"cannot be read", request.path.string(), "more than 256 MiB of nccl-tests JSON", "", 3};
  }
  NcclTestsJson found = read_nccl_tests_json(text);
  if (found.run.rows.empty())
    return Error{"holds no measurement", request.path.string(),
                 "its list of results is empty or cut before the first one",
                 "nccl-tests writes a result for each size: run it again", 3};
  found.run.source = request.path.filename().string();
  Imported imported;
  add_run(found.run, imported.series);
  if (!found.version.empty()) imported.facts["nccl.version"] = found.version;
  if (!found.gpu.empty()) imported.facts["nccl.gpu"] = escape_controls(found.gpu);
  if (found.run.ranks > 0) imported.facts["nccl.ranks"] = std::to_string(static_cast<std::int64_t>(found.run.ranks));
  if (found.run.nodes > 0) imported.facts["nccl.nodes"] = std::to_string(static_cast<std::int64_t>(found.run.nodes));
  std::vector<std::string> remarks;
  if (found.cut) remarks.emplace_back("it ends before the test did");
  if (found.broken > 0) remarks.push_back(std::to_string(found.broken) + " results cannot be read");
  if (found.run.operation == "unknown")
    remarks.push_back("the operation is not named and " + found.run.operation_from +
                      ": it is in the series sweep.unknown");
  if (source->damage() != Damage::none) remarks.emplace_back(to_string(source->damage()));
  imported.coverage.lost = found.broken;
  if (!remarks.empty()) {
    imported.coverage.state = CoverageState::partial;
    imported.coverage.reason = join(remarks, "; ");
  }
  return imported;
}

}  // namespace gradsync
