// A machine's /proc and /sys in a folder of its own, removed at the end.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "collectors/host/irq_snapshot.h"

namespace gradsync {

class MadeRoot {
 public:
  explicit MadeRoot(std::string machine) : machine_(std::move(machine)) {
    char name[] = "/tmp/gsd-root-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    folder_ = name;
    after(0);
  }
  MadeRoot(const MadeRoot&) = delete;
  MadeRoot& operator=(const MadeRoot&) = delete;
  ~MadeRoot() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // The counters as they are so many seconds later.
  void after(double seconds) const {
    const std::string command =
        std::string(GSD_MAKE_ROOT) + " " + machine_ + " " + folder_.string() + " " + std::to_string(seconds);
    REQUIRE(std::system(command.c_str()) == 0);
  }

  IrqRoots roots() const { return {folder_ / "proc", folder_ / "sys"}; }

 private:
  std::string machine_;
  std::filesystem::path folder_;
};

}  // namespace gradsync
