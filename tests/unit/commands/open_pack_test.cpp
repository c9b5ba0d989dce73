// How much of a pack is unpacked at most. What else is refused: tests/cli/test_show_files.py.
#include "src/commands/open_pack.h"

#include <doctest/doctest.h>

#include "src/export/tar_header.h"
#include "tests/support/folder.h"

namespace gradsync {
namespace {

// A pack of files of these sizes; of the last one only `held` bytes are there.
std::string pack_of(const std::vector<std::uint64_t>& sizes, std::size_t held) {
  std::string text;
  const auto add = [&](const TarEntry& entry) {
    const Result<TarBlock> block = tar_header(entry);
    REQUIRE(block);
    text.append(block->data(), block->size());
  };
  add({"gradsync-pack/", 0, true});
  add({"gradsync-pack/recording/events/", 0, true});
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    add({"gradsync-pack/recording/" + std::to_string(i), sizes[i], false});
    text.append(i + 1 == sizes.size() ? held : (sizes[i] + kTarBlock - 1) / kTarBlock * kTarBlock, 'x');
  }
  return text + std::string(2 * kTarBlock, '\0');
}

std::string outcome(const std::string& pack, const PackLimits& limits) {
  const test::Folder folder;
  const Result<OpenPack> opened = open_pack(folder.put("p.tar", pack), limits);
  return opened ? "opened" : opened.error().why;
}

TEST_CASE("as many bytes and entries as the limits say, and not one more") {
  CHECK(outcome(pack_of({600, 400}, 512), {1000, 4}) == "opened");
  CHECK(outcome(pack_of({600, 401}, 512), {1000, 4}) ==
        "it holds more than 1000 B, or more than the disk has room for");
  CHECK(outcome(pack_of({600, 400}, 512), {1000, 3}) == "it has more than 3 entries");
}

TEST_CASE("a file that only says that it is large is refused before anything of it is written") {
  CHECK(outcome(pack_of({std::uint64_t{8'589'934'591}}, 0), {std::uint64_t{1} << 30, 20'000}) ==
        "it holds more than 1 GiB, or more than the disk has room for");
  CHECK(outcome(pack_of({5000}, 512), {}) == "it ends within gradsync-pack/recording/0");
}

TEST_CASE("the folder is private, and gone when nobody reads it any more") {
  const test::Folder folder;
  std::filesystem::path recording;
  {
    const Result<OpenPack> opened = open_pack(folder.put("p.tar", pack_of({3}, 512)));
    REQUIRE(opened);
    recording = opened->recording;
    CHECK(std::filesystem::file_size(recording / "0") == 3);
    CHECK((std::filesystem::status(opened->folder.path()).permissions() & std::filesystem::perms::group_all) ==
          std::filesystem::perms::none);
  }
  CHECK(!std::filesystem::exists(recording));
  CHECK(!open_pack(folder.path() / "absent"));
}

}  // namespace
}  // namespace gradsync
