#include "collectors/host/bpf_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>

namespace gradsync {

bool BpfMap::get(const void* key, void* value) const { return ::bpf_map_lookup_elem(fd_, key, value) == 0; }

bool BpfMap::put(const void* key, const void* value) const {
  return ::bpf_map_update_elem(fd_, key, value, BPF_ANY) == 0;
}

std::size_t BpfMap::all_cpus() {
  static const int cpus = ::libbpf_num_possible_cpus();
  return static_cast<std::size_t>(std::max(cpus, 1));
}

// One system call for some thousand entries. The memory of a batch is touched as far as it is filled.
void BpfMap::read_all(std::size_t entry_bytes,
                      const std::function<void(const std::byte*, const std::byte*)>& use) const {
  constexpr std::size_t kBatch = 1024;  // more than any bucket of the hash holds
  const std::size_t batch = std::min(most_entries_, kBatch);
  std::vector<std::byte> keys(batch * key_bytes_), values(batch * entry_bytes);
  LIBBPF_OPTS(bpf_map_batch_opts, options);
  unsigned position = 0;
  void* from = nullptr;
  for (;;) {
    auto count = static_cast<unsigned>(batch);
    const int error = ::bpf_map_lookup_batch(fd_, from, &position, keys.data(), values.data(), &count, &options);
    if (error != 0 && errno != ENOENT) return;  // ENOENT: these are the last
    for (std::size_t i = 0; i < count; ++i) use(keys.data() + i * key_bytes_, values.data() + i * entry_bytes);
    if (error != 0) return;
    from = &position;
  }
}

}  // namespace gradsync
