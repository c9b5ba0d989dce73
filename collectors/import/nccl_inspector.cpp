#include "collectors/import/nccl_inspector.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "collectors/import/byte_source.h"
#include "collectors/import/collective.h"
#include "collectors/import/json_scan.h"
#include "collectors/import/nccl_sweep.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr std::int64_t kMostDistinct = 4'000'000;  // (operation, size, ranks, µs): about 200 MB
constexpr std::size_t kMostNames = 1024;
constexpr std::size_t kStep = std::size_t{1} << 20, kLongestRecord = std::size_t{1} << 24;

// Quantile of counted values by linear interpolation between order statistics, as statistics.h has it for a sample.
double quantile_of(const std::map<std::int64_t, std::int64_t>& counts, std::int64_t n, double q) {
  const double rank = q * static_cast<double>(n - 1);
  const auto low = static_cast<std::int64_t>(std::floor(rank));
  std::int64_t seen = 0;
  for (auto at = counts.begin(); at != counts.end(); ++at) {
    seen += at->second;
    if (low >= seen) continue;
    const auto value = static_cast<double>(at->first);
    const auto next = std::next(at);
    if (low + 1 < seen || next == counts.end()) return value;
    return value + (rank - static_cast<double>(low)) * (static_cast<double>(next->first) - value);
  }
  return kUnknownNumber;
}

std::int64_t whole(const simdjson::dom::object& from, std::string_view key) {
  std::int64_t value = 0;
  if (from[key].get(value) == simdjson::SUCCESS) return value;
  double real = 0;  // other writers than NVIDIA's may give fractions
  return from[key].get(real) == simdjson::SUCCESS && real >= 0 && real < 9e15 ? std::llround(real) : -1;
}

double number(const simdjson::dom::object& from, std::string_view key) {
  double value = 0;
  return from[key].get(value) == simdjson::SUCCESS && std::isfinite(value) ? value : 0;
}

std::string text_of(const simdjson::dom::object& from, std::string_view key) {
  std::string_view value;
  return from[key].get(value) == simdjson::SUCCESS ? std::string(value.substr(0, 128)) : "";
}

}  // namespace

struct InspectorRecords::Parser {
  simdjson::dom::parser json;
};

InspectorRecords::InspectorRecords() : parser_(std::make_unique<Parser>()) {}
InspectorRecords::~InspectorRecords() = default;

// A process that was killed leaves half a record. The next one begins with a line of its own: the last that had begun
// before it was clear that something is wrong, or the one behind.
std::size_t InspectorRecords::add(std::string_view text, More more) {
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && (is_json_space(text[at]) || text[at] == ',')) ++at;
    if (at == text.size()) return at;
    const Scan found = text[at] == '{' ? scan_value(text.substr(at)) : Scan{ScanState::broken, 0};
    if (found.state == ScanState::complete) {
      record(text.substr(at, found.length));
      at += found.length;
      continue;
    }
    if (found.state == ScanState::unfinished && more == More::may_come) return at;
    if (!lost_the_way_) ++broken_;
    lost_the_way_ = true;
    if (found.state == ScanState::unfinished) return text.size();
    const std::size_t wrong = at + found.length;
    const std::size_t begun = text.substr(0, wrong).rfind('\n');
    const std::size_t next = begun != std::string_view::npos && begun > at ? begun : text.find('\n', wrong);
    if (next == std::string_view::npos) return text.size();
    at = next + 1;
  }
}

void InspectorRecords::record(std::string_view text) {
  simdjson::dom::object whole_record, perf, header;
  if (parser_->json.parse(text.data(), text.size()).get(whole_record) != simdjson::SUCCESS) {
    ++broken_;
    return;
  }
  const bool collective = whole_record["coll_perf"].get(perf) == simdjson::SUCCESS;
  if (!collective && whole_record["p2p_perf"].get(perf) != simdjson::SUCCESS) {
    ++broken_;
    return;
  }
  const std::string prefix = collective ? "coll" : "p2p";
  const std::string name = text_of(perf, prefix);
  const std::int64_t bytes = whole(perf, prefix + "_msg_size_bytes"), us = whole(perf, prefix + "_exec_time_us");
  if (name.empty() || bytes < 0 || us < 0) {
    ++broken_;
    return;
  }
  ++records_;
  lost_the_way_ = false;
  Key key;
  key.operation = canonical_collective(name);
  if (key.operation.empty()) key.operation = "unknown";
  key.bytes = bytes;
  if (whole_record["header"].get(header) == simdjson::SUCCESS) {
    key.ranks = std::max<std::int64_t>(0, whole(header, "n_ranks"));
    nodes_ = std::max(nodes_, whole(header, "nnodes"));
    ranks_ = std::max(ranks_, key.ranks);
  }
  simdjson::dom::object metadata;
  if (whole_record["metadata"].get(metadata) == simdjson::SUCCESS && hosts_.size() < kMostNames)
    hosts_.insert(escape_controls(text_of(metadata, "hostname")));
  if (const std::string source = text_of(perf, prefix + "_timing_source"); !source.empty() && sources_.size() < 8)
    sources_.insert(escape_controls(source));
  if (distinct_ >= kMostDistinct) {
    ++dropped_;
    return;
  }
  Times& times = times_[key];
  if (++times.us[us] == 1) ++distinct_;
  ++times.n;
  const double algbw = number(perf, prefix + "_algobw_gbs"), busbw = number(perf, prefix + "_busbw_gbs");
  if (algbw > 0 && busbw > 0) {
    times.algbw += algbw;
    times.busbw += busbw;
  }
}

void InspectorRecords::report(const std::string& source, SeriesSet& series, Facts& facts) const {
  for (const auto& [key, times] : times_) {
    SweepRow row;
    row.bytes = key.bytes;
    row.n = static_cast<double>(times.n);
    row.p10_us = quantile_of(times.us, times.n, 0.1);
    row.p50_us = quantile_of(times.us, times.n, 0.5);
    row.p90_us = quantile_of(times.us, times.n, 0.9);
    row.p99_us = quantile_of(times.us, times.n, 0.99);
    row.place = "job";
    // At the median time; the ratio of the two bandwidths is the formula of the operation.
    if (row.p50_us > 0) row.algbw = static_cast<double>(key.bytes) / row.p50_us / 1e3;
    if (times.algbw > 0) row.busbw = row.algbw * times.busbw / times.algbw;
    const double ranks = key.ranks > 0 ? static_cast<double>(key.ranks) : kUnknownNumber;
    sweep_series(series, "inspector." + key.operation).rows.push_back(sweep_cells(row, source, ranks));
  }
  const auto tell = [&](const char* name, const std::set<std::string>& values) {
    std::vector<std::string> some(values.begin(), values.end());
    some.erase(std::remove(some.begin(), some.end(), ""), some.end());
    if (some.size() > 16) some.resize(16);
    if (!some.empty()) facts[name] = join(some, ", ");
  };
  tell("nccl.hosts", hosts_);
  tell("inspector.timing", sources_);
  if (ranks_ > 0) facts["nccl.ranks"] = std::to_string(ranks_);
  if (nodes_ > 0) facts["nccl.nodes"] = std::to_string(nodes_);
}

bool is_nccl_inspector(std::string_view head) {
  const std::string_view text = trim(head);
  if (text.empty() || text.front() != '{') return false;
  const Scan first = scan_value(text);
  const std::string_view record = text.substr(0, first.state == ScanState::complete ? first.length : text.size());
  for (const std::string_view key : {"\"coll_perf\"", "\"p2p_perf\""})
    if (record.find(key) != std::string_view::npos && record.find("\"header\"") != std::string_view::npos) return true;
  return false;
}

Result<Imported> import_nccl_inspector(const ImportRequest& request, EventSink&) {
  Result<ByteSource> source = ByteSource::open(request.path);
  if (!source) return source.error();
  InspectorRecords records;
  std::string text;
  while (true) {
    const std::size_t before = text.size();
    text.resize(before + kStep);
    const std::size_t more = source->read(text.data() + before, kStep);
    text.resize(before + more);
    const bool last = more < kStep || text.size() > kLongestRecord;
    text.erase(0, records.add(text, last ? InspectorRecords::More::none : InspectorRecords::More::may_come));
    if (more < kStep) break;
  }
  if (records.records() == 0)
    return Error{"holds no measurement", request.path.string(), "none of its records has a size and a time", "", 3};
  Imported imported;
  records.report(request.path.filename().string(), imported.series, imported.facts);
  std::vector<std::string> remarks;
  if (records.broken() > 0) remarks.push_back(std::to_string(records.broken()) + " records are cut or broken");
  if (records.dropped() > 0) remarks.push_back(std::to_string(records.dropped()) + " records are too many to keep");
  if (source->damage() != Damage::none) remarks.emplace_back(to_string(source->damage()));
  imported.coverage.lost = records.broken() + records.dropped();
  if (!remarks.empty()) {
    imported.coverage.state = CoverageState::partial;
    imported.coverage.reason = join(remarks, "; ");
  }
  return imported;
}

}  // namespace gradsync
