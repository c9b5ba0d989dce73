#include "src/base/environment.h"

#include <unistd.h>

#include <string_view>

namespace gradsync {

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> environment;
  for (char** setting = environ; *setting != nullptr; ++setting) {
    const std::string_view text = *setting;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) environment[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  return environment;
}

}  // namespace gradsync
