// What ranks and hub say to each other over one socket per rank.
//
//   rank → hub   Request, then its parts: Part + payload bytes (of what is sent) each
//   hub → rank   Reply, then its text (a failure) or the received bytes, one after the other
//
// A collective has one part; a group of sends and receives has one part each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fake {

enum class Kind : std::uint32_t { hello, all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, exchange, bye };
const char* name_of(Kind kind);

struct Part {
  std::uint32_t type = 0, reduction = 0;
  std::uint64_t count = 0;  // as in the call
  std::int32_t peer = 0;    // root, or the other rank
  std::uint32_t is_receive = 0;
  std::uint64_t payload_bytes = 0;  // that follow
};

struct Request {
  Kind kind = Kind::hello;
  std::uint32_t parts = 0;
  std::int32_t rank = 0, ranks = 0;  // hello
};

struct Reply {
  std::int32_t status = 0;
  std::uint64_t bytes = 0;
};

struct Message {
  Request request;
  std::vector<Part> parts;
  std::vector<std::string> payloads;  // by part
};

std::size_t size_of_type(std::uint32_t type);

// false: the other side is gone.
bool write_all(int socket, const void* bytes, std::size_t size);
bool read_all(int socket, void* bytes, std::size_t size);
bool write_message(int socket, const Message& message);
bool read_message(int socket, Message& message);

}  // namespace fake
