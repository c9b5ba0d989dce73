#include "collectors/fabric/nccl_launch.h"

namespace gradsync {
namespace {

nccl::DataType type_of(ElementType type) {
  switch (type) {
    case ElementType::float16:
      return nccl::kFloat16;
    case ElementType::int8:
      return nccl::kInt8;
    case ElementType::float32:
      break;
  }
  return nccl::kFloat32;
}

const void* block_of(const void* buffer, std::int64_t index, std::int64_t bytes) {
  return static_cast<const char*>(buffer) + index * bytes;
}

void* block_of(void* buffer, std::int64_t index, std::int64_t bytes) {
  return static_cast<char*>(buffer) + index * bytes;
}

// Closes the group whatever happened in it: an open one would swallow every later call.
template <class Calls>
nccl::Status in_group(const NcclLibrary& library, const Calls& calls) {
  if (const auto status = library.call.group_start(); status != nccl::kSuccess) return status;
  const nccl::Status status = calls();
  const nccl::Status end = library.call.group_end();
  return status != nccl::kSuccess ? status : end;
}

nccl::Status send_to_next(const NcclLibrary& library, const FabricCall& call, const NcclLaunch& at) {
  const auto count = static_cast<std::size_t>(call.elements);
  const nccl::DataType type = type_of(call.type);
  return in_group(library, [&] {
    const auto status = library.call.send(at.send, count, type, (at.rank + 1) % at.ranks, at.comm, at.stream);
    if (status != nccl::kSuccess) return status;
    return library.call.receive(at.receive, count, type, (at.rank + at.ranks - 1) % at.ranks, at.comm, at.stream);
  });
}

nccl::Status exchange_all(const NcclLibrary& library, const FabricCall& call, const NcclLaunch& at) {
  const std::int64_t count = call.elements / at.ranks, bytes = count * size_of(call.type);
  const nccl::DataType type = type_of(call.type);
  if (library.call.all_to_all)
    return library.call.all_to_all(at.send, at.receive, static_cast<std::size_t>(count), type, at.comm, at.stream);
  return in_group(library, [&] {
    nccl::Status status = nccl::kSuccess;
    for (int peer = 0; peer < at.ranks && status == nccl::kSuccess; ++peer) {
      status = library.call.send(block_of(at.send, peer, bytes), static_cast<std::size_t>(count), type, peer, at.comm,
                                 at.stream);
      if (status == nccl::kSuccess)
        status = library.call.receive(block_of(at.receive, peer, bytes), static_cast<std::size_t>(count), type, peer,
                                      at.comm, at.stream);
    }
    return status;
  });
}

}  // namespace

nccl::Status launch(const NcclLibrary& library, const FabricCall& call, const NcclLaunch& at) {
  const auto whole = static_cast<std::size_t>(call.elements);
  const std::size_t part = whole / static_cast<std::size_t>(at.ranks);
  const nccl::DataType type = type_of(call.type);
  switch (call.operation) {
    case FabricOperation::all_reduce:
      return library.call.all_reduce(at.send, at.receive, whole, type, nccl::kSum, at.comm, at.stream);
    case FabricOperation::all_gather:
      return library.call.all_gather(at.send, at.receive, part, type, at.comm, at.stream);
    case FabricOperation::reduce_scatter:
      return library.call.reduce_scatter(at.send, at.receive, part, type, nccl::kSum, at.comm, at.stream);
    case FabricOperation::broadcast:
      return library.call.broadcast(at.send, at.receive, whole, type, 0, at.comm, at.stream);
    case FabricOperation::all_to_all:
      return exchange_all(library, call, at);
    case FabricOperation::send_recv:
      return send_to_next(library, call, at);
  }
  return nccl::kInvalidArgument;
}

std::string describe(const FabricCall& call) {
  return std::string(to_string(call.operation)) + " of " + std::to_string(call.elements * size_of(call.type)) +
         " bytes (" + to_string(call.type) + ")";
}

}  // namespace gradsync
