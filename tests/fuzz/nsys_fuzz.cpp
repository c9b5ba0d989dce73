// Bytes → the importer of Nsight Systems exports. SQLite reads files by name, so the bytes go through one in /dev/shm.
//
// Databases are binary: GSD_NSYS_SEEDS=FOLDER makes the first run write the seeds there, small exports of several shapes.
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "collectors/import/nsys_format.h"
#include "tests/support/sinks.h"

namespace gradsync {
namespace {

constexpr std::array<const char*, 3> kSeeds{
    "PRAGMA page_size = 512; CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO StringIds VALUES (1, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'), (2, 'cuLaunchKernelEx');"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,"
    " correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 1, 16777216, 1), (30, 40, 1, 7, 2, 16777216, 1);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,"
    " nameId INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 6, 16777217, 1, 2);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER,"
    " correlationId INTEGER, globalPid INTEGER, syncType INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (5, 6, 0, 9, 16777216, 3);",
    "PRAGMA page_size = 512; CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT,"
    " globalTid INTEGER, domainId INTEGER, binaryData BLOB);"
    "INSERT INTO NVTX_EVENTS VALUES (1, 9, 59, 'ncclAllReduce', 16777217, 1,"
    " x'01000000000000001600000000000000080000000000000028000000000000000010000000000000'),"
    " (0, 0, 75, 'NCCL', 16777217, 1, NULL), (2, 3, 59, 'aten::mm, seq = 1, op_id = 2', 16777217, 0, NULL);"
    "CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER, schemaId INTEGER, type INTEGER, name TEXT, offset "
    "INT);"
    "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (1, 22, 22, 'Message size [bytes]', 0);",
    "PRAGMA page_size = 512; CREATE TABLE StringIds (value TEXT, id INTEGER); INSERT INTO StringIds VALUES ('gemm', 3);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER PRIMARY KEY, end, shortName, deviceId) WITHOUT ROWID;"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 3, 0), (4, 'x', zeroblob(2000), 0);"};

bool write_seeds() {
  const char* folder = std::getenv("GSD_NSYS_SEEDS");
  if (folder == nullptr) return false;
  std::filesystem::create_directories(folder);
  for (std::size_t i = 0; i < kSeeds.size(); ++i) {
    const std::string path = std::string(folder) + "/seed" + std::to_string(i) + ".sqlite";
    std::filesystem::remove(path);
    sqlite3* database = nullptr;
    if (sqlite3_open(path.c_str(), &database) != SQLITE_OK ||
        sqlite3_exec(database, kSeeds.at(i), nullptr, nullptr, nullptr) != SQLITE_OK)
      std::abort();
    sqlite3_close(database);
  }
  return true;
}

}  // namespace
}  // namespace gradsync

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradsync;
  [[maybe_unused]] static const bool written = write_seeds();
  [[maybe_unused]] const bool known = is_nsys_export({reinterpret_cast<const char*>(data), size});
  static const std::string path = "/dev/shm/gsd-nsys-fuzz-" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  test::IgnoringSink sink;
  (void)import_nsys_export({path, 1}, sink);
  std::filesystem::remove(path);
  return 0;
}
