// Reading a map of a program in the kernel: single entries and all of them at once.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <vector>

namespace gradsync {

// Does not own the map. Values of maps with one for each CPU come one after the other, each at a multiple of 8.
class BpfMap {
 public:
  BpfMap() = default;
  BpfMap(int fd, std::size_t key_bytes, std::size_t value_bytes, std::size_t most_entries)
      : fd_(fd), key_bytes_(key_bytes), value_bytes_(value_bytes), most_entries_(most_entries) {}

  int fd() const { return fd_; }
  bool get(const void* key, void* value) const;  // false: not there
  bool put(const void* key, const void* value) const;

  template <class Key, class Value, class Use>
  void each(Use use) const {
    read_all(value_bytes_,
             [&](const std::byte* key, const std::byte* value) { use(copy<Key>(key), copy<Value>(value)); });
  }
  template <class Key, class Value, class Use>
  void each_of_all_cpus(Use use) const {
    const std::size_t step = padded();
    read_all(step * all_cpus(), [&](const std::byte* key, const std::byte* values) {
      for (std::size_t cpu = 0; cpu < all_cpus(); ++cpu) use(copy<Key>(key), cpu, copy<Value>(values + cpu * step));
    });
  }
  // Of a map with a single entry.
  template <class Value>
  std::vector<Value> of_all_cpus() const {
    std::vector<std::byte> bytes(padded() * all_cpus());
    const unsigned zero = 0;
    std::vector<Value> values(all_cpus());
    if (get(&zero, bytes.data()))
      for (std::size_t cpu = 0; cpu < values.size(); ++cpu) values[cpu] = copy<Value>(bytes.data() + cpu * padded());
    return values;
  }

 private:
  template <class T>
  static T copy(const std::byte* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  static std::size_t all_cpus();  // that could ever be there
  std::size_t padded() const { return (value_bytes_ + 7) / 8 * 8; }
  void read_all(std::size_t entry_bytes, const std::function<void(const std::byte*, const std::byte*)>& use) const;

  int fd_ = -1;
  std::size_t key_bytes_ = 0, value_bytes_ = 0, most_entries_ = 0;
};

}  // namespace gradsync
