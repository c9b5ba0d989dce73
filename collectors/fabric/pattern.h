// What ranks send, so that every element of a result can be checked: small whole numbers, exact in every type, in sums
// over ranks too, that differ between neighbours, ranks and salts. Pure.
//
//   value(rank, i, salt) = (mix(i) + salt + k × rank) mod m      m = 4 where ranks are summed, 64 where they are copied
#pragma once

#include <cstdint>

#include "collectors/fabric/backend.h"

namespace gradsync {

struct PatternPlace {
  int rank = 0, ranks = 2;
  unsigned salt = 0;
};

struct BufferSizes {
  std::int64_t send = 0, receive = 0;  // elements of one rank
};
BufferSizes buffer_sizes(const FabricCall& call, int ranks);

// What `place.rank` sends in `call`: buffer_sizes().send elements.
void fill_sent(void* buffer, const FabricCall& call, const PatternPlace& place);
// Elements of what it received that are not what they must be.
std::int64_t count_wrong_received(const void* buffer, const FabricCall& call, const PatternPlace& place);

}  // namespace gradsync
