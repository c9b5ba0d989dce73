// How fast a big Nsight Systems export is imported, beside a bare loop of sqlite3_step over the same tables and columns
// in the same run.
//
//   nsys_read [THOUSAND_KERNELS [RUNS]]   default 300 7; each kernel comes with a call and two NVTX ranges
//
// The export is generated in the temporary folder and removed; it is in the page cache. "import": recognised tables,
// events into a sink that counts them. Runs of the two take turns, each in CPU seconds of the process, which hold on a
// busy machine, too.
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "collectors/import/nsys_format.h"
#include "tests/support/sinks.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kProcess = 0x1000007000000, kThread = kProcess + 7;

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "{}\n", why);
  std::exit(1);
}

class Database {
 public:
  explicit Database(const fs::path& path) {
    if (sqlite3_open(path.c_str(), &database_) != SQLITE_OK) give_up("cannot open the export");
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { sqlite3_close(database_); }

  void run(const std::string& sql) {
    if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      give_up(sqlite3_errmsg(database_));
  }
  sqlite3_stmt* prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
      give_up(sqlite3_errmsg(database_));
    return statement;
  }

 private:
  sqlite3* database_ = nullptr;
};

// Tables as Nsight Systems 2026 writes them, without the columns that stand behind those that are read.
constexpr const char* kTables =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;"
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,"
    " greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,"
    " shortName INTEGER, mangledName INTEGER, launchType INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,"
    " correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER,"
    " color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER,"
    " uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER,"
    " floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);";

void write_export(const fs::path& path, std::int64_t kernels) {
  Database database(path);
  database.run(kTables);
  for (int i = 0; i < 300; ++i)
    database.run(
        fmt::format("INSERT INTO StringIds VALUES ({}, 'void at::native::vectorized_elementwise_kernel<4, "
                    "at::native::CUDAFunctor_{}<float>>(int, float*)');",
                    i, i));
  database.run(
      "INSERT INTO StringIds VALUES (1000, 'cudaLaunchKernel_v7000'), (1001, "
      "'ncclDevKernel_AllReduce_Sum_f32_RING_LL()');");
  sqlite3_stmt* kernel = database.prepare(
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?1, ?1 + 800, 0, 1, NULL, 7, ?2, ?3, ?4, ?4, ?4, 1, 8, 1, 1)");
  sqlite3_stmt* call =
      database.prepare("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?1, ?1 + 500, 1, ?3, ?2, 1000, 0, NULL)");
  sqlite3_stmt* range = database.prepare(
      "INSERT INTO NVTX_EVENTS VALUES (?1, ?1 + 900, 59, NULL, NULL, NULL, ?2, ?3, ?3, NULL, 0, NULL, NULL, NULL, NULL,"
      " NULL, NULL, NULL, NULL, NULL)");
  const auto insert = [](sqlite3_stmt* statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) give_up("cannot write the export");
    sqlite3_reset(statement);
  };
  for (std::int64_t i = 0; i < kernels; ++i) {
    const std::int64_t start = 1'000'000'000 + 1000 * i;
    for (sqlite3_stmt* statement : {kernel, call, range}) sqlite3_bind_int64(statement, 1, start);
    for (sqlite3_stmt* statement : {kernel, call}) sqlite3_bind_int64(statement, 2, i + 1);
    sqlite3_bind_int64(kernel, 3, kProcess);
    sqlite3_bind_int64(kernel, 4, i % 50 == 49 ? 1001 : i % 300);
    for (sqlite3_stmt* statement : {call, range}) sqlite3_bind_int64(statement, 3, kThread);
    insert(kernel);
    insert(call);
    for (const std::string& text : {fmt::format("aten::operator_{}, seq = {}, op_id = {}", i % 200, i, 2 * i),
                                    fmt::format("layer {} forward", i % 40)}) {
      sqlite3_bind_text(range, 2, text.c_str(), -1, SQLITE_TRANSIENT);
      insert(range);
    }
  }
  for (sqlite3_stmt* statement : {kernel, call, range}) sqlite3_finalize(statement);
  database.run("COMMIT;");
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// What the importer asks for, once; nothing is done with it.
double bare_loop(const fs::path& path, std::uint64_t& rows) {
  const double start = cpu_seconds();
  Database database(path);
  for (const char* sql :
       {"SELECT start, end, deviceId, globalPid, streamId, correlationId, coalesce(demangledName, shortName, "
        "mangledName)"
        " FROM CUPTI_ACTIVITY_KIND_KERNEL",
        "SELECT start, end, globalTid, correlationId, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME",
        "SELECT start, end, eventType, globalTid, text, textId, domainId, category, coalesce(uint64Value, int64Value,"
        " uint32Value, int32Value), coalesce(doubleValue, floatValue), jsonText, binaryData FROM NVTX_EVENTS"}) {
    sqlite3_stmt* statement = database.prepare(sql);
    while (sqlite3_step(statement) == SQLITE_ROW) ++rows;
    sqlite3_finalize(statement);
  }
  return cpu_seconds() - start;
}

double import_once(const fs::path& path, std::uint64_t& events) {
  const double start = cpu_seconds();
  test::CountingSink sink;
  const Result<Imported> imported = import_nsys_export({path, 1}, sink);
  if (!imported || imported->coverage.lost > 0) give_up("the export was not imported whole");
  events += sink.events;
  return cpu_seconds() - start;
}

struct Sample {
  double median = 0, least = 0, most = 0;
};
Sample sample_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front(), values.back()};
}

int benchmark(std::int64_t kernels, int runs) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("gsd-nsys-read-{}", ::getpid());
  fs::create_directory(folder);
  const fs::path path = folder / "export.sqlite";
  write_export(path, kernels);
  const auto rows = static_cast<double>(4 * kernels);
  std::vector<double> bare, import, ratio;
  for (int i = 0; i < runs; ++i) {
    std::uint64_t stepped = 0, events = 0;
    const double loop = bare_loop(path, stepped), whole = import_once(path, events);
    if (stepped != events) give_up(fmt::format("{} rows gave {} events", stepped, events));
    bare.push_back(rows / loop * 1e-6);
    import.push_back(rows / whole * 1e-6);
    ratio.push_back(loop / whole);
  }
  fmt::print("{:.1f} M rows, {:.0f} MB. Million rows per CPU second: median [slowest fastest] of n.\n\n", rows * 1e-6,
             static_cast<double>(fs::file_size(path)) * 1e-6);
  const auto row = [&](const char* name, const std::vector<double>& values) {
    const Sample sample = sample_of(values);
    fmt::print("{:<20} {:>6.2f} [{:>5.2f} {:>5.2f}] {:>4}\n", name, sample.median, sample.least, sample.most,
               values.size());
  };
  row("bare sqlite3_step", bare);
  row("import", import);
  row("import / bare", ratio);
  fs::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace gradsync

int main(int argc, char** argv) {
  const int thousands = argc > 1 ? std::atoi(argv[1]) : 300;
  const int runs = argc > 2 ? std::atoi(argv[2]) : 7;
  if (thousands < 1 || runs < 1) {
    fmt::print(stderr, "usage: nsys_read [THOUSAND_KERNELS [RUNS]]\n");
    return 2;
  }
  return gradsync::benchmark(std::int64_t{1000} * thousands, runs);
}
