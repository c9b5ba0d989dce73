// A folder with one spool, written by the real writer in a forked child.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "tests/support/folder.h"

namespace gradsync::test {

class WrittenSpool {
 public:
  // `write` runs in the child, with GSD_RECORDING set; the child then leaves by _exit, without exit handlers.
  explicit WrittenSpool(const std::function<void()>& write);

  const std::filesystem::path& folder() const { return folder_.path(); }
  std::filesystem::path spool() const;  // the only file in events/
  std::string bytes() const;
  void replace(const std::string& bytes) const;

 private:
  Folder folder_;
};

}  // namespace gradsync::test
