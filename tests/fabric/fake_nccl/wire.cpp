#include "tests/fabric/fake_nccl/wire.h"

#include <sys/socket.h>

#include <cerrno>

#include "collectors/fabric/abi/nccl_abi.h"

namespace fake {

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::hello:
      return "hello";
    case Kind::all_reduce:
      return "AllReduce";
    case Kind::all_gather:
      return "AllGather";
    case Kind::reduce_scatter:
      return "ReduceScatter";
    case Kind::broadcast:
      return "Broadcast";
    case Kind::all_to_all:
      return "AlltoAll";
    case Kind::exchange:
      return "SendRecv";
    case Kind::bye:
      return "CommDestroy";
  }
  return "?";
}

std::size_t size_of_type(std::uint32_t type) {
  if (type == gradsync::nccl::kInt8) return 1;
  return type == gradsync::nccl::kFloat16 ? 2 : 4;
}

bool write_all(int socket, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = send(socket, at, size, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(int socket, void* bytes, std::size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t got = recv(socket, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_message(int socket, const Message& message) {
  if (!write_all(socket, &message.request, sizeof(message.request))) return false;
  for (std::size_t i = 0; i < message.parts.size(); ++i) {
    Part part = message.parts[i];
    part.payload_bytes = message.payloads[i].size();
    if (!write_all(socket, &part, sizeof(part))) return false;
    if (!write_all(socket, message.payloads[i].data(), message.payloads[i].size())) return false;
  }
  return true;
}

bool read_message(int socket, Message& message) {
  message = {};
  if (!read_all(socket, &message.request, sizeof(message.request))) return false;
  message.parts.resize(message.request.parts);
  message.payloads.resize(message.request.parts);
  for (std::size_t i = 0; i < message.parts.size(); ++i) {
    if (!read_all(socket, &message.parts[i], sizeof(Part))) return false;
    message.payloads[i].resize(message.parts[i].payload_bytes);
    if (!read_all(socket, message.payloads[i].data(), message.payloads[i].size())) return false;
  }
  return true;
}

}  // namespace fake
