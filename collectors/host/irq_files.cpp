#include "collectors/host/irq_files.h"

#include <algorithm>
#include <charconv>

#include "src/base/file.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> small_text(const std::filesystem::path& path) {
  const Result<std::string> bytes = read_file(path, std::size_t{1} << 16);
  if (!bytes) return std::nullopt;
  return std::string(trim(*bytes));
}

std::optional<int> small_number(const std::filesystem::path& path) {
  const auto text = small_text(path);
  return text ? whole_number(*text) : std::nullopt;
}

std::optional<CpuList> small_cpu_list(const std::filesystem::path& path) {
  const auto text = small_text(path);
  return text ? parse_cpu_list(*text) : std::nullopt;
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<int> numbers_in(const std::filesystem::path& folder) {
  std::vector<int> numbers;
  for (const std::string& name : names_in(folder))
    if (const auto number = whole_number(name)) numbers.push_back(*number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace gradsync
