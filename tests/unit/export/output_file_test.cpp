#include "src/export/output_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "tests/support/folder.h"

namespace gradsync {
namespace {

std::size_t entries(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST_CASE("the file is there when it is whole, and not before") {
  const test::Folder folder;
  const auto path = folder.put("out.txt", "old");
  Result<OutputFile> file = OutputFile::open(path);
  REQUIRE(file);
  file->write("new ");
  file->write(std::string(1'000'000, 'x'));
  CHECK(*read_file(path) == "old");
  REQUIRE(file->finish());
  CHECK(read_file(path)->size() == 1'000'004);
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("a file that nobody finished leaves nothing behind") {
  const test::Folder folder;
  const auto path = folder.put("out.txt", "old");
  {
    Result<OutputFile> file = OutputFile::open(path);
    REQUIRE(file);
    file->write("half");
  }
  CHECK(*read_file(path) == "old");
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("what cannot be written is told at once, what is full at the end") {
  const Result<OutputFile> nowhere = OutputFile::open("/nonexistent/out.txt");
  REQUIRE(!nowhere);
  CHECK(nowhere.error().message() == "cannot write /nonexistent/out.txt: No such file or directory");
  CHECK(nowhere.error().exit_status == 125);
  Result<OutputFile> full = OutputFile::open("/dev/full");
  REQUIRE(full);
  full->write("more than fits");
  const Result<void> done = full->finish();
  REQUIRE(!done);
  CHECK(done.error().message() == "cannot write /dev/full: No space left on device");
  CHECK(std::filesystem::is_character_file("/dev/full"));
}

TEST_CASE("a name that ends in .gz is compressed") {
  const test::Folder folder;
  Result<OutputFile> file = OutputFile::open(folder.path() / "out.json.gz");
  REQUIRE(file);
  file->write(std::string(100'000, 'x'));
  REQUIRE(file->finish());
  const std::string bytes = *read_file(folder.path() / "out.json.gz");
  CHECK(bytes.starts_with("\x1f\x8b"));
  CHECK(bytes.size() < 2000);
}

}  // namespace
}  // namespace gradsync
