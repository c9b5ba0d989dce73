// One rank's side of a communicator: does what comes up in a stream, over its socket to the hub. The first failure stays,
// as NCCL's asynchronous error; everything after it does nothing.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collectors/fabric/abi/nccl_abi.h"
#include "tests/fabric/fake_nccl/wire.h"

namespace fake {

// One call: a collective, or one send or receive.
struct Item {
  Part part;
  const void* send = nullptr;
  std::size_t send_bytes = 0;
  void* receive = nullptr;
  std::size_t receive_bytes = 0;
};

struct Operation {
  Kind kind = Kind::exchange;
  std::vector<Item> items;  // one for a collective, those of the group for sends and receives
};

class Communicator {
 public:
  // Blocks until all ranks are there. nullptr: there is no hub, or it refused.
  static std::shared_ptr<Communicator> join(const std::string& hub, int ranks, int rank);
  ~Communicator();

  void execute(const Operation& operation);
  void abort();
  void wait_for_abort();
  void say_goodbye();  // blocks until all ranks have, as NCCL's own destruction does
  gradsync::nccl::Status status() const { return status_; }
  int ranks() const { return ranks_; }
  int rank() const { return rank_; }

 private:
  Communicator(int socket, int ranks, int rank) : socket_(socket), ranks_(ranks), rank_(rank) {}
  void fail(gradsync::nccl::Status status, const std::string& sentence);
  bool knobs_allow();
  bool talk(const Operation& operation, std::string& received);
  std::size_t bytes_of(const Operation& operation) const;

  int socket_, ranks_, rank_;
  int executed_ = 0;
  std::atomic<gradsync::nccl::Status> status_{gradsync::nccl::kSuccess};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_aborted_ = false;
};

// NCCL's last sentence, of this process.
void set_last_error(const std::string& sentence);
const char* last_error();

// "3:2": in the third time, with status 2. Whether this is the time, and the status.
bool is_time(const char* knob_name, int count, int& status);

}  // namespace fake
