// Which collective of one rank is the same as which of another.
//
// Collectives of a rank are sorted into channels: one communicator, seen by one kind of source. Ranks that have the same
// channel are matched in it by the sequence numbers that they carry, else by order. A trace may begin and end anywhere:
// by order, the shift of one rank against another is that at which the operations agree and the ends stay closest to a
// constant distance. No common clock is needed for that.
//
//   rank 0   a   b     c  d      e            |e − e'| is the same for all pairs at the right shift only,
//   rank 1       b'     c' d'     e'   f'     because steps are never perfectly even: a and f' are cut
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/timeline/rank_timeline.h"

namespace gradsync {

struct CollectiveMember {
  std::uint32_t rank = 0;   // index into the ranks
  std::uint32_t event = 0;  // index into that rank's events
  Interval time;            // arrival … completion
};

// What completions of an operation on different ranks have to do with each other.
enum class Ends {
  apart,        // broadcast, send, recv, reduce, all-to-all: each rank ends when its own part is done
  together,     // all-reduce, all-gather, barrier
  of_backward,  // together: backward, in which the framework waits for its last all-reduce. Not a collective event
};

struct MatchedCollective {
  std::string_view operation;
  NameId group = NameId::none;  // in the first member's strings
  Ends ends = Ends::apart;
  bool complete = false;                  // every rank of the communicator is a member
  std::vector<CollectiveMember> members;  // by rank; two or more
};

struct CollectiveMatching {
  std::vector<MatchedCollective> collectives;
  std::int64_t events = 0;  // collectives of ranks that have peers in their channel
  std::int64_t cut = 0;     // of those: before the first or after the last that the others saw
  std::int64_t differ = 0;  // of those: the others did something else at that place
};

CollectiveMatching match_collectives(const std::vector<RankTimeline>& ranks);

}  // namespace gradsync
