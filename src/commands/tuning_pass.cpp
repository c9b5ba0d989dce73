#include "src/commands/tuning_pass.h"

#include <algorithm>
#include <chrono>
#include <fstream>

#include "collectors/fabric/sockets.h"
#include "src/base/environment.h"
#include "src/base/file.h"
#include "src/base/quiet_process.h"
#include "src/base/temporary_folder.h"
#include "src/base/text.h"
#include "src/commands/foreign_files.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr double kSmaller = 0.5;  // than what was asked for
constexpr std::chrono::milliseconds kCallsOfEachSize = std::chrono::seconds(60);

// "address port" of rank 0's pass; empty elsewhere, and when no port is free.
std::string meeting_point(const FabricPlace& place) {
  if (place.rank != 0) return "";
  const Result<Listener> listener = listen_on(ListenOn::every_address, 0);  // free again when this returns
  return listener ? place.address + " " + std::to_string(listener->port) : "";
}

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

void TuningPass::no_answer(const std::string& why) {
  coverage_.push_back({"NCCL's algorithm and protocol of each size", "", CoverageState::unavailable, why,
                       "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING with nccl-tests, then sweep --from LOG", 0});
}

void TuningPass::run(const FabricPlace& place, RankStore& store) {
  const Result<std::vector<std::string>> words = store.exchange("tuning", meeting_point(place), place.timeout_ms);
  if (!words) return;  // the session meets the same trouble next, and tells it
  const std::string& point = words->front();
  const std::size_t gap = point.find(' ');
  if (gap == std::string::npos) return no_answer("no port is free for a second meeting of the ranks");
  ask(place, point.substr(0, gap), point.substr(gap + 1));
}

std::vector<std::string> TuningPass::arguments(const FabricPlace& place) const {
  std::vector<std::string> operations, sizes;
  for (const FabricOperation operation : task_.operations) operations.emplace_back(to_string(operation));
  for (const std::int64_t bytes : task_.sizes) sizes.push_back(std::to_string(bytes));
  std::vector<std::string> words = {"/proc/self/exe", "sweep",
                                    "--once",         "--no-save",
                                    "--backend",      "nccl",
                                    "--op",           join(operations, ","),
                                    "--type",         to_string(task_.type),
                                    "--min",          sizes.front(),
                                    "--max",          sizes.front(),
                                    "--sizes",        join(sizes, ","),
                                    "--timeout",      std::to_string(task_.timeout_ms) + "ms"};
  if (!place.interface_name.empty()) words.insert(words.end(), {"--interface", place.interface_name});
  return words;
}

void TuningPass::ask(const FabricPlace& place, const std::string& address, const std::string& port) {
  const Result<TemporaryFolder> folder = TemporaryFolder::make("gsd-tuning");
  if (!folder) return no_answer(folder.error().message());
  const std::string log = folder->file("nccl.log"), errors = folder->file("errors");
  std::ofstream(errors).close();
  auto environment = own_environment();
  environment["RANK"] = std::to_string(place.rank);
  environment["WORLD_SIZE"] = std::to_string(place.ranks);
  environment["MASTER_ADDR"] = address;
  environment["GSD_SWEEP_PORT"] = port;
  if (place.rank == 0) {
    environment["NCCL_DEBUG"] = "INFO";
    environment["NCCL_DEBUG_SUBSYS"] = "TUNING";
    environment["NCCL_DEBUG_FILE"] = log;
  }
  const std::chrono::milliseconds limit = std::chrono::milliseconds(task_.timeout_ms) + kCallsOfEachSize;
  const std::string trouble = run_quietly({arguments(place), environment, limit, &stop_, errors});
  if (place.rank != 0) return;
  if (trouble.empty()) return read_log(log);
  const std::string said = first_line_of(errors);
  no_answer(said.empty() ? trouble : said);
}

void TuningPass::read_log(const std::string& path) {
  Result<ForeignJob> read = read_foreign_files({path}, {}, 1);
  if (!read) return no_answer("NCCL did not tell");
  const auto found = read->inputs.series.find("nccl_choices");
  if (found == read->inputs.series.end()) return no_answer("NCCL did not tell");
  const SeriesTable table(found->second);
  Series asked{"nccl_choices", found->second.columns, {}};
  for (const auto& row : table.rows()) {
    const auto operation = fabric_operation(table.text(row, "operation"));
    const bool swept = operation && std::count(task_.operations.begin(), task_.operations.end(), *operation) > 0;
    // The ranks' own word of a few bytes is an all-reduce, too.
    if (swept && table.number(row, "bytes").value_or(0) > kSmaller * static_cast<double>(task_.sizes.front()))
      asked.rows.push_back(row);
  }
  if (asked.rows.empty()) return no_answer("NCCL did not tell");
  choices_ = std::move(asked);
}

}  // namespace gradsync
