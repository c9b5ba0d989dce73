// A folder with one spool, written by the real writer in a forked child.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace gradsync::test {

class WrittenSpool {
 public:
  // `write` runs in the child, with GSD_RECORDING set; the child then leaves by _exit, without exit handlers.
  explicit WrittenSpool(const std::function<void()>& write);
  WrittenSpool(const WrittenSpool&) = delete;
  WrittenSpool& operator=(const WrittenSpool&) = delete;
  ~WrittenSpool();

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path spool() const;  // the only file in events/
  std::string bytes() const;
  void replace(const std::string& bytes) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace gradsync::test
