// A state folder of the test's own: named by XDG_STATE_HOME while it lives, gone afterwards.
#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace gradsync::test {

class StateHome {
 public:
  StateHome() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gsd-state-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
    ::setenv("XDG_STATE_HOME", pattern.c_str(), 1);
  }
  StateHome(const StateHome&) = delete;
  StateHome& operator=(const StateHome&) = delete;
  ~StateHome() {
    ::unsetenv("XDG_STATE_HOME");
    std::filesystem::remove_all(folder_);
  }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace gradsync::test
