#include "collectors/fabric/links.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace gradsync {
namespace {

namespace fs = std::filesystem;

struct Root {
  fs::path path = fs::temp_directory_path() / ("gsd_links_" + std::to_string(::getpid()));
  Root() { fs::create_directories(path); }
  ~Root() { fs::remove_all(path); }
  void put(const std::string& file, const std::string& text) const {
    fs::create_directories((path / file).parent_path());
    std::ofstream(path / file) << text;
  }
};

std::string row(const Series& links, std::size_t index) {
  const auto& cells = links.rows[index];
  return std::get<std::string>(cells[0]) + " " + std::to_string(std::get<double>(cells[1])) + " " +
         std::get<std::string>(cells[2]);
}

}  // namespace

TEST_CASE("links: Ethernet, InfiniBand and the slots they are in") {
  const Root root;
  root.put("sys/class/net/eth0/speed", "25000\n");
  root.put("sys/class/net/eth0/device/current_link_speed", "8.0 GT/s PCIe\n");
  root.put("sys/class/net/eth0/device/current_link_width", "8\n");
  root.put("sys/class/net/eth1/speed", "-1\n");
  root.put("sys/class/net/eth1/device/current_link_speed", "Unknown\n");
  root.put("sys/class/net/lo/mtu", "65536\n");
  root.put("sys/class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
  root.put("sys/class/infiniband/mlx5_0/device/current_link_speed", "5.0 GT/s PCIe\n");
  root.put("sys/class/infiniband/mlx5_0/device/current_link_width", "16\n");
  const Series links = read_links(root.path);
  CHECK(links.columns == std::vector<std::string>{"interface", "gbits_per_s", "source"});
  REQUIRE(links.rows.size() == 4);
  CHECK(row(links, 0) == "eth0 25.000000 ethernet");
  CHECK(row(links, 1) == "eth0 63.015385 pcie");
  CHECK(row(links, 2) == "mlx5_0:1 100.000000 infiniband");
  CHECK(row(links, 3) == "mlx5_0 64.000000 pcie");
}

TEST_CASE("caches of the first CPU; a machine that does not say has none") {
  const Root root;
  CHECK(host_caches(root.path).empty());
  CHECK(read_links(root.path).rows.empty());
  const std::string cache = "sys/devices/system/cpu/cpu0/cache/";
  const auto put = [&](const std::string& index, const std::string& level, const std::string& type,
                       const std::string& size) {
    root.put(cache + index + "/level", level);
    root.put(cache + index + "/type", type);
    root.put(cache + index + "/size", size);
  };
  put("index0", "1\n", "Data\n", "48K\n");
  put("index2", "2\n", "Unified\n", "1024K\n");
  put("index3", "3\n", "Unified\n", "32768K\n");
  CHECK(host_caches(root.path) == Facts{{"host.l2_bytes", "1048576"}, {"host.l3_bytes", "33554432"}});
}

}  // namespace gradsync
