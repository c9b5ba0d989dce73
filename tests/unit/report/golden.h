// Expected output in files. GSD_UPDATE_GOLDEN=1 in the environment writes them anew; read the diff before committing.
#pragma once

#include <string>

namespace gradsync {

// Content of golden/`name`; with GSD_UPDATE_GOLDEN `actual` becomes it first.
std::string golden(const std::string& name, const std::string& actual);

}  // namespace gradsync
