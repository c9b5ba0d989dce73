#include "tests/fabric/fake_nccl/communicator.h"

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "tests/fabric/fake_nccl/device_memory.h"
#include "tests/fabric/fake_nccl/hub.h"
#include "tests/fabric/fake_nccl/knobs.h"

namespace fake {
namespace {

using gradsync::nccl::Status;

struct LastError {
  std::mutex mutex;
  char text[512] = "";
};

LastError& last() {
  static LastError the_last;
  return the_last;
}

const char* knob_word(Kind kind) {
  switch (kind) {
    case Kind::all_reduce:
      return "all_reduce";
    case Kind::all_gather:
      return "all_gather";
    case Kind::reduce_scatter:
      return "reduce_scatter";
    case Kind::broadcast:
      return "broadcast";
    case Kind::all_to_all:
      return "all_to_all";
    default:
      return "send_recv";
  }
}

void delay(std::size_t bytes) {
  std::size_t from = 0, to = 0;
  long long us = 0;
  if (std::sscanf(knob("GSD_FAKE_NCCL_SLOW").c_str(), "%zu-%zu:%lld", &from, &to, &us) != 3) return;
  if (bytes >= from && bytes <= to) std::this_thread::sleep_for(std::chrono::microseconds(us));
}

}  // namespace

void set_last_error(const std::string& sentence) {
  const std::lock_guard lock(last().mutex);
  std::snprintf(last().text, sizeof(last().text), "%s", sentence.c_str());
}

const char* last_error() { return last().text; }

bool is_time(const char* knob_name, int count, int& status) {
  int when = 0;
  return std::sscanf(knob(knob_name).c_str(), "%d:%d", &when, &status) == 2 && when == count;
}

std::shared_ptr<Communicator> Communicator::join(const std::string& hub, int ranks, int rank) {
  const int socket = connect_to_hub(hub);
  if (socket < 0) return nullptr;
  std::shared_ptr<Communicator> joined(new Communicator(socket, ranks, rank));
  Message hello;
  hello.request = {Kind::hello, 0, rank, ranks};
  Reply reply;
  if (!write_message(socket, hello) || !read_all(socket, &reply, sizeof(reply)) || reply.status != 0) return nullptr;
  return joined;
}

Communicator::~Communicator() { close(socket_); }

void Communicator::fail(Status status, const std::string& sentence) {
  set_last_error(sentence);
  status_ = status;
}

void Communicator::abort() {
  {
    const std::lock_guard lock(mutex_);
    is_aborted_ = true;
  }
  shutdown(socket_, SHUT_RDWR);
  changed_.notify_all();
}

void Communicator::wait_for_abort() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_aborted_; });
}

void Communicator::say_goodbye() {
  Message bye;
  bye.request = {Kind::bye, 0, rank_, ranks_};
  Reply reply;
  if (status_ == gradsync::nccl::kSuccess && write_message(socket_, bye)) read_all(socket_, &reply, sizeof(reply));
}

// false: this operation does not happen.
bool Communicator::knobs_allow() {
  ++executed_;
  int status = 0;
  if (executed_ == knob("GSD_FAKE_NCCL_SILENT", 0)) {
    wait_for_abort();
    return false;
  }
  if (is_time("GSD_FAKE_NCCL_FAIL_LATER", executed_, status)) {
    fail(static_cast<Status>(status), "planted failure of operation " + std::to_string(executed_));
    shutdown(socket_, SHUT_RDWR);  // the other ranks notice
    return false;
  }
  return true;
}

// As nccl-tests counts the size of an operation.
std::size_t Communicator::bytes_of(const Operation& operation) const {
  std::size_t sent = 0, received = 0;
  for (const Item& item : operation.items) {
    sent += item.send_bytes;
    received += item.receive_bytes;
  }
  return operation.kind == Kind::reduce_scatter ? sent : std::max(sent, received);
}

bool Communicator::talk(const Operation& operation, std::string& received) {
  Message message;
  message.request = {operation.kind, static_cast<std::uint32_t>(operation.items.size()), rank_, ranks_};
  for (const Item& item : operation.items) {
    if ((item.send_bytes > 0 && !on_device(item.send, item.send_bytes)) ||
        (item.receive_bytes > 0 && !on_device(item.receive, item.receive_bytes))) {
      fail(gradsync::nccl::kInvalidUsage, "a buffer was freed before the operation was done");
      return false;
    }
    message.parts.push_back(item.part);
    message.payloads.emplace_back(static_cast<const char*>(item.send), item.send_bytes);
  }
  Reply reply;
  if (write_message(socket_, message) && read_all(socket_, &reply, sizeof(reply))) {
    received.resize(reply.bytes);
    if (read_all(socket_, received.data(), received.size())) {
      if (reply.status == gradsync::nccl::kSuccess) return true;
      fail(static_cast<Status>(reply.status), received);
      return false;
    }
  }
  const std::lock_guard lock(mutex_);
  if (!is_aborted_) fail(gradsync::nccl::kRemoteError, "the connection to the other ranks was closed");
  return false;
}

void Communicator::execute(const Operation& operation) {
  std::string received;
  if (status_ != gradsync::nccl::kSuccess || !knobs_allow() || !talk(operation, received)) return;
  if (received.size() > 4 && knob("GSD_FAKE_NCCL_WRONG") == knob_word(operation.kind)) received.back() ^= 0x11;
  std::size_t at = 0;
  for (const Item& item : operation.items) {
    if (item.receive_bytes == 0) continue;
    std::memcpy(item.receive, received.data() + at, item.receive_bytes);
    at += item.receive_bytes;
  }
  delay(bytes_of(operation));
}

}  // namespace fake
