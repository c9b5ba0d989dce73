// Real dumps of /proc/interrupts, against what MANIFEST.tsv counted in them with another program.
#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "collectors/import/recognise.h"
#include "src/hosttext/interrupt_vectors.h"
#include "src/hosttext/interrupts.h"
#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

// "…; rows=60; …" → the number behind "rows=".
int number_behind(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(key + "=");
  REQUIRE(at != std::string::npos);
  return std::stoi(line.substr(at + key.size() + 1));
}

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// "devices=['ahci', 'nvme0']": each stands in the name of some interrupt.
void check_devices(const std::string& line, const std::vector<InterruptSnapshot>& snapshots) {
  std::string names;
  for (const InterruptSnapshot& snapshot : snapshots)
    for (const InterruptRow& row : snapshot.rows)
      if (row.device) names += row.handlers + "\n";
  std::string list = line.substr(line.find("devices=[") + 9);
  list = list.substr(0, list.find(']'));
  for (std::size_t at = list.find('\''); at != std::string::npos; at = list.find('\'', list.find('\'', at + 1) + 1)) {
    const std::string device = list.substr(at + 1, list.find('\'', at + 1) - at - 1);
    CAPTURE(device);
    CHECK(names.find(device) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("real dumps of /proc/interrupts") {
  const auto corpus = test::corpus();
  if (!corpus || !std::filesystem::is_directory(*corpus / "interrupts")) {
    MESSAGE("skipped: GSD_CORPUS names no folder with dumps of /proc/interrupts");
    return;
  }
  std::ifstream manifest(*corpus / "MANIFEST.tsv");
  int files = 0;
  for (std::string line; std::getline(manifest, line);) {
    if (!line.starts_with("interrupts/")) continue;
    ++files;
    const std::filesystem::path path = *corpus / line.substr(0, line.find('\t'));
    CAPTURE(path.string());
    const std::vector<InterruptSnapshot> snapshots = parse_interrupts(text_of(path));
    CHECK(static_cast<int>(snapshots.size()) == number_behind(line, "snapshots"));
    std::int64_t rows = 0;
    for (const InterruptSnapshot& snapshot : snapshots) {
      CHECK(static_cast<int>(snapshot.cpus.size()) == number_behind(line, "cpus"));
      rows += static_cast<std::int64_t>(snapshot.rows.size()) + snapshot.machine_rows + snapshot.broken_rows;
      if (snapshot.at) ++rows;  // the manifest counts the line with the time
    }
    CHECK(rows == number_behind(line, "rows"));
    check_devices(line, snapshots);

    const Result<Recognised> found = recognise(path);
    REQUIRE(found);
    REQUIRE(found->kind == FileKind::importable);
    test::KeptEvents events;
    const Result<Imported> imported = found->format->import({path, 1}, events);
    CHECK(static_cast<bool>(imported) == (rows > 0));
    if (!imported) continue;
    CHECK(imported->series.contains(snapshots.size() > 1 ? "irq" : "irq_since_boot"));
  }
  CHECK(files == 17);
}

}  // namespace gradsync
