#include "collectors/import/nccl_tests_log.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostNames = 4096;  // hosts, GPUs

// The number behind `key` ("iters: 20", "nThread 1"); NaN when it is not there.
double number_behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.rfind(key);
  if (at == std::string_view::npos) return kUnknownNumber;
  const std::vector<std::string_view> words = split_words(text.substr(at + key.size(), 64));
  return words.empty() ? kUnknownNumber : table_number(words[0]);
}

std::string_view word_behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::vector<std::string_view> words = split_words(text.substr(at + key.size()));
  return words.empty() ? std::string_view{} : words[0];
}

// The end of a row's piece that is glued to a host's name: "-1node3" → "-1", "0mew0" → "0".
std::string_view number_prefix(std::string_view text) {
  double ignored = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), ignored);
  return failed == std::errc{} ? text.substr(0, static_cast<std::size_t>(end - text.data())) : std::string_view{};
}

}  // namespace

void NcclTestsLog::interrupted(const NcclLine& line) {
  if (trim(line.before).empty() || !layout_) return;
  std::string piece(line.before);
  piece += number_prefix(line.host);
  this->line(piece);
}

void NcclTestsLog::line(std::string_view text) {
  const std::string_view bare = trim(text);
  if (bare.empty()) return;
  if (auto layout = table_layout(text, line_before_)) {
    take_row();
    if (!now_.run.rows.empty()) end_run();
    start_run();
    saw_table_ = header_just_read_ = true;
    if (std::any_of(layout->groups.begin(), layout->groups.end(),
                    [](const auto& group) { return group.front().name == "cputime"; }))
      ++cpu_time_;
    layout_ = std::move(layout);
    return;
  }
  if (header_just_read_) {
    layout_->unit = time_unit(text);
    header_just_read_ = false;
    if (layout_->unit != TimeUnit::unknown) return;
  }
  if (layout_ && row_.pending() && row_.add(text)) {
    if (row_.complete(*layout_)) take_row();
    return;
  }
  if (layout_ && bare.front() != '#') {
    TableRow row;
    if (row.begin(text, *layout_)) {
      take_row();
      row_ = std::move(row);
      if (row_.complete(*layout_)) take_row();
      return;
    }
  }
  line_before_.assign(text.substr(0, 512));
  const std::size_t hash = text.find('#');
  if (hash != std::string_view::npos && hash <= 64)
    comment(trim(text.substr(hash + 1)));
  else if (std::string operation = operation_in_command(text); !operation.empty())
    command_ = std::move(operation);
}

// A command line belongs to the run that begins after it: the next one may be told before this one is known to be over.
void NcclTestsLog::start_run() {
  if (now_.started) return;
  now_.started = true;
  now_.command.swap(command_);
}

void NcclTestsLog::comment(std::string_view text) {
  const auto begins = [&](std::string_view with) { return text.starts_with(with); };
  if (begins("Out of bounds values")) {
    take_row();
    now_.run.out_of_bounds = number_behind(text, ":");
    now_.ended = true;
  } else if (begins("Avg bus bandwidth")) {
    take_row();
    now_.run.average_busbw = number_behind(text, ":");
    now_.ended = true;
  } else if (begins("nThread ") || begins("nccl-tests version") || begins("Collective test starting")) {
    settings(text);
  } else if (begins("Rank ") || begins("Device ")) {
    device(text);
  }
}

void NcclTestsLog::settings(std::string_view text) {
  take_row();
  if (!now_.run.rows.empty() || now_.ended || now_.ranks > 0) end_run();
  start_run();
  if (text.starts_with("nccl-tests")) {
    const std::string version = nccl_version_from(number_behind(text, "nccl-library="));
    if (!version.empty() && versions_.size() < kMostNames) versions_.insert(version);
  } else if (text.starts_with("Collective")) {
    now_.program = operation_of_program(word_behind(text, ":"));
  } else {
    now_.run.iterations = number_behind(text.substr(0, text.find(" agg iters:")), " iters:");
    now_.validated = number_behind(text, "validation:");
  }
}

// "Rank  3 Group  0 Pid 7 on node0 device 1 [0000:65:00] NVIDIA A100", "Device  0 ->  0 [0x0a] GeForce"
void NcclTestsLog::device(std::string_view text) {
  if (!now_.run.rows.empty()) end_run();
  ++now_.ranks;
  const std::string_view host = word_behind(text, " on ");
  if (!host.empty() && text.starts_with("Rank") && now_.hosts.size() < kMostNames) now_.hosts.emplace(host);
  const std::size_t bracket = text.find("] ");
  if (bracket != std::string_view::npos && gpus_.size() < kMostNames)
    gpus_.emplace(trim(text.substr(bracket + 2, 128)));
}

void NcclTestsLog::take_row() {
  if (!layout_ || !row_.pending()) return;
  const bool whole = row_.complete(*layout_);
  const auto line = row_.take(*layout_);
  if (!whole && (!line || !line->in.present)) ++rows_lost_;
  if (!line) return;
  if (rows_ >= kMostRows) {
    ++rows_lost_;
    return;
  }
  const bool column = layout_->has("redop") || layout_->has("op");
  now_.shape.redop = !column                 ? RedopCells::no_column
                     : line->redop.empty()   ? RedopCells::blank
                     : line->redop == "none" ? RedopCells::none
                                             : RedopCells::named;
  now_.shape.has_root = !line->root.empty() && line->root.front() != '-';
  const char* const only = layout_->groups.size() == 2 ? "out" : "";
  if (line->out.present) add_cells(*line, line->out, only);
  if (line->in.present) add_cells(*line, line->in, "in");
}

void NcclTestsLog::add_cells(const TableLine& line, const TableCells& cells, const char* place) {
  if (!std::isfinite(cells.time) && !std::isfinite(cells.algbw) && !std::isfinite(cells.busbw)) {
    ++rows_without_numbers_;
    return;
  }
  SweepRow row;
  row.bytes = line.bytes;
  row.count = static_cast<double>(line.count);
  row.type = line.type;
  row.place = place;
  row.algbw = cells.algbw;
  row.busbw = cells.busbw;
  row.p99_us = cells.p99;
  row.wrong = cells.wrong;
  double unit = layout_->unit == TimeUnit::microseconds ? 1 : layout_->unit == TimeUnit::milliseconds ? 1000 : 0;
  if (unit == 0 && cells.algbw > 0.1 && cells.time > 0) {
    // Tables of NCCL 1 name no unit: the one in which bytes over time is the bandwidth beside it.
    const double ratio = static_cast<double>(line.bytes) / (cells.time * 1e3) / cells.algbw;
    unit = std::fabs(ratio - 1) < 0.1 ? 1 : std::fabs(ratio / 1000 - 1) < 0.1 ? 1000 : 0;
  }
  if (unit > 0) row.p50_us = cells.time * unit;
  if (cells.busbw > now_.largest_busbw && cells.algbw >= 0.5) {
    now_.largest_busbw = cells.busbw;
    now_.shape.busbw_over_algbw = cells.busbw / cells.algbw;
  }
  now_.errors.push_back(cells.error);
  now_.run.rows.push_back(std::move(row));
  ++rows_;
}

void NcclTestsLog::end_run() {
  Pending run;
  std::swap(run, now_);
  layout_.reset();
  if (run.run.rows.empty()) {
    if (run.ranks > 0 || !run.program.empty()) ++empty_;
    return;
  }
  run.run.source = file_name_ + (runs_.empty() ? "" : " run " + std::to_string(runs_.size() + 1));
  if (run.ranks > 0) run.run.ranks = run.shape.ranks = static_cast<double>(run.ranks);
  if (!run.hosts.empty()) run.run.nodes = static_cast<double>(run.hosts.size());
  for (std::size_t i = 0; i < run.run.rows.size(); ++i) {
    SweepRow& row = run.run.rows[i];
    if (std::isfinite(run.run.iterations)) row.n = run.run.iterations;
    // Older versions print an error of each row and count the rows that exceed their limit.
    if (run.run.out_of_bounds == 0 && std::isfinite(run.errors[i])) row.wrong = 0;
  }
  const bool checked = std::any_of(run.errors.begin(), run.errors.end(), [](double e) { return std::isfinite(e); }) ||
                       std::any_of(run.run.rows.begin(), run.run.rows.end(),
                                   [](const SweepRow& row) { return std::isfinite(row.wrong); });
  if (run.run.out_of_bounds == 0 && (!checked || run.validated == 0)) run.run.out_of_bounds = kUnknownNumber;
  const std::vector<std::string> possible = possible_operations(run.shape);
  const std::string named = operation_in_file_name(file_name_);
  if (!run.program.empty()) {
    run.run.operation = run.program;
    run.run.operation_from = "printed";
  } else if (!run.command.empty()) {
    run.run.operation = run.command;
    run.run.operation_from = "command line in the log";
  } else if (possible.size() == 1) {
    run.run.operation = possible.front();
    run.run.operation_from = "columns and ratio of the bandwidths";
  } else if (std::find(possible.begin(), possible.end(), named) != possible.end()) {
    run.run.operation = named;
    run.run.operation_from = "file name";
  } else {
    run.run.operation_from = "could be " + join(possible, ", ");
  }
  if (!run.ended) ++unended_;
  runs_.push_back(std::move(run.run));
}

void NcclTestsLog::finish() {
  take_row();
  end_run();
}

std::string NcclTestsLog::version() const { return versions_.empty() ? "" : *versions_.rbegin(); }

std::vector<std::string> NcclTestsLog::remarks() const {
  std::vector<std::string> said;
  const auto say = [&](std::int64_t count, const std::string& what) {
    if (count > 0) said.push_back(std::to_string(count) + " " + what);
  };
  say(unended_, "of " + std::to_string(runs_.size()) + " runs without its closing lines: it is cut, or still ran");
  say(empty_, "more runs ended before the first row of their tables");
  for (const SweepRun& run : runs_)
    if (run.operation == "unknown") {
      said.push_back("the operation is not printed and " + run.operation_from + ": it is in the series sweep.unknown");
      break;
    }
  say(rows_lost_, "rows are cut or broken");
  say(rows_without_numbers_, "cells of time and bandwidth hold no numbers");
  say(cpu_time_, "tables hold CPU time (-C), which is not the time of the collective");
  return said;
}

}  // namespace gradsync
