#include "collectors/fabric/links.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "collectors/fabric/store_protocol.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = 4096;

std::string line_of(const fs::path& file) {
  const Result<std::string> text = read_file(file, kMostBytes);
  return text ? std::string(trim(*text)) : std::string();
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    found.push_back(entry->path());
  std::sort(found.begin(), found.end());
  return found;
}

// "16.0 GT/s PCIe" and "16" lanes → Gbit/s of payload bits. 8b/10b coding up to 5 GT/s, 128b/130b from 8.
std::optional<double> pcie_gbits(const fs::path& device) {
  const double transfers = std::strtod(line_of(device / "current_link_speed").c_str(), nullptr);
  const auto lanes = whole_number(line_of(device / "current_link_width"));
  if (!(transfers > 0) || !lanes || *lanes <= 0) return std::nullopt;
  return transfers * static_cast<double>(*lanes) * (transfers < 8 ? 0.8 : 128.0 / 130.0);
}

void add(Series& links, const std::string& name, std::optional<double> gbits, const char* source) {
  if (gbits && *gbits > 0) links.rows.push_back({name, *gbits, std::string(source)});
}

}  // namespace

Series read_links(const fs::path& root) {
  Series links{"links", {"interface", "gbits_per_s", "source"}, {}};
  for (const fs::path& link : entries(root / "sys/class/net")) {
    const auto mbits = whole_number(line_of(link / "speed"));  // -1, or an error, where there is none
    if (mbits) add(links, link.filename(), static_cast<double>(*mbits) / 1000, "ethernet");
    add(links, link.filename(), pcie_gbits(link / "device"), "pcie");
  }
  for (const fs::path& device : entries(root / "sys/class/infiniband")) {
    for (const fs::path& port : entries(device / "ports")) {
      const double gbits = std::strtod(line_of(port / "rate").c_str(), nullptr);  // "100 Gb/sec (4X EDR)"
      add(links, device.filename().string() + ":" + port.filename().string(), gbits, "infiniband");
    }
    add(links, device.filename(), pcie_gbits(device / "device"), "pcie");
  }
  return links;
}

Facts host_caches(const fs::path& root) {
  Facts facts;
  for (const fs::path& cache : entries(root / "sys/devices/system/cpu/cpu0/cache")) {
    const std::string level = line_of(cache / "level");
    if ((level != "2" && level != "3") || line_of(cache / "type") == "Instruction") continue;
    const Result<std::int64_t> bytes = parse_bytes(line_of(cache / "size"));
    if (bytes) facts["host.l" + level + "_bytes"] = std::to_string(*bytes);
  }
  return facts;
}

}  // namespace gradsync
