#include "collectors/fabric/sockets.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>

#include "src/base/units.h"

namespace gradsync {
namespace {

constexpr std::int64_t kPauseMs = 50;  // between two tries to reach a rank that does not listen yet
constexpr std::int64_t kOneTryMs = 3000;
constexpr unsigned kSilenceMs = 20'000;  // unanswered data: the other host is gone

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

void set_option(int socket, int level, int name, int value) { ::setsockopt(socket, level, name, &value, sizeof value); }

Result<Addresses> addresses_of(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (error != 0) return Error{"cannot find the host of rank 0", host, ::gai_strerror(error), "set MASTER_ADDR", 3};
  return Addresses(found);
}

// A connection to a free port of this host may be given that very port as its own, and then it talks to itself.
bool reached_itself(int socket) {
  sockaddr_storage own{}, other{};
  socklen_t own_size = sizeof own, other_size = sizeof other;
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
         ::getpeername(socket, reinterpret_cast<sockaddr*>(&other), &other_size) == 0 && own_size == other_size &&
         std::memcmp(&own, &other, own_size) == 0;
}

// 0, or errno. The socket is left blocking.
int connect_once(int socket, const addrinfo& address, std::int64_t timeout_ms) {
  if (::connect(socket, address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return errno;
    pollfd waiting{socket, POLLOUT, 0};
    int ready = 0;
    do ready = ::poll(&waiting, 1, static_cast<int>(timeout_ms));
    while (ready < 0 && errno == EINTR);
    if (ready == 0) return ETIMEDOUT;
    if (ready < 0) return errno;
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
    if (error != 0) return error;
  }
  if (reached_itself(socket)) return ECONNREFUSED;
  return ::fcntl(socket, F_SETFL, 0) == 0 ? 0 : errno;
}

std::string numeric(const sockaddr* address, socklen_t size) {
  std::array<char, NI_MAXHOST> text{};
  if (::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) return {};
  const std::string found = text.data();
  constexpr std::string_view kMapped = "::ffff:";  // IPv4 on a socket that takes both
  return found.rfind(kMapped, 0) == 0 ? found.substr(kMapped.size()) : found;
}

// One socket for IPv4 and IPv6 where the machine has both.
int bind_every_address(int port, int& error) {
  for (const int family : {AF_INET6, AF_INET}) {
    FileDescriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) {
      error = errno;
      continue;
    }
    set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    sockaddr_storage address{};
    socklen_t size = sizeof(sockaddr_in);
    if (family == AF_INET6) {
      set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
      auto* ip6 = reinterpret_cast<sockaddr_in6*>(&address);
      ip6->sin6_family = AF_INET6;
      ip6->sin6_port = htons(static_cast<std::uint16_t>(port));
      size = sizeof(sockaddr_in6);
    } else {
      auto* ip4 = reinterpret_cast<sockaddr_in*>(&address);
      ip4->sin_family = AF_INET;
      ip4->sin_port = htons(static_cast<std::uint16_t>(port));
    }
    if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0) return socket.release();
    error = errno;
    if (error == EADDRINUSE || error == EACCES) return -1;  // IPv4 alone would split the ranks
  }
  return -1;
}

int bind_loopback(int port, int& error) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (socket) set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (socket && ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
    return socket.release();
  error = errno;
  return -1;
}

}  // namespace

std::int64_t monotonic_ns() {
  std::timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Result<Listener> listen_on(ListenOn where, int port) {
  int error = 0;
  Listener listener;
  listener.socket =
      FileDescriptor(where == ListenOn::loopback ? bind_loopback(port, error) : bind_every_address(port, error));
  if (listener.socket && ::listen(listener.socket.get(), SOMAXCONN) != 0) {
    error = errno;
    listener.socket.reset();
  }
  if (!listener.socket)
    return Error{"cannot meet the other ranks at port", std::to_string(port), errno_text(error),
                 error == EADDRINUSE ? "another program has it: set GSD_SWEEP_PORT in every rank" : "", 3};
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(listener.socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0)
    listener.port = ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                                        : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
  return listener;
}

Error stopped_by_user() { return Error{"stopped while", "the ranks met", "", "", 130}; }

Result<FileDescriptor> connect_to(const std::string& host, int port, const Patience& patience) {
  const std::int64_t end = monotonic_ns() + patience.timeout_ms * 1'000'000;
  int error = ETIMEDOUT;
  for (;;) {
    Result<Addresses> addresses = addresses_of(host, port);
    if (!addresses) return addresses.error();
    for (const addrinfo* address = addresses->get(); address != nullptr; address = address->ai_next) {
      FileDescriptor socket(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!socket) continue;
      const std::int64_t left_ms = (end - monotonic_ns()) / 1'000'000;
      error = connect_once(socket.get(), *address, std::clamp<std::int64_t>(left_ms, 1, kOneTryMs));
      if (error != 0) continue;
      prepare_connection(socket.get());
      return socket;
    }
    if (patience.stop != nullptr && *patience.stop) return stopped_by_user();
    if (monotonic_ns() >= end) break;
    const std::timespec pause{0, kPauseMs * 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return Error{"no word from rank 0 at", host + ":" + std::to_string(port),
               errno_text(error) + ", for " + format_seconds(static_cast<double>(patience.timeout_ms) / 1000),
               "is rank 0 running, and may this host reach that port?", 3};
}

void prepare_connection(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kSilenceMs);
}

std::string local_address(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  return numeric(reinterpret_cast<sockaddr*>(&address), size);
}

std::string interface_of(const std::string& address) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  std::string found;
  for (const ifaddrs* entry = list; entry != nullptr && found.empty(); entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (numeric(entry->ifa_addr, size) == address) found = entry->ifa_name;
  }
  ::freeifaddrs(list);
  return found;
}

}  // namespace gradsync
