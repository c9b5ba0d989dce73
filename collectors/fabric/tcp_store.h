// TcpStore: the store between ranks as one rank reaches it, and the clock of the rank that keeps it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "collectors/fabric/rank_store.h"
#include "collectors/fabric/sockets.h"
#include "collectors/fabric/store_protocol.h"

namespace gradsync {

struct StoreMember {
  std::string host;  // of rank 0
  int port = 0;
  int rank = 0, ranks = 2;
  std::string version, options, token;
  std::string own_host;  // for messages
  std::int64_t timeout_ms = 60'000;
  const std::atomic<bool>* stop = nullptr;  // set: waiting ends with an error, until end_with() says otherwise
};

// This host's CLOCK_MONOTONIC plus `offset_ns` is that of rank 0; off by `uncertainty_ns` at most.
struct ClockOffset {
  std::int64_t offset_ns = 0, uncertainty_ns = 0;
};

class TcpStore : public RankStore {
 public:
  // Waits until rank 0 listens. Error: it does not, or refuses this rank and says why.
  static Result<std::unique_ptr<TcpStore>> join(const StoreMember& member);
  ~TcpStore() override;  // says goodbye

  Result<void> set(std::string_view key, std::string_view value) override;
  Result<std::string> get(std::string_view key, std::int64_t timeout_ms) override;
  Result<std::vector<std::string>> exchange(std::string_view round, std::string_view mine,
                                            std::int64_t timeout_ms) override;

  // Tells the others that this rank cannot go on: their next answer is an error with this text.
  void fail(const std::string& why);
  // What went wrong elsewhere, waiting that long for it to become known. Nothing: no other rank has trouble.
  std::optional<Error> trouble(std::int64_t wait_ms);
  // The shortest of a few round trips.
  Result<ClockOffset> clock_offset();

  void end_with(const std::atomic<bool>* stop) { stop_ = stop; }

  const std::string& own_address() const { return own_address_; }         // of the connection to rank 0
  const std::string& address_of_rank0() const { return rank0_address_; }  // as rank 0 sees it on its side

 private:
  explicit TcpStore(FileDescriptor socket) : socket_(std::move(socket)) {}
  Result<Frame> ask(const Frame& frame, std::int64_t timeout_ms);
  Result<void> send(const Frame& frame);
  Result<Frame> receive(std::int64_t timeout_ms);

  FileDescriptor socket_;
  const std::atomic<bool>* stop_ = nullptr;
  FrameReader reader_{kMostFrameBytes};
  std::string own_address_, rank0_address_;
};

}  // namespace gradsync
