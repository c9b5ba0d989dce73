// A state folder of the test's own: named by XDG_STATE_HOME while it lives, gone afterwards.
#pragma once

#include <stdlib.h>

#include <filesystem>

#include "tests/support/folder.h"

namespace gradsync::test {

class StateHome {
 public:
  StateHome() { ::setenv("XDG_STATE_HOME", folder_.path().c_str(), 1); }
  StateHome(const StateHome&) = delete;
  StateHome& operator=(const StateHome&) = delete;
  ~StateHome() { ::unsetenv("XDG_STATE_HOME"); }
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  Folder folder_;
};

}  // namespace gradsync::test
