// Where libraries of CUDA are looked for at run time, and how their functions are taken. The doctor links none of them,
// so it starts on every machine. Called by one thread; what was opened stays open until the process ends.
//
// Order: the variable that names one file (then nothing else), a copy that is loaded already, the system's own search
// (LD_LIBRARY_PATH, ld.so.cache), wheels of the python on PATH (site-packages/nvidia/*/lib), /usr/local/cuda*/lib64.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "src/base/result.h"

namespace gradsync {

struct LibraryKind {
  std::string name;                  // "NCCL"
  std::string variable;              // "GSD_NCCL_LIBRARY"
  std::vector<std::string> sonames;  // the preferred one first
  std::string hint;                  // how to get one
};

struct OpenLibrary {
  void* handle = nullptr;
  std::string path;  // of the file that was mapped
};

// Why an opened library cannot be used, for the next one to be tried; empty when it can.
using LibraryRefusal = std::function<std::string(const OpenLibrary& library)>;

// Error: what was tried, and why each was not taken.
Result<OpenLibrary> open_library(const LibraryKind& kind, const LibraryRefusal& refusal);

// Takes functions by name, and remembers which are not there.
class SymbolTable {
 public:
  explicit SymbolTable(void* handle) : handle_(handle) {}

  template <class Function>
  void take(const char* name, Function*& slot) {
    if (!take_if_there(name, slot)) missing_.emplace_back(name);
  }
  template <class Function>
  bool take_if_there(const char* name, Function*& slot) {
    void* address = find(name);
    std::memcpy(&slot, &address, sizeof(slot));
    return address != nullptr;
  }
  const std::vector<std::string>& missing() const { return missing_; }

 private:
  void* find(const char* name) const;

  void* handle_;
  std::vector<std::string> missing_;
};

}  // namespace gradsync
