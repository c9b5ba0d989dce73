#include "src/base/available_memory.h"

#include <cstdlib>

#include "src/base/file.h"

namespace gradsync {

std::optional<double> available_memory(const std::filesystem::path& meminfo) {
  constexpr std::string_view kName = "MemAvailable:";
  const Result<std::string> text = read_file(meminfo);
  if (!text) return std::nullopt;
  const std::size_t at = text->find(kName);
  if (at == std::string::npos) return std::nullopt;
  const double kibibytes = std::strtod(text->c_str() + at + kName.size(), nullptr);
  return kibibytes > 0 ? std::optional(kibibytes * 1024) : std::nullopt;
}

}  // namespace gradsync
