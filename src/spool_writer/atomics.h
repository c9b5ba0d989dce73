// Atomics on plain integers, as compiler builtins: <atomic> belongs to libstdc++, which the writer does without,
// and the integers of a mapped file are no std::atomic. The forms that take addresses serve enumerations too.
#pragma once

namespace gradsync::spool {

template <typename T>
inline T load_relaxed(const T* from) {
  T value;
  __atomic_load(from, &value, __ATOMIC_RELAXED);
  return value;
}

template <typename T>
inline T load_acquire(const T* from) {
  T value;
  __atomic_load(from, &value, __ATOMIC_ACQUIRE);
  return value;
}

template <typename T>
inline void store_relaxed(T* to, T value) {
  __atomic_store(to, &value, __ATOMIC_RELAXED);
}

template <typename T>
inline void store_release(T* to, T value) {
  __atomic_store(to, &value, __ATOMIC_RELEASE);
}

// Of two threads that each store one of these and then load the other's, at least one sees the other.
template <typename T>
inline T load_ordered(const T* from) {
  T value;
  __atomic_load(from, &value, __ATOMIC_SEQ_CST);
  return value;
}

template <typename T>
inline void store_ordered(T* to, T value) {
  __atomic_store(to, &value, __ATOMIC_SEQ_CST);
}

template <typename T>
inline T add_relaxed(T* to, T value) {
  return __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}

template <typename T>
inline T swap(T* to, T value) {
  return __atomic_exchange_n(to, value, __ATOMIC_ACQ_REL);
}

// True when `*at` was `expected` and is `desired` now.
template <typename T>
inline bool replace(T* at, T expected, T desired) {
  return __atomic_compare_exchange(at, &expected, &desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

template <typename T>
inline void raise_to(T* at, T value) {
  T seen = load_relaxed(at);
  while (seen < value && !__atomic_compare_exchange_n(at, &seen, value, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
}

}  // namespace gradsync::spool
