#include "src/export/output_folder.h"

#include <doctest/doctest.h>

#include "src/base/file.h"
#include "tests/support/folder.h"

namespace gradsync {
namespace {

std::size_t entries(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST_CASE("the folder is there with all its files, or not at all") {
  const test::Folder folder;
  {
    Result<OutputFolder> out = OutputFolder::open(folder.path() / "out/");
    REQUIRE(out);
    CHECK(!std::filesystem::exists(folder.path() / "out"));
    REQUIRE(out->finish({{"a.csv", "1"}, {"b.csv", "2"}}));
    CHECK(*read_file(folder.path() / "out/b.csv") == "2");
  }
  CHECK(entries(folder.path()) == 1);
  { REQUIRE(OutputFolder::open(folder.path() / "unfinished")); }
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("an empty folder is taken, another is not") {
  const test::Folder folder;
  std::filesystem::create_directory(folder.path() / "empty");
  Result<OutputFolder> out = OutputFolder::open(folder.path() / "empty");
  REQUIRE(out);
  CHECK(out->finish({{"a.csv", "1"}}));
  for (const std::filesystem::path& taken : {folder.path() / "empty", folder.put("file", "x")}) {
    const Result<OutputFolder> refused = OutputFolder::open(taken);
    REQUIRE(!refused);
    CHECK(refused.error().message() ==
          "cannot make the folder " + taken.string() + ": it exists and is not an empty folder");
    CHECK(refused.error().exit_status == 125);
  }
  CHECK(!OutputFolder::open("/nonexistent/out"));
}

}  // namespace
}  // namespace gradsync
