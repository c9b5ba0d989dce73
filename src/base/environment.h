// The environment of this process, name → value.
#pragma once

#include <map>
#include <string>

namespace gradsync {

std::map<std::string, std::string> own_environment();

}  // namespace gradsync
