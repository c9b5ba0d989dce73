#include "src/export/tar_header.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace gradsync {
namespace {

std::string why_refused(const TarBlock& block) {
  const Result<TarEntry> entry = read_tar_header(block);
  return entry ? "" : entry.error().why;
}

TEST_CASE("what is written is read again") {
  const std::string long_host(64, 'h');
  for (const TarEntry& entry : {TarEntry{"gradsync-pack/", 0, true}, TarEntry{"gradsync-pack/report.json", 4711, false},
                                TarEntry{"gradsync-pack/recording/events/" + long_host + "-4194304.spool",
                                         (std::uint64_t{1} << 33) - 1, false}}) {
    CAPTURE(entry.name);
    const Result<TarBlock> block = tar_header(entry);
    REQUIRE(block);
    const Result<TarEntry> again = read_tar_header(*block);
    REQUIRE_MESSAGE(again, again.error().why);
    CHECK(again->name == entry.name);
    CHECK(again->bytes == entry.bytes);
    CHECK(again->folder == entry.folder);
  }
}

TEST_CASE("what does not fit is not written") {
  for (const TarEntry& entry : {TarEntry{std::string(101, 'a'), 1, false}, TarEntry{"gradsync-pack/a b", 1, false},
                                TarEntry{"gradsync-pack/a", std::uint64_t{1} << 33, false},
                                TarEntry{std::string(200, 'a') + "/b/" + std::string(99, 'c'), 1, false}})
    CHECK(!tar_header(entry));
}

TEST_CASE("names that lead out and damaged headers are refused") {
  for (const char* name : {"/etc/passwd", "gradsync-pack/../x", "../gradsync-pack/x", "gradsync-pack/./x", "other/x",
                           "gradsync-pack//x", "gradsync-pack/.."}) {
    CAPTURE(name);
    const Result<TarBlock> block = tar_header({name, 1, false});
    REQUIRE(block);
    CHECK(why_refused(*block) == std::string(name) + " in it leads out of its folder");
  }
  TarBlock damaged = *tar_header({"gradsync-pack/x", 1, false});
  damaged[130] = '7';
  CHECK(why_refused(damaged) == "it is damaged: what should be an entry is none");
  CHECK(is_tar_end(TarBlock{}));
  CHECK(!is_tar_end(damaged));
}

}  // namespace
}  // namespace gradsync
