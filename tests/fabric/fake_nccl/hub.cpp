#include "tests/fabric/fake_nccl/hub.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "collectors/fabric/abi/nccl_abi.h"
#include "tests/fabric/fake_nccl/rendezvous.h"
#include "tests/fabric/fake_nccl/wire.h"

namespace fake {
namespace {

sockaddr_un address_of(const std::string& name, socklen_t& size) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // an abstract name: gone with the process
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

class Hub {
 public:
  explicit Hub(int listener) : listener_(listener) {}
  ~Hub() {
    for (const int socket : sockets_)
      if (socket >= 0) close(socket);
  }

  void serve() {
    const bool gathered = gather();
    close(listener_);
    if (!gathered) return;
    while (serve_one()) {
    }
  }

 private:
  bool gather() {
    for (int joined = 0; sockets_.empty() || joined < static_cast<int>(sockets_.size()); ++joined) {
      const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      Message hello;
      if (socket < 0 || !read_message(socket, hello)) return false;
      if (sockets_.empty()) sockets_.assign(static_cast<std::size_t>(hello.request.ranks), -1);
      const auto rank = static_cast<std::size_t>(hello.request.rank);
      if (hello.request.ranks != static_cast<int>(sockets_.size()) || rank >= sockets_.size() || sockets_[rank] >= 0)
        return false;
      sockets_[rank] = socket;
    }
    rendezvous_.emplace(static_cast<int>(sockets_.size()));
    for (std::size_t rank = sockets_.size(); rank-- > 0;) answer(rank, {gradsync::nccl::kSuccess, ""});
    return true;
  }

  // Waits for any rank. false: all are gone.
  bool serve_one() {
    std::vector<pollfd> waiting;
    for (const int socket : sockets_) waiting.push_back({socket, POLLIN, 0});  // poll ignores those that are −1
    bool anyone = false;
    for (const int socket : sockets_) anyone = anyone || socket >= 0;
    if (!anyone || poll(waiting.data(), waiting.size(), -1) < 0) return false;
    for (std::size_t rank = 0; rank < sockets_.size(); ++rank) {
      if (waiting[rank].revents == 0 || sockets_[rank] < 0) continue;
      Message message;
      if (read_message(sockets_[rank], message))
        rendezvous_->arrive(rank, std::move(message));
      else
        leave(rank);
      send_answers();
    }
    return true;
  }

  void leave(std::size_t rank) {
    close(sockets_[rank]);
    sockets_[rank] = -1;
    rendezvous_->leave(rank);
  }

  void send_answers() {
    auto answers = rendezvous_->take_answers();
    for (auto at = answers.rbegin(); at != answers.rend(); ++at) answer(at->first, at->second);
  }

  void answer(std::size_t rank, const Answer& given) {
    const Reply reply{given.status, given.bytes.size()};
    if (sockets_[rank] < 0) return;
    if (write_all(sockets_[rank], &reply, sizeof(reply)))
      write_all(sockets_[rank], given.bytes.data(), given.bytes.size());
  }

  int listener_;
  std::vector<int> sockets_;
  std::optional<Rendezvous> rendezvous_;
};

}  // namespace

std::string start_hub() {
  static std::atomic<int> made{0};
  std::string name = "gsd-fake-nccl-" + std::to_string(getpid()) + "-" + std::to_string(made++);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t size = 0;
  const sockaddr_un address = address_of(name, size);
  if (listener < 0 || bind(listener, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      listen(listener, 64) != 0)
    return "";
  std::thread([listener] { Hub(listener).serve(); }).detach();
  return name;
}

int connect_to_hub(const std::string& name) {
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t size = 0;
  const sockaddr_un address = address_of(name, size);
  if (connection >= 0 && connect(connection, reinterpret_cast<const sockaddr*>(&address), size) == 0) return connection;
  if (connection >= 0) close(connection);
  return -1;
}

}  // namespace fake
