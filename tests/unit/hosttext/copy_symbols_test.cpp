#include "src/hosttext/copy_symbols.h"

#include <doctest/doctest.h>

using namespace gradsync;

namespace {

// A kernel of a few functions.
constexpr const char* kKernel =
    "ffffffff81000000 T _stext\n"
    "ffffffff81001000 T _copy_from_iter\n"
    "ffffffff81002000 t rep_movs_alternative\n"
    "ffffffff81002000 t some_alias\n"
    "ffffffff81003000 t tcp_sendmsg_locked.isra.0\n"
    "ffffffff81004000 T __sys_sendto\n"
    "ffffffff81005000 t wp_page_copy\n"
    "ffffffff81006000 T copy_mc_user_highpage\n"
    "ffffffff81007000 T asm_exc_page_fault\n"
    "ffffffff81008000 T filemap_read\t[ext4]\n"
    "ffffffff81008800 D _copy_to_user\n"  // data
    "ffffffff81009000 T vfs_read\n";

CopyMap kernel() { return std::get<CopyMap>(CopyMap::parse(kKernel, CopySymbols::builtin())); }

constexpr std::uint64_t kBase = 0xffffffff81000000;

}  // namespace

TEST_CASE("names of the list stand for their suffixed versions, and a star for all that begin so") {
  const CopySymbols& list = CopySymbols::builtin();
  const std::pair<const char*, const char*> cases[] = {
      {"_copy_to_iter", "copy"},
      {"_copy_from_iter_nocache", "copy"},
      {"_copy_to_iter.isra.0", "copy"},
      {"raw_copy_to_user", "copy"},
      {"__arch_copy_to_user", "copy"},
      {"csum_and_copy_to_iter", "copy"},
      {"tcp_sendmsg_locked", "send"},
      {"unix_stream_recvmsg", "receive"},
      {"filemap_read", "page_cache"},
      {"asm_exc_page_fault", "not_user"},
      {"_copy_to_user2", ""},
      {"vfs_read", ""},
      {"copy_page", ""},
      {"memcpy", ""},
      {"", ""},
  };
  for (const auto& [name, of_class] : cases) CHECK_MESSAGE(list.class_of(name) == of_class, name);
}

TEST_CASE("a list of one's own, with comments; a class without a name is refused") {
  const auto list = CopySymbols::parse("# mine\ncopy  a b*  # both\n\nsend c\n");
  REQUIRE(list);
  CHECK(list->class_of("a.constprop.0") == "copy");
  CHECK(list->class_of("bb") == "copy");
  CHECK(list->class_of("c") == "send");
  CHECK(list->class_of("ab") == "");
  CHECK_FALSE(CopySymbols::parse("copy\n"));
}

TEST_CASE("a copy belongs to the first known function above it") {
  const CopyMap map = kernel();
  CHECK(map.functions() == 11);
  CHECK(map.copying() == 3);
  const auto by = [&](std::vector<std::uint64_t> offsets) {
    for (std::uint64_t& offset : offsets) offset += kBase;
    return std::string(map.copies_for(offsets).value_or("no copy"));
  };
  CHECK(by({0x1010, 0x3050, 0x4020}) == "send");
  CHECK(by({0x2010, 0x1050, 0x3050}) == "send");  // through another function that copies
  CHECK(by({0x1010, 0x8000 + 0x20, 0x9010}) == "page_cache");
  CHECK(by({0x1010, 0x9010}) == "other");
  CHECK(by({0x1010}) == "other");
  CHECK(by({0x3050, 0x4020}) == "no copy");                  // sends, and does not copy at this moment
  CHECK(by({0x6010, 0x5050, 0x7010}) == "no copy");          // a page of one's own
  CHECK(by({0x6010, 0x5050, 0x7010, 0x4020}) == "no copy");  // in the middle of a send
  CHECK(by({0x1010, 0x4000}) == "send");                     // a call that ends tcp_sendmsg_locked returns behind it
  CHECK_FALSE(map.copies_for({}));
  CHECK_FALSE(map.copies_for(std::vector<std::uint64_t>{0x1000}));  // below every function
}

TEST_CASE("symbols that are hidden or not there") {
  const auto refused = [](const char* text) {
    const auto map = CopyMap::parse(text, CopySymbols::builtin());
    return std::holds_alternative<CopyMap::Refusal>(map) ? std::get<CopyMap::Refusal>(map) : CopyMap::Refusal{99};
  };
  CHECK(refused("0000000000000000 T _copy_to_iter\n0000000000000000 T vfs_read\n") == CopyMap::Refusal::hidden);
  CHECK(refused("") == CopyMap::Refusal::empty);
  CHECK(refused("nonsense\nffffffff81000000 T\nffffffff81000000\nffffffff81000000 D data\n\n") ==
        CopyMap::Refusal::empty);
}
