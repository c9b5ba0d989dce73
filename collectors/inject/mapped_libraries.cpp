#include "collectors/inject/mapped_libraries.h"

#include <link.h>
#include <string.h>

namespace gradsync {
namespace {

struct Search {
  bool (*visit)(const char*, const char*, void*);
  void* context;
};

int each(dl_phdr_info* library, size_t /*bytes*/, void* context) {
  const auto* search = static_cast<const Search*>(context);
  const char* path = library->dlpi_name;
  if (path == nullptr || path[0] == 0) return 0;
  const char* slash = strrchr(path, '/');
  return search->visit(path, slash == nullptr ? path : slash + 1, search->context) ? 1 : 0;
}

struct Wanted {
  const char* prefix;
  char* path;
  size_t bytes;
};

bool is_wanted(const char* path, const char* name, void* context) {
  const auto* wanted = static_cast<const Wanted*>(context);
  if (strncmp(name, wanted->prefix, strlen(wanted->prefix)) != 0 || strlen(path) >= wanted->bytes) return false;
  strcpy(wanted->path, path);
  return true;
}

}  // namespace

bool any_library(bool (*visit)(const char* path, const char* name, void* context), void* context) {
  Search search{visit, context};
  return dl_iterate_phdr(each, &search) != 0;
}

bool find_library(const char* prefix, char* path, size_t bytes) {
  Wanted wanted{prefix, path, bytes};
  return any_library(is_wanted, &wanted);
}

}  // namespace gradsync
