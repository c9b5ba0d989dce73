#include "collectors/inject/nccl/libraries.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "collectors/inject/side_map.h"
#include "src/spool_writer/old_glibc.h"

namespace gradsync::nccl {
namespace {

constexpr const char* kSymbols[] = {"ncclAllReduce",
                                    "ncclAllGather",
                                    "ncclReduceScatter",
                                    "ncclBroadcast",
                                    "ncclBcast",
                                    "ncclReduce",
                                    "ncclAlltoAll",
                                    "ncclGather",
                                    "ncclScatter",
                                    "ncclSend",
                                    "ncclRecv",
                                    "ncclCommInitRank",
                                    "ncclCommInitRankConfig",
                                    "ncclCommInitRankScalable",
                                    "ncclCommSplit",
                                    "ncclCommDestroy",
                                    "ncclCommAbort",
                                    "ncclGroupStart",
                                    "ncclGroupEnd"};
static_assert(sizeof kSymbols / sizeof kSymbols[0] == static_cast<size_t>(NcclFunction::count));

SideMap<4096> g_found;  // place that calls and function → address

// No user-space address reaches the upper byte.
uint64_t key_of(NcclFunction function, const void* return_address) {
  return reinterpret_cast<uint64_t>(return_address) | (uint64_t{static_cast<uint8_t>(function)} + 1) << 56;
}

// A handle on the library that holds `address`; null when it has none of its own.
void* library_at(const void* address) {
  Dl_info where;
  if (dladdr(address, &where) == 0 || where.dli_fname == nullptr) return nullptr;
  return dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

struct Search {
  const char* symbol;
  void* found;
};

// Torch is searched for NCCL too: builds with a static NCCL export it from there.
int look_into(struct dl_phdr_info* info, size_t /*size*/, void* data) {
  auto* search = static_cast<Search*>(data);
  if (info->dlpi_name == nullptr) return 0;
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* name = slash == nullptr ? info->dlpi_name : slash + 1;
  if (strncmp(name, "libnccl.so", 10) != 0 && strncmp(name, "libtorch_cuda", 13) != 0) return 0;
  void* library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library != nullptr) search->found = dlsym(library, search->symbol);
  return search->found != nullptr ? 1 : 0;
}

void* search(const char* symbol, const void* return_address) {
  if (void* next = dlsym(RTLD_NEXT, symbol)) return next;
  if (void* caller = library_at(return_address)) {
    void* found = dlsym(caller, symbol);
    Dl_info ours, where;
    const bool is_ours = found != nullptr && dladdr(found, &where) != 0 &&
                         dladdr(reinterpret_cast<const void*>(&symbol_of), &ours) != 0 &&
                         where.dli_fbase == ours.dli_fbase;
    if (found != nullptr && !is_ours) return found;
  }
  Search mapped = {symbol, nullptr};
  dl_iterate_phdr(look_into, &mapped);
  return mapped.found;
}

}  // namespace

const char* symbol_of(NcclFunction function) { return kSymbols[static_cast<uint8_t>(function)]; }

void* real_function(NcclFunction function, const void* return_address) {
  const uint64_t key = key_of(function, return_address);
  if (const uint64_t known = g_found.get(key)) return reinterpret_cast<void*>(known);
  const int saved_errno = errno;
  void* found = search(symbol_of(function), return_address);
  if (found != nullptr) {
    library_at(found);  // holds it: what a dlclose would unmap may be called from here again
    g_found.put(key, reinterpret_cast<uint64_t>(found));
  }
  errno = saved_errno;
  return found;
}

int version_of_nccl_at(const void* address) {
  int version = 0;
  void* library = library_at(address);
  if (library == nullptr) return 0;
  auto* get_version = reinterpret_cast<int (*)(int*)>(dlsym(library, "ncclGetVersion"));
  if (get_version != nullptr) get_version(&version);
  dlclose(library);
  return version;
}

}  // namespace gradsync::nccl
