// An NCCL without GPUs: ranks are processes of one machine, bytes go through a hub. What a caller may do is what the
// public header says; what it may not do is refused.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <thread>

#include "tests/fabric/fake_nccl/communicator.h"
#include "tests/fabric/fake_nccl/device_memory.h"
#include "tests/fabric/fake_nccl/hub.h"
#include "tests/fabric/fake_nccl/knobs.h"
#include "tests/fabric/fake_nccl/stream.h"

using namespace gradsync::nccl;
using gradsync::cuda::Stream;

namespace {

struct Call {
  Comm comm;
  Stream stream;
  fake::Kind kind;
  fake::Item item;
};

struct Communicators {
  std::mutex mutex;
  std::map<Comm, std::shared_ptr<fake::Communicator>> all;
  int calls = 0;
};

Communicators& communicators() {
  static Communicators the_communicators;
  return the_communicators;
}

thread_local int group_depth = 0;
thread_local std::vector<Call> group;

std::shared_ptr<fake::Communicator> find(Comm comm) {
  const std::lock_guard lock(communicators().mutex);
  const auto at = communicators().all.find(comm);
  return at == communicators().all.end() ? nullptr : at->second;
}

Status forget(Comm comm) {
  const std::lock_guard lock(communicators().mutex);
  return communicators().all.erase(comm) == 1 ? kSuccess : kInvalidArgument;
}

Status refuse(Status status, const std::string& sentence) {
  fake::set_last_error(sentence);
  return status;
}

void enqueue(Comm comm, Stream stream, fake::Operation operation) {
  reinterpret_cast<fake::Stream*>(stream)->enqueue(
      [communicator = find(comm), operation = std::move(operation)] { communicator->execute(operation); });
}

// Sends and receives of a group become one operation per communicator and stream; collectives stay in their order.
void start(std::vector<Call> calls) {
  std::map<std::pair<Comm, Stream>, fake::Operation> exchanges;
  for (Call& call : calls) {
    if (call.kind == fake::Kind::exchange)
      exchanges[{call.comm, call.stream}].items.push_back(call.item);
    else
      enqueue(call.comm, call.stream, {call.kind, {call.item}});
  }
  for (auto& [where, operation] : exchanges) enqueue(where.first, where.second, std::move(operation));
}

// NCCL's line about what it takes, as rank 0 writes it.
void log_choice(const fake::Communicator& communicator, fake::Kind kind, std::size_t bytes) {
  if (communicator.rank() != 0 || kind == fake::Kind::exchange || fake::knob("NCCL_DEBUG") != "INFO" ||
      fake::knob("NCCL_DEBUG_SUBSYS").find("TUNING") == std::string::npos)
    return;
  const std::string path = fake::knob("NCCL_DEBUG_FILE");
  std::FILE* file = path.empty() ? stdout : std::fopen(path.c_str(), "a");
  if (!file) return;
  std::fprintf(file, "fake:%d:%ld [0] NCCL INFO %s: %zu Bytes -> Algo RING proto %s channel{Lo..Hi}={0..0}\n", getpid(),
               syscall(SYS_gettid), fake::name_of(kind), bytes, bytes <= 16384 ? "LL" : "SIMPLE");
  if (!path.empty()) std::fclose(file);
}

Status check(const fake::Communicator& communicator, const Call& call) {
  const fake::Item& item = call.item;
  const auto type = static_cast<int>(item.part.type);
  if (type != kInt8 && type != kFloat16 && type != kFloat32) return refuse(kInvalidArgument, "unknown type");
  if (item.part.reduction != kSum) return refuse(kInvalidArgument, "unknown reduction");
  if (item.part.peer < 0 || item.part.peer >= communicator.ranks())
    return refuse(kInvalidArgument, "no rank " + std::to_string(item.part.peer));
  if (!fake::is_stream(call.stream)) return refuse(kInvalidArgument, "not a stream");
  if (item.send_bytes > 0 && !fake::on_device(item.send, item.send_bytes))
    return refuse(kInvalidArgument, "the send buffer is not " + std::to_string(item.send_bytes) + " bytes of the GPU");
  if (item.receive_bytes > 0 && !fake::on_device(item.receive, item.receive_bytes))
    return refuse(kInvalidArgument,
                  "the receive buffer is not " + std::to_string(item.receive_bytes) + " bytes of the GPU");
  return kSuccess;
}

Status submit(Call call) {
  const auto communicator = find(call.comm);
  if (!communicator) return refuse(kInvalidArgument, "not a communicator");
  int number = 0, status = 0;
  {
    const std::lock_guard lock(communicators().mutex);
    number = ++communicators().calls;
  }
  if (fake::is_time("GSD_FAKE_NCCL_FAIL_CALL", number, status))
    return refuse(static_cast<Status>(status), "planted failure of call " + std::to_string(number));
  if (number == fake::knob("GSD_FAKE_NCCL_HANG_CALL", 0)) {
    communicator->wait_for_abort();
    return kInternalError;
  }
  if (const Status valid = check(*communicator, call); valid != kSuccess) return valid;
  log_choice(*communicator, call.kind, std::max(call.item.send_bytes, call.item.receive_bytes));
  if (group_depth > 0)
    group.push_back(std::move(call));
  else
    start({std::move(call)});
  return kSuccess;
}

struct Buffers {
  const void* send;
  std::size_t send_blocks;
  void* receive;
  std::size_t receive_blocks;  // of `count` elements each
};

Status collective(fake::Kind kind, const Buffers& buffers, std::size_t count, DataType type, int root, Comm comm,
                  Stream stream, Reduction reduction = kSum) {
  fake::Item item;
  item.part = {static_cast<std::uint32_t>(type), static_cast<std::uint32_t>(reduction), count, root, 0, 0};
  const std::size_t block = count * fake::size_of_type(item.part.type);
  item.send = buffers.send;
  item.send_bytes = buffers.send_blocks * block;
  item.receive = buffers.receive;
  item.receive_bytes = buffers.receive_blocks * block;
  return submit({comm, stream, kind, item});
}

std::size_t ranks_of(Comm comm) {
  const auto communicator = find(comm);
  return communicator ? static_cast<std::size_t>(communicator->ranks()) : 0;
}

}  // namespace

extern "C" {

Status ncclGetVersion(int* version) {
  *version = static_cast<int>(fake::knob("GSD_FAKE_NCCL_VERSION", 23007));
  return kSuccess;
}

Status ncclGetUniqueId(UniqueId* id) {
  const std::string name = fake::start_hub();
  if (name.empty()) return refuse(kSystemError, "no socket for the hub");
  *id = {};
  std::memcpy(id->internal, name.data(), name.size());
  return kSuccess;
}

Status ncclCommInitRank(Comm* comm, int ranks, UniqueId id, int rank) {
  if (const auto status = fake::knob("GSD_FAKE_NCCL_FAIL_INIT", 0); status != 0)
    return refuse(static_cast<Status>(status), "planted failure of the initialisation");
  while (fake::knob("GSD_FAKE_NCCL_HANG_INIT", 0) != 0) std::this_thread::sleep_for(std::chrono::seconds(1));
  auto joined = fake::Communicator::join(id.internal, ranks, rank);
  if (!joined) return refuse(kSystemError, "no connection to the other ranks");
  *comm = reinterpret_cast<Comm>(joined.get());
  const std::lock_guard lock(communicators().mutex);
  communicators().all[*comm] = std::move(joined);
  return kSuccess;
}

Status ncclCommDestroy(Comm comm) {
  const auto communicator = find(comm);
  if (!communicator) return kInvalidArgument;
  communicator->say_goodbye();
  return forget(comm);
}

Status ncclCommAbort(Comm comm) {
  const auto communicator = find(comm);
  if (!communicator) return kInvalidArgument;
  communicator->abort();
  return forget(comm);
}

Status ncclCommGetAsyncError(Comm comm, Status* error) {
  const auto communicator = find(comm);
  if (!communicator) return kInvalidArgument;
  *error = communicator->status();
  return kSuccess;
}

const char* ncclGetErrorString(Status status) {
  switch (status) {
    case kSuccess:
      return "no error";
    case kUnhandledCudaError:
      return "unhandled cuda error";
    case kSystemError:
      return "unhandled system error";
    case kInternalError:
      return "internal error";
    case kInvalidArgument:
      return "invalid argument";
    case kInvalidUsage:
      return "invalid usage";
    case kRemoteError:
      return "remote process exited or there was a network error";
    case kInProgress:
      return "NCCL operation in progress";
  }
  return "unknown result code";
}

const char* ncclGetLastError(Comm) { return fake::last_error(); }

Status ncclAllReduce(const void* send, void* receive, std::size_t count, DataType type, Reduction reduction, Comm comm,
                     Stream stream) {
  return collective(fake::Kind::all_reduce, {send, 1, receive, 1}, count, type, 0, comm, stream, reduction);
}

Status ncclAllGather(const void* send, void* receive, std::size_t send_count, DataType type, Comm comm, Stream stream) {
  return collective(fake::Kind::all_gather, {send, 1, receive, ranks_of(comm)}, send_count, type, 0, comm, stream);
}

Status ncclReduceScatter(const void* send, void* receive, std::size_t receive_count, DataType type, Reduction reduction,
                         Comm comm, Stream stream) {
  return collective(fake::Kind::reduce_scatter, {send, ranks_of(comm), receive, 1}, receive_count, type, 0, comm,
                    stream, reduction);
}

Status ncclBroadcast(const void* send, void* receive, std::size_t count, DataType type, int root, Comm comm,
                     Stream stream) {
  const auto communicator = find(comm);
  const std::size_t sends = communicator && communicator->rank() == root ? 1 : 0;
  return collective(fake::Kind::broadcast, {send, sends, receive, 1}, count, type, root, comm, stream);
}

Status ncclAlltoAll(const void* send, void* receive, std::size_t count, DataType type, Comm comm, Stream stream) {
  return collective(fake::Kind::all_to_all, {send, ranks_of(comm), receive, ranks_of(comm)}, count, type, 0, comm,
                    stream);
}

Status ncclSend(const void* buffer, std::size_t count, DataType type, int peer, Comm comm, Stream stream) {
  fake::Item item;
  item.part = {static_cast<std::uint32_t>(type), kSum, count, peer, 0, 0};
  item.send = buffer;
  item.send_bytes = count * fake::size_of_type(item.part.type);
  return submit({comm, stream, fake::Kind::exchange, item});
}

Status ncclRecv(void* buffer, std::size_t count, DataType type, int peer, Comm comm, Stream stream) {
  fake::Item item;
  item.part = {static_cast<std::uint32_t>(type), kSum, count, peer, 1, 0};
  item.receive = buffer;
  item.receive_bytes = count * fake::size_of_type(item.part.type);
  return submit({comm, stream, fake::Kind::exchange, item});
}

Status ncclGroupStart() {
  ++group_depth;
  return kSuccess;
}

Status ncclGroupEnd() {
  if (group_depth == 0) return refuse(kInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--group_depth > 0) return kSuccess;
  start(std::move(group));
  group.clear();
  return kSuccess;
}

}  // extern "C"
