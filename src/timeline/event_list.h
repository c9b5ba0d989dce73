// EventList: the events of one rank, in chunks that never move. It grows without copying what it holds (a vector that
// doubles needs three times its size for a moment), and addresses of events stay good while it grows.
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/model/event.h"

namespace gradsync {

class EventList {
 public:
  template <bool kConst>
  class Iterator {
    using List = std::conditional_t<kConst, const EventList, EventList>;

   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = Event;
    using difference_type = std::ptrdiff_t;
    using reference = std::conditional_t<kConst, const Event&, Event&>;
    using pointer = std::conditional_t<kConst, const Event*, Event*>;

    Iterator() = default;
    Iterator(List* list, std::size_t index) : list_(list), index_(index) {}
    reference operator*() const { return (*list_)[index_]; }
    pointer operator->() const { return &(*list_)[index_]; }
    reference operator[](difference_type n) const { return (*list_)[index_ + static_cast<std::size_t>(n)]; }
    Iterator& operator+=(difference_type n) {
      index_ += static_cast<std::size_t>(n);
      return *this;
    }
    Iterator& operator-=(difference_type n) { return *this += -n; }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this += -1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator operator--(int) { return std::exchange(*this, *this - 1); }
    friend Iterator operator+(Iterator it, difference_type n) { return it += n; }
    friend Iterator operator+(difference_type n, Iterator it) { return it += n; }
    friend Iterator operator-(Iterator it, difference_type n) { return it -= n; }
    friend difference_type operator-(const Iterator& a, const Iterator& b) {
      return static_cast<difference_type>(a.index_) - static_cast<difference_type>(b.index_);
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }
    auto operator<=>(const Iterator& other) const { return index_ <=> other.index_; }

   private:
    List* list_ = nullptr;
    std::size_t index_ = 0;
  };

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Event& operator[](std::size_t i) { return chunks_[i / kChunk][i % kChunk]; }
  const Event& operator[](std::size_t i) const { return chunks_[i / kChunk][i % kChunk]; }
  const Event& at(std::size_t i) const;  // throws std::out_of_range
  const Event& front() const { return (*this)[0]; }
  const Event& back() const { return (*this)[size_ - 1]; }

  Event& push_back(const Event& event) {
    if (size_ % kChunk == 0) chunks_.emplace_back().reserve(kChunk);
    ++size_;
    return chunks_.back().emplace_back(event);
  }

  Iterator<true> begin() const { return {this, 0}; }
  Iterator<true> end() const { return {this, size_}; }
  Iterator<false> begin() { return {this, 0}; }
  Iterator<false> end() { return {this, size_}; }

  // By start; events that start together keep their order. Needs 24 bytes an event for as long as it runs.
  void sort_by_start();

 private:
  static constexpr std::size_t kChunk = 4096;  // 256 KiB
  std::vector<std::vector<Event>> chunks_;     // each reserved once
  std::size_t size_ = 0;
};

}  // namespace gradsync
