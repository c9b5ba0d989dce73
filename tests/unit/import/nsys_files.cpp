#include "tests/unit/import/nsys_files.h"

#include <sqlite3.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "collectors/import/nsys_format.h"

namespace gradsync::test {

NsysFile::NsysFile(const std::string& sql, const std::string& name) : file_("", name) {
  sqlite3* database = nullptr;
  char* message = nullptr;
  int status = sqlite3_open(path().c_str(), &database);
  if (status == SQLITE_OK) status = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message);
  const std::string why = message == nullptr ? "" : message;
  sqlite3_free(message);
  sqlite3_close(database);
  if (status != SQLITE_OK) throw std::runtime_error("the test's own SQL: " + why);
}

std::string NsysFile::bytes() const {
  std::ifstream file(path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string nsys_tables() {
  return R"(BEGIN;
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, mangledName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, syncType INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, category INTEGER, text TEXT,
  globalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, doubleValue REAL, jsonText TEXT,
  binaryData TEXT);
CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device');
COMMIT;
)";
}

std::string nsys_strings(const std::vector<std::string>& strings) {
  std::string sql;
  for (const std::string& text : strings) {
    const std::size_t space = text.find(' ');
    sql += "INSERT INTO StringIds VALUES (" + text.substr(0, space) + ", '" + text.substr(space + 1) + "');\n";
  }
  return sql;
}

std::string process(int pid) { return std::to_string(0x1000000000000 | std::int64_t{pid} << 24); }
std::string thread(int pid, int tid) { return std::to_string(0x1000000000000 | std::int64_t{pid} << 24 | tid); }

ImportedExport import_export(const std::filesystem::path& path) {
  RankEvents sink;
  Result<Imported> result = import_nsys_export({path, 100}, sink);
  return {std::move(result), std::move(sink)};
}

ImportedExport import_sql(const std::string& sql) {
  const NsysFile file(sql);
  return import_export(file.path());
}

}  // namespace gradsync::test
