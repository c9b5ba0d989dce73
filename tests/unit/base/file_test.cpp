#include "src/base/file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "tests/support/folder.h"

using namespace gradsync;
namespace fs = std::filesystem;

namespace {

unsigned mode_of(const fs::path& path) {
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 0777U;
}

}  // namespace

TEST_CASE("a file is written whole, private, and replaced at once") {
  const test::Folder folder;
  const fs::path file = folder.path() / "a.json";
  REQUIRE(write_file(file, "one"));
  REQUIRE(write_file(file, "two"));
  CHECK(*read_file(file) == "two");
  CHECK(mode_of(file) == 0600);
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);  // no temporary is left
}

TEST_CASE("errors say what, on what and why") {
  const test::Folder folder;
  const auto missing = read_file(folder.path() / "nothing");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message() ==
        "cannot read " + (folder.path() / "nothing").string() + ": No such file or directory");
  REQUIRE(write_file(folder.path() / "big", std::string(100, 'x')));
  CHECK(read_file(folder.path() / "big", 10).error().why == "larger than 10 bytes");
  CHECK_FALSE(write_file(folder.path() / "no" / "such" / "folder", "x"));
}

TEST_CASE("a private folder is 0700 and never somebody else's") {
  const test::Folder folder;
  REQUIRE(make_private_directory(folder.path() / "new"));
  CHECK(mode_of(folder.path() / "new") == 0700);
  CHECK(make_private_directory(folder.path() / "new"));  // empty and ours: taken
  REQUIRE(write_file(folder.path() / "new" / "file", "x"));
  const auto full = make_private_directory(folder.path() / "new");
  REQUIRE_FALSE(full);
  CHECK(full.error().why == "it exists and is not an empty folder");
  fs::create_directory_symlink(folder.path(), folder.path() / "link");
  CHECK_FALSE(make_private_directory(folder.path() / "link"));
  CHECK_FALSE(make_private_directory(folder.path() / "no" / "parent"));
}
