// TCP sockets of the store between ranks: listen, connect with a limit, send and receive whole. Closed at exec, never
// raise SIGPIPE, go on after EINTR.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/file.h"
#include "src/base/result.h"

namespace gradsync {

struct Listener {
  FileDescriptor socket;
  int port = 0;
};

enum class ListenOn { loopback, every_address };

// Port 0: any that is free. Error: the port is taken, with what would help.
Result<Listener> listen_on(ListenOn where, int port);

struct Patience {
  std::int64_t timeout_ms = 60'000;
  const std::atomic<bool>* stop = nullptr;  // set by the handler of Ctrl-C
};

// Tries again until somebody listens there. Error: nobody did within the limit, or the name is unknown.
Result<FileDescriptor> connect_to(const std::string& host, int port, const Patience& patience);
Error stopped_by_user();

void prepare_connection(int socket);                   // no delay for small words; a peer whose host is gone is noticed
std::string local_address(int socket);                 // numeric; empty = unknown
std::string interface_of(const std::string& address);  // that holds it; empty = none here
std::int64_t monotonic_ns();

}  // namespace gradsync
