#include "collectors/fabric/cuda_search.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "src/base/text.h"

namespace gradsync {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing changes the environment meanwhile
  return value ? value : "";
}

std::vector<std::string> paths_like(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

// <prefix> of <prefix>/bin/python3. The link of a virtual environment is not followed: its own packages are meant.
std::vector<std::string> python_prefixes() {
  std::vector<std::string> prefixes;
  std::string folders = variable("PATH") + ":";
  for (std::size_t at = 0, end; (end = folders.find(':', at)) != std::string::npos; at = end + 1) {
    const std::string folder = folders.substr(at, end - at);
    const bool has_python =
        access((folder + "/python3").c_str(), X_OK) == 0 || access((folder + "/python").c_str(), X_OK) == 0;
    if (has_python && !folder.empty()) prefixes.push_back(folder + "/..");
  }
  if (const std::string home = variable("HOME"); !home.empty()) prefixes.push_back(home + "/.local");
  return prefixes;
}

std::vector<std::string> places_of(const std::string& soname) {
  std::vector<std::string> places;
  const auto add = [&](std::vector<std::string> paths) { places.insert(places.end(), paths.begin(), paths.end()); };
  for (const std::string& prefix : python_prefixes()) {
    for (const char* packages : {"site-packages", "dist-packages"})
      add(paths_like(prefix + "/lib*/python3*/" + packages + "/nvidia/*/lib/" + soname));
  }
  add(paths_like("/usr/local/cuda/lib64/" + soname));
  auto toolkits = paths_like("/usr/local/cuda-*/lib64/" + soname);
  std::reverse(toolkits.begin(), toolkits.end());  // the newest first
  add(std::move(toolkits));
  return places;
}

std::string path_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != '\0') return map->l_name;
  return name;
}

class Attempts {
 public:
  explicit Attempts(const LibraryRefusal& refusal) : refusal_(refusal) {}

  bool open(const std::string& name, int flags) {
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
    if (!handle) {
      const char* why = dlerror();  // NOLINT(concurrency-mt-unsafe): kept per thread
      if (!(flags & RTLD_NOLOAD)) tried_.emplace_back(why ? why : name + ": cannot be loaded");
      return false;
    }
    OpenLibrary library{handle, path_of(handle, name)};
    const std::string why = refusal_(library);
    if (why.empty()) {
      opened_ = std::move(library);
      return true;
    }
    if (std::find(refused_.begin(), refused_.end(), library.path) == refused_.end()) {
      refused_.push_back(library.path);
      tried_.push_back(library.path + ": " + why);
    }
    return false;
  }
  const OpenLibrary& opened() const { return opened_; }
  std::string tried() const { return join(tried_, "; "); }

 private:
  const LibraryRefusal& refusal_;
  OpenLibrary opened_;
  std::vector<std::string> tried_, refused_;
};

}  // namespace

Result<OpenLibrary> open_library(const LibraryKind& kind, const LibraryRefusal& refusal) {
  Attempts attempts(refusal);
  const auto error = [&] { return Error{"cannot use " + kind.name, "", attempts.tried(), kind.hint}; };
  if (const std::string named = variable(kind.variable.c_str()); !named.empty()) {
    if (attempts.open(named, 0)) return attempts.opened();
    Error refused = error();
    refused.on = "of " + kind.variable;
    return refused;
  }
  for (const int flags : {RTLD_NOLOAD, 0}) {
    for (const std::string& soname : kind.sonames)
      if (attempts.open(soname, flags)) return attempts.opened();
  }
  for (const std::string& soname : kind.sonames) {
    for (const std::string& place : places_of(soname))
      if (attempts.open(place, 0)) return attempts.opened();
  }
  return error();
}

void* SymbolTable::find(const char* name) const { return dlsym(handle_, name); }

}  // namespace gradsync
