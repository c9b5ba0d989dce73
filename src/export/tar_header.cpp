#include "src/export/tar_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace gradsync {
namespace {

// Offsets and lengths of the fields.
struct Field {
  std::size_t at, size;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kOwner{108, 8}, kGroup{116, 8}, kSize{124, 12}, kTime{136, 12},
    kSum{148, 8}, kType{156, 1}, kMagic{257, 6}, kVersion{263, 2}, kPrefix{345, 155};

void put(TarBlock& block, Field field, std::string_view text) {
  std::copy_n(text.begin(), std::min(text.size(), field.size), block.begin() + static_cast<std::ptrdiff_t>(field.at));
}

std::string_view text_of(const TarBlock& block, Field field) {
  const std::string_view whole(block.data() + field.at, field.size);
  return whole.substr(0, whole.find('\0'));
}

unsigned sum_of(TarBlock block) {
  std::fill_n(block.begin() + kSum.at, kSum.size, ' ');
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  return sum;
}

// Octal digits, then blanks or nothing. Numbers in base 256 are not understood.
std::optional<std::uint64_t> number_of(const TarBlock& block, Field field) {
  std::string_view text = text_of(block, field);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (text.empty() || text.find_first_not_of("01234567") != std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  for (const char digit : text) number = number * 8 + static_cast<std::uint64_t>(digit - '0');
  return number;
}

Error refused(const std::string& what) { return {"", "", what, "", 3}; }

bool is_plain(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 127 && c != '\\'; });
}

bool leads_out(std::string_view name) {
  if (name.starts_with('/')) return true;
  while (!name.empty()) {
    const std::size_t slash = std::min(name.find('/'), name.size());
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return true;
    name.remove_prefix(std::min(slash + 1, name.size()));
  }
  return false;
}

const char* kind_of(char type) {
  switch (type) {
    case '1':
      return "a link to another file";
    case '2':
      return "a symbolic link";
    case '3':
    case '4':
      return "a device";
    case '6':
      return "a pipe";
    default:
      return "neither a file nor a folder";
  }
}

}  // namespace

Result<TarBlock> tar_header(const TarEntry& entry) {
  // A long name is split at a slash.
  std::string_view name = entry.name, before;
  if (name.size() > kName.size) {
    const std::size_t slash = std::min(name.find('/', name.size() - kName.size - 1), name.size());
    before = name.substr(0, slash);
    name.remove_prefix(std::min(slash + 1, name.size()));
  }
  if (name.empty() || before.size() > kPrefix.size || !is_plain(entry.name))
    return Error{"cannot pack", entry.name, "its name is too long, or no plain ASCII without blanks", "", 125};
  if (entry.bytes >= std::uint64_t{1} << 33) return Error{"cannot pack", entry.name, "it is 8 GiB or more", "", 125};
  TarBlock block{};
  put(block, kName, name);
  put(block, kPrefix, before);
  put(block, kMode, entry.folder ? "0000700" : "0000600");
  put(block, kOwner, "0000000");
  put(block, kGroup, "0000000");
  put(block, kSize, fmt::format("{:011o}", entry.bytes));
  put(block, kTime, "00000000000");
  put(block, kType, entry.folder ? "5" : "0");
  put(block, kMagic, std::string_view("ustar\0", 6));
  put(block, kVersion, "00");
  put(block, kSum, fmt::format("{:06o}", sum_of(block)) + std::string("\0 ", 2));
  return block;
}

Result<TarEntry> read_tar_header(const TarBlock& block) {
  const auto sum = number_of(block, kSum), size = number_of(block, kSize);
  if (!sum || *sum != sum_of(block)) return refused("it is damaged: what should be an entry is none");
  const std::string before(text_of(block, kPrefix));
  const std::string name = (before.empty() ? "" : before + "/") + std::string(text_of(block, kName));
  const char type = block[kType.at];
  const std::string shown = is_plain(name) ? name : "an entry";
  if (type != '0' && type != '\0' && type != '5') return refused(shown + " in it is " + kind_of(type));
  if (!size || name.empty() || !is_plain(name)) return refused(shown + " in it has a name or a size that no pack has");
  if (leads_out(name) || !name.starts_with(kPackFolder)) return refused(shown + " in it leads out of its folder");
  const bool folder = type == '5';
  if (folder != name.ends_with('/') || (folder && *size != 0))
    return refused(shown + " in it is neither a file nor a folder");
  return TarEntry{name, *size, folder};
}

bool is_tar_end(const TarBlock& block) {
  return std::all_of(block.begin(), block.end(), [](char c) { return c == '\0'; });
}

}  // namespace gradsync
