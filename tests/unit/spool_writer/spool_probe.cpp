#include "tests/unit/spool_writer/spool_probe.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

#include "src/spool_writer/gsd.h"
#include "src/spool_writer/spool_file.h"

namespace gradsync::test {
namespace fs = std::filesystem;
using spool::Kind;

const std::string& Spool::text(std::uint32_t id) const {
  static const std::string none;
  const auto found = strings.find(id);
  return found == strings.end() ? none : found->second;
}

std::vector<spool::Record> Spool::of_kind(Kind kind) const {
  std::vector<spool::Record> found;
  for (const ProbedEvent& event : events) {
    if (event.record.kind == kind) found.push_back(event.record);
  }
  return found;
}

std::string Spool::attribute(std::uint64_t target, const std::string& key) const {
  std::string value;
  for (const spool::AttributeRecord& attribute : attributes) {
    if (attribute.target != target || text(attribute.key) != key) continue;
    value = attribute.type == spool::AttributeType::string ? text(static_cast<std::uint32_t>(attribute.value))
                                                           : std::to_string(attribute.value);
  }
  return value;
}

Spool read_spool(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  Spool spool;
  REQUIRE(bytes.size() >= spool::kHeaderBytes);
  std::memcpy(&spool.header, bytes.data(), sizeof spool.header);
  REQUIRE(std::memcmp(spool.header.magic, spool::kMagic, sizeof spool.header.magic) == 0);
  const std::size_t records = (bytes.size() - spool::kHeaderBytes) / spool::kRecordBytes;
  const auto at = [&](std::size_t index, auto& into) {
    std::memcpy(&into, bytes.data() + spool::kHeaderBytes + index * spool::kRecordBytes, sizeof into);
  };
  for (std::size_t first = 0; first < records; first += spool::kRecordsPerChunk) {
    spool::ChunkHeader chunk;
    at(first, chunk);
    if (chunk.kind != Kind::chunk) continue;
    REQUIRE(chunk.used <= spool::kRecordsPerChunk);
    spool.lanes.push_back(chunk);
    for (std::size_t index = first + 1; index < first + chunk.used; ++index) {
      spool::Record record;
      at(index, record);
      switch (record.kind) {
        case Kind::string: {
          spool::StringRecord string;
          at(index, string);
          REQUIRE(spool.strings.count(string.id) == 0);
          spool.strings[string.id] =
              bytes.substr(spool::kHeaderBytes + (index + 1) * spool::kRecordBytes, string.length);
          index += (string.length + spool::kRecordBytes - 1) / spool::kRecordBytes;
          break;
        }
        case Kind::attribute:
          at(index, spool.attributes.emplace_back());
          break;
        case Kind::chunk:
          at(index, spool.lanes.emplace_back());
          break;
        default:
          REQUIRE(record.kind >= Kind::step);
          REQUIRE(record.kind <= Kind::window);
          spool.events.push_back({index, record});
      }
    }
  }
  return spool;
}

Recording::Recording() : own_(std::in_place), folder_(own_->path()) {}

Recording::Recording(const fs::path& folder) : folder_(folder) {}

std::vector<fs::path> Recording::files() const {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder_ / "events", none)) files.push_back(entry.path());
  return files;
}

Spool Recording::only() const {
  const auto all = files();
  REQUIRE(all.size() == 1);
  return read_spool(all.front());
}

Spool Recording::of(pid_t pid) const {
  const std::string end = "-" + std::to_string(pid) + ".spool";
  for (const fs::path& file : files()) {
    const std::string name = file.filename().string();
    if (name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0) {
      return read_spool(file);
    }
  }
  FAIL("no spool of process " << pid);
  return {};
}

int wait_for(pid_t child) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(300);
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      FAIL_CHECK("the writer did not end");
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return status;
}

int run_writer(const Recording* recording, const std::function<int()>& body, WriterOptions options) {
  std::cout.flush();  // else the child prints it again
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::unsetenv("GSD_RECORDING");
    ::unsetenv("GSD_MAX_CHUNKS");
    if (recording != nullptr) ::setenv("GSD_RECORDING", recording->folder().c_str(), 1);
    if (options.max_chunks > 0) ::setenv("GSD_MAX_CHUNKS", std::to_string(options.max_chunks).c_str(), 1);
    spool::configure(options.fork_guard);
    if (options.page_bytes != 0) spool::g_page_bytes = options.page_bytes;
    const int status = body();
    gsd_goodbye();
    ::_exit(status);
  }
  return wait_for(child);
}

}  // namespace gradsync::test
