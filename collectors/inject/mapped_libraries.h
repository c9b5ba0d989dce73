// The libraries that are mapped into this process, by the file's name.
#pragma once

#include <stddef.h>

namespace gradsync {

// Calls visit(path, file name, context) for each until it returns true; whether one did.
bool any_library(bool (*visit)(const char* path, const char* name, void* context), void* context);

// Path of the first whose file's name begins with `prefix`; false: there is none.
bool find_library(const char* prefix, char* path, size_t bytes);

}  // namespace gradsync
