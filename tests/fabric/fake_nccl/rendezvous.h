// What ranks ask, until it can be answered; and NCCL's contract, checked on the way. Knows no sockets.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/fabric/fake_nccl/wire.h"

namespace fake {

struct Answer {
  int status = 0;
  std::string bytes;  // received, or the sentence of a failure
};

class Rendezvous {
 public:
  explicit Rendezvous(int ranks) : ranks_(static_cast<std::size_t>(ranks)), waiting_(ranks_), gone_(ranks_, false) {}

  void arrive(std::size_t rank, Message message);
  void leave(std::size_t rank);
  // Answers that are due, by rank.
  std::map<std::size_t, Answer> take_answers();

 private:
  struct Waiting {
    Message message;
    std::vector<char> is_matched;  // by part
  };

  void progress();
  void finish_collective();
  void match_parts();
  bool match(std::size_t receiver, std::size_t part);
  bool answer_matched();
  void answer_all(int status, const std::string& sentence);
  const Message& at(std::size_t rank) const { return waiting_[rank]->message; }

  std::size_t ranks_;
  std::vector<std::optional<Waiting>> waiting_;
  std::vector<bool> gone_;
  std::map<std::size_t, Answer> answers_;
};

}  // namespace fake
