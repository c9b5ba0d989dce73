#include "collectors/import/nsys_names.h"

#include <algorithm>
#include <array>

#include "collectors/import/collective.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostNameBytes = 4096;

bool is_plain(std::string_view text) {
  return text.size() <= kMostNameBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x80 && c != '\0';
         });
}

// Where emit_nvtx's numbers begin; npos when there are none.
std::size_t operator_numbers(std::string_view text) {
  std::size_t first = std::string_view::npos;
  for (const std::string_view mark : {", seq = ", ", op_id = "}) first = std::min(first, text.find(mark));
  return first;
}

bool is_nccl_call(std::string_view text) {
  return text.size() > 4 && text.starts_with("nccl") && text[4] >= 'A' && text[4] <= 'Z';
}

}  // namespace

NsysStrings::NsysStrings(const NsysDatabase& database)
    : database_(database), keyed_(database.is_key("StringIds", "id")) {
  if (keyed_) return;
  constexpr std::array<std::string_view, 2> columns{"id", "value"};
  NsysRows rows = database.rows("StringIds", columns);
  while (rows.next())
    if (const std::optional<std::int64_t> id = rows.integer(0)) all_.try_emplace(*id, rows.text(1).substr(0, 4096));
}

std::optional<std::string> NsysStrings::find(std::int64_t id) const {
  if (keyed_) return database_.text_of("StringIds", "id", "value", id);
  const auto found = all_.find(id);
  return found == all_.end() ? std::nullopt : std::optional(found->second);
}

std::string clean_text(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string clean;
  while (!text.empty()) {
    const CodePoint next = next_code_point(text);
    if (clean.size() + next.bytes > kMostNameBytes) break;
    if (next.valid && next.value != 0)
      clean += text.substr(0, next.bytes);
    else
      clean += '?';
    text.remove_prefix(next.bytes);
  }
  return clean;
}

const NsysName* NsysNames::by_id(std::int64_t id) {
  const auto [slot, inserted] = by_id_.try_emplace(id, nullptr);
  if (inserted)
    if (const std::optional<std::string> text = strings_.find(id); text && !text->empty())
      slot->second = &by_text(*text);
  return slot->second;
}

const NsysName& NsysNames::by_text(std::string_view text) {
  const std::size_t numbers = operator_numbers(text.substr(0, kMostNameBytes));
  // The operator "x" and a range called "x" are different things: the comma tells them apart in the table.
  const std::string_view key = numbers == std::string_view::npos ? text : text.substr(0, numbers + 1);
  const auto found = by_text_.find(key);
  if (found != by_text_.end()) return found->second;
  NsysName name;
  const std::string shown = clean_text(text.substr(0, numbers));
  name.framework_operator = numbers != std::string_view::npos;
  name.known = &known_.find(shown);
  name.nccl_call = is_nccl_call(shown) && !name.framework_operator;
  if (name.nccl_call) name.operation = canonical_collective(std::string_view(shown).substr(4));
  name.launches = shown.find("Launch") != std::string::npos;
  name.polls = shown.find("Query") != std::string::npos;
  if (name.nccl_call && shown.starts_with("ncclGroupStart")) name.group = NcclGroup::start;
  if (name.nccl_call && shown.starts_with("ncclGroupEnd")) name.group = NcclGroup::end;
  return by_text_.emplace(std::string(key), name).first->second;
}

}  // namespace gradsync
