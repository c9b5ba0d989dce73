#include "tests/unit/report/golden.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace gradsync {

std::string golden(const std::string& name, const std::string& actual) {
  const std::string path = GSD_GOLDEN_FOLDER "/" + name;
  if (std::getenv("GSD_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << actual;
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace gradsync
