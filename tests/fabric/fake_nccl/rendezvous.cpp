#include "tests/fabric/fake_nccl/rendezvous.h"

#include <algorithm>

#include "collectors/fabric/abi/nccl_abi.h"
#include "tests/fabric/fake_nccl/sums.h"

namespace fake {
namespace {

using gradsync::nccl::kInvalidUsage;
using gradsync::nccl::kRemoteError;
using gradsync::nccl::kSuccess;

std::string told(const Message& message) {
  if (message.parts.empty()) return name_of(message.request.kind);
  const Part& part = message.parts[0];
  return std::string(name_of(message.request.kind)) + " (count " + std::to_string(part.count) + ", type " +
         std::to_string(part.type) + ", reduction " + std::to_string(part.reduction) + ", root " +
         std::to_string(part.peer) + ")";
}

bool is_same_call(const Message& a, const Message& b) {
  if (a.request.kind != b.request.kind || a.parts.empty()) return a.request.kind == b.request.kind;
  const Part &x = a.parts[0], &y = b.parts[0];
  return x.count == y.count && x.type == y.type && x.reduction == y.reduction && x.peer == y.peer;
}

std::string what(const char* verb, std::size_t rank, const Part& part) {
  return std::string(verb) + " of rank " + std::to_string(rank) + " (count " + std::to_string(part.count) + ", type " +
         std::to_string(part.type) + ")";
}

}  // namespace

void Rendezvous::arrive(std::size_t rank, Message message) {
  const std::size_t parts = message.parts.size();
  waiting_[rank] = Waiting{std::move(message), std::vector<char>(parts, 0)};
  if (std::find(gone_.begin(), gone_.end(), true) != gone_.end())
    answer_all(kRemoteError, "a rank is gone");
  else
    progress();
}

void Rendezvous::leave(std::size_t rank) {
  gone_[rank] = true;
  waiting_[rank].reset();
  answer_all(kRemoteError, "rank " + std::to_string(rank) + " is gone");
}

std::map<std::size_t, Answer> Rendezvous::take_answers() {
  auto taken = std::move(answers_);
  answers_.clear();
  return taken;
}

void Rendezvous::answer_all(int status, const std::string& sentence) {
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    if (!waiting_[rank]) continue;
    answers_[rank] = {status, sentence};
    waiting_[rank].reset();
  }
}

void Rendezvous::progress() {
  match_parts();
  const bool any_done = answer_matched();
  for (const auto& rank : waiting_)
    if (!rank || any_done) return;
  // All are waiting, and no pair of send and receive came together.
  if (at(0).request.kind == Kind::exchange) {
    const bool all_exchange = std::all_of(waiting_.begin(), waiting_.end(), [](const auto& rank) {
      return rank->message.request.kind == Kind::exchange;
    });
    if (all_exchange)
      return answer_all(
          kInvalidUsage,
          "sends and receives wait for each other: they must be fused between ncclGroupStart and ncclGroupEnd");
  }
  for (std::size_t rank = 1; rank < ranks_; ++rank) {
    if (is_same_call(at(0), at(rank))) continue;
    return answer_all(kInvalidUsage,
                      "rank 0 calls " + told(at(0)) + ", rank " + std::to_string(rank) + " calls " + told(at(rank)));
  }
  if (at(0).request.kind == Kind::bye) return answer_all(kSuccess, "");
  finish_collective();
}

// All ranks made the same call. The payload of a part is what its rank sends.
void Rendezvous::finish_collective() {
  const Kind kind = at(0).request.kind;
  const Part part = at(0).parts[0];
  const std::size_t block = part.count * size_of_type(part.type);
  std::string whole;
  if (kind == Kind::broadcast) whole = at(static_cast<std::size_t>(part.peer)).payloads[0];
  if (kind == Kind::all_gather)
    for (std::size_t rank = 0; rank < ranks_; ++rank) whole += at(rank).payloads[0];
  if (kind == Kind::all_reduce || kind == Kind::reduce_scatter) {
    whole = at(0).payloads[0];
    for (std::size_t rank = 1; rank < ranks_; ++rank) add(whole, at(rank).payloads[0], part.type);
  }
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    if (kind == Kind::reduce_scatter) {
      answers_[rank] = {kSuccess, whole.substr(rank * block, block)};
    } else if (kind == Kind::all_to_all) {
      std::string received;
      for (std::size_t from = 0; from < ranks_; ++from) received += at(from).payloads[0].substr(rank * block, block);
      answers_[rank] = {kSuccess, std::move(received)};
    } else {
      answers_[rank] = {kSuccess, whole};
    }
  }
  for (auto& rank : waiting_) rank.reset();
}

void Rendezvous::match_parts() {
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    if (!waiting_[rank] || at(rank).request.kind != Kind::exchange) continue;
    for (std::size_t part = 0; part < at(rank).parts.size(); ++part)
      if (waiting_[rank] && at(rank).parts[part].is_receive && !match(rank, part)) return;
  }
}

// The first unmatched send of the peer to `receiver`. false: counts or types differ, and all were told.
bool Rendezvous::match(std::size_t receiver, std::size_t part) {
  Waiting& to = *waiting_[receiver];
  if (to.is_matched[part]) return true;
  const auto sender = static_cast<std::size_t>(to.message.parts[part].peer);
  if (sender >= ranks_ || !waiting_[sender] || at(sender).request.kind != Kind::exchange) return true;
  Waiting& from = *waiting_[sender];
  for (std::size_t i = 0; i < from.message.parts.size(); ++i) {
    const Part& sent = from.message.parts[i];
    if (sent.is_receive || from.is_matched[i] || sent.peer != static_cast<int>(receiver)) continue;
    const Part& wanted = to.message.parts[part];
    if (sent.count != wanted.count || sent.type != wanted.type) {
      answer_all(kInvalidUsage, what("send", sender, sent) + " does not fit " + what("receive", receiver, wanted));
      return false;
    }
    to.message.payloads[part] = from.message.payloads[i];
    to.is_matched[part] = from.is_matched[i] = 1;
    return true;
  }
  return true;
}

bool Rendezvous::answer_matched() {
  bool any = !answers_.empty();
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    if (!waiting_[rank] || at(rank).request.kind != Kind::exchange) continue;
    const auto& matched = waiting_[rank]->is_matched;
    if (std::find(matched.begin(), matched.end(), 0) != matched.end()) continue;
    std::string received;
    for (std::size_t part = 0; part < matched.size(); ++part)
      if (at(rank).parts[part].is_receive) received += at(rank).payloads[part];
    answers_[rank] = {kSuccess, std::move(received)};
    waiting_[rank].reset();
    any = true;
  }
  return any;
}

}  // namespace fake
