#include "collectors/import/nsys_format.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "collectors/import/find_rank.h"
#include "collectors/import/nsys_importer.h"
#include "src/model/loss.h"

namespace gradsync {
namespace {

constexpr std::size_t kLookBytes = std::size_t{1} << 20;

Error unusable(const ImportRequest& request, std::string why, std::string hint) {
  return {"cannot be analysed", request.path.string(), std::move(why), std::move(hint), 3};
}

// Tables without kernels and ranges are those of another database, or of an export of something else.
Error nothing_usable(const ImportRequest& request, const NsysDatabase& database) {
  const bool nsys = database.has("StringIds") || database.has("META_DATA_EXPORT") || database.has(kNvtxTable) ||
                    database.has(kKernelTable);
  if (!nsys)
    return unusable(request, "it is an SQLite database without the tables of Nsight Systems",
                    "nsys export --type sqlite makes one from a .nsys-rep");
  return unusable(request, "it holds neither GPU kernels nor NVTX ranges",
                  "record with nsys profile --trace=cuda,nvtx, then nsys export --type sqlite");
}

struct Environment {
  std::optional<int> rank;
  std::string world_size;
};

// Rows of META_DATA_CAPTURE: PROCESS_0:ENVIRONMENT_VARIABLE, RANK="3". It is that of the command which nsys started.
Environment read_environment(const NsysDatabase& database) {
  constexpr std::array<std::string_view, 2> columns{"name", "value"};
  Environment environment;
  NsysRows rows = database.rows("META_DATA_CAPTURE", columns);
  while (rows.next()) {
    if (!rows.text(0).ends_with(":ENVIRONMENT_VARIABLE")) continue;
    const std::string_view text = rows.text(1);
    const auto number = [text](std::string_view name) -> std::optional<std::int64_t> {
      if (!text.starts_with(name)) return std::nullopt;
      std::string_view digits = text.substr(name.size());
      if (digits.starts_with('"')) digits.remove_prefix(1);
      std::int64_t value = 0;
      const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      return parsed.ec == std::errc{} ? std::optional(value) : std::nullopt;
    };
    if (const auto rank = number("RANK=")) environment.rank = valid_rank(rank);
    if (const auto size = number("WORLD_SIZE="); size && *size > 0) environment.world_size = std::to_string(*size);
  }
  // Some containers say RANK=0 and WORLD_SIZE=1 to every process of a job: that is no rank.
  if (environment.world_size.empty() || environment.world_size == "1") return {};
  return environment;
}

// CUDA's number of a device → its name.
std::string gpu_name(const NsysDatabase& database, std::int64_t device) {
  constexpr std::array<std::string_view, 3> columns{"id", "cuDevice", "name"};
  std::string by_id;
  NsysRows rows = database.rows("TARGET_INFO_GPU", columns);
  while (rows.next()) {
    if (rows.integer(1) == device) return clean_text(rows.text(2));
    if (rows.integer(0) == device && !rows.integer(1)) by_id = clean_text(rows.text(2));
  }
  return by_id;
}

class ExportImport {
 public:
  ExportImport(const ImportRequest& request, const NsysExport& from, EventSink& sink)
      : request_(request), from_(from), sink_(sink) {
    if (from.catalog.ranks.size() == 1) environment_ = read_environment(from.database);
    name_rank_ = from.catalog.ranks.size() == 1 ? rank_from_name(request.path) : FoundRank{};
  }

  Imported run() {
    if (from_.database.cut()) losses_.file("the file is shorter than its first page says");
    if (from_.catalog.ranks_left_out > 0) losses_.rows(kKernelTable, "of further ranks", from_.catalog.ranks_left_out);
    for (std::size_t i = 0; i < from_.catalog.ranks.size(); ++i) {
      begin(i);
      NsysImporter importer(from_, from_.catalog.ranks[i], i == 0 ? CountNobody::yes : CountNobody::no, losses_, sink_);
      importer.run();
      communicates_ = communicates_ || importer.communicates();
      facts(from_.catalog.ranks[i], importer);
    }
    Imported imported;
    imported.processes = static_cast<std::int64_t>(from_.catalog.ranks.size());
    imported.ranks = ranks();
    cover(imported.coverage);
    return imported;
  }

 private:
  void begin(std::size_t index) {
    ProcessInfo process;
    process.host = kTraceHost;
    process.pid = request_.first_process + static_cast<std::int64_t>(index);
    process.command = request_.path.string();
    process.exited_cleanly = true;
    sink_.begin_process(process);
  }

  std::optional<int> rank() const { return environment_.rank ? environment_.rank : name_rank_.rank; }

  void facts(const NsysRank& rank_of, const NsysImporter& importer) {
    if (rank()) sink_.fact("rank", std::to_string(*rank()));
    if (!environment_.world_size.empty()) sink_.fact("world_size", environment_.world_size);
    if (importer.communicates()) sink_.fact("backend", "nccl");
    if (!rank_of.device) return;
    sink_.fact("device", "cuda");
    if (const std::string gpu = gpu_name(from_.database, *rank_of.device); !gpu.empty()) sink_.fact("gpu", gpu);
  }

  std::string ranks() const {
    if (environment_.rank) return std::to_string(*environment_.rank) + " (RANK in the export)";
    if (name_rank_.rank) return std::to_string(*name_rank_.rank) + " (" + to_string(name_rank_.source) + ")";
    const std::size_t count = from_.catalog.ranks.size();
    if (count == 1) return "none, by order";
    return "none, by order of process and device (" + std::to_string(count) + ")";
  }

  void cover(Coverage& coverage) {
    std::vector<std::string> reasons;
    for (const auto& [reason, count] : losses_.told()) {
      coverage.lost += static_cast<std::int64_t>(count);
      reasons.push_back(reason);
      lose(reason, count);
    }
    const auto missing = [&](std::string why, const char* hint) {
      reasons.push_back(std::move(why));
      if (coverage.hint.empty()) coverage.hint = hint;
    };
    if (!from_.catalog.has_kernels)
      missing("it holds NVTX ranges and no GPU kernels", "record with nsys profile --trace=cuda,nvtx");
    else if (!from_.database.has(kRuntimeTable))
      missing("it holds no CUDA calls: launches and host synchronisation are not seen",
              "record with nsys profile --trace=cuda,nvtx");
    if (!communicates_) missing("no communication was seen: it holds no NCCL kernels and no NCCL ranges", "");
    if (from_.database.has(kGraphTable))
      missing("CUDA graphs were recorded as a whole: kernels and collectives inside them are not seen",
              "record with nsys profile --cuda-graph-trace=node");
    for (const std::string& reason : reasons) coverage.reason += (coverage.reason.empty() ? "" : "; ") + reason;
    if (!reasons.empty()) coverage.state = CoverageState::partial;
  }

  // One event for each reason, in the process that was read last.
  void lose(const std::string& why, std::uint64_t count) {
    sink_.event(loss_event(sink_.intern(why), Source::profiler, count));
  }

  const ImportRequest& request_;
  const NsysExport& from_;
  EventSink& sink_;
  Environment environment_;
  FoundRank name_rank_;
  NsysLosses losses_;
  bool communicates_ = false;
};

}  // namespace

bool is_nsys_export(std::string_view head) {
  constexpr std::string_view magic{"SQLite format 3\0", 16};
  constexpr std::size_t kFirstPageType = 100;
  constexpr char kInterior = 5;  // the list of tables goes on on other pages
  if (!head.starts_with(magic) || head.size() <= kFirstPageType) return false;
  for (const std::string_view table : {"CUPTI_ACTIVITY_KIND_", "NVTX_EVENTS", "StringIds", "META_DATA_EXPORT"})
    if (head.find(table) != std::string_view::npos) return true;
  return head[kFirstPageType] == kInterior && head.size() >= kLookBytes;
}

Result<Imported> import_nsys_export(const ImportRequest& request, EventSink& sink) {
  const Result<NsysDatabase> database = NsysDatabase::open(request.path);
  if (!database) return database.error();
  const NsysExport from(*database);
  if (from.catalog.ranks.empty()) return nothing_usable(request, *database);
  return ExportImport(request, from, sink).run();
}

}  // namespace gradsync
