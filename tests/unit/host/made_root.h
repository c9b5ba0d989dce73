// A machine's /proc and /sys in a folder of its own, removed at the end.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "collectors/host/irq_snapshot.h"
#include "tests/support/folder.h"

namespace gradsync {

class MadeRoot {
 public:
  explicit MadeRoot(std::string machine) : machine_(std::move(machine)) { after(0); }

  // The counters as they are so many seconds later.
  void after(double seconds) const {
    const std::string command =
        std::string(GSD_MAKE_ROOT) + " " + machine_ + " " + folder_.path().string() + " " + std::to_string(seconds);
    REQUIRE(std::system(command.c_str()) == 0);
  }

  IrqRoots roots() const { return {folder_.path() / "proc", folder_.path() / "sys"}; }

 private:
  std::string machine_;
  test::Folder folder_;
};

}  // namespace gradsync
