#include "src/timeline/event_list.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace gradsync {
namespace {

struct Key {
  Nanoseconds start = 0;
  std::size_t index = 0;  // where the event stands now
};

}  // namespace

const Event& EventList::at(std::size_t i) const {
  if (i >= size_) throw std::out_of_range("EventList");
  return (*this)[i];
}

void EventList::sort_by_start() {
  if (std::is_sorted(begin(), end(), [](const Event& a, const Event& b) { return a.start < b.start; })) return;
  std::vector<Key> keys(size_);
  for (std::size_t i = 0; i < size_; ++i) keys[i] = {(*this)[i].start, i};
  std::stable_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) { return a.start < b.start; });
  // Place i takes the event of place keys[i].index: round each cycle of places once, with one event set aside.
  for (std::size_t first = 0; first < size_; ++first) {
    if (keys[first].index == first) continue;
    const Event aside = (*this)[first];
    std::size_t place = first;
    while (keys[place].index != first) {
      const std::size_t from = std::exchange(keys[place].index, place);
      (*this)[place] = (*this)[from];
      place = from;
    }
    (*this)[place] = aside;
    keys[place].index = place;
  }
}

}  // namespace gradsync
