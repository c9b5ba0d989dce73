// The name of this machine, as gethostname(2) tells it; "unknown" where it does not.
#pragma once

#include <string>

namespace gradsync {

std::string host_name();

}  // namespace gradsync
