#include "collectors/inject/nccl_wrappers.h"

#include "collectors/inject/collective_guard.h"
#include "collectors/inject/nccl_calls.h"
#include "collectors/inject/nccl_issued.h"
#include "collectors/inject/nccl_labels.h"
#include "collectors/inject/nccl_libraries.h"
#include "collectors/inject/nccl_thread.h"
#include "collectors/inject/nccl_timing.h"
#include "src/spool_writer/write_event.h"

namespace gradsync::inject {
namespace {

using spool::Attribute;
using spool::AttributeType;

struct Keys {
  uint32_t reduction;
  uint32_t type;
  uint32_t result;
};
Keys g_keys;
uint32_t g_calls[static_cast<uint8_t>(NcclFunction::count)];  // indices of nccl_calls.h
uint32_t g_types[kDataTypes];

template <typename Make>
uint32_t kept(uint32_t* at, Make make) {
  uint32_t value = spool::load_relaxed(at);
  if (value == 0) spool::store_relaxed(at, value = make());
  return value;
}

uint32_t key(uint32_t* at, const char* text) {
  return kept(at, [text] { return gsd_string(text, -1); });
}

constexpr int kNoReduction = -1, kSum = 0;

struct Arguments {
  NcclFunction function;
  size_t count;
  int type;
  int reduction;
  Comm comm;
  Stream stream;
};

const KnownCommunicator& known(NcclThread& thread, Comm comm) {
  const uint32_t generation = label_generation();
  if (thread.last.comm != comm || thread.last.generation != generation) {
    const uint64_t label = label_of(comm);
    thread.last = {comm, generation, nvtx::communicator_name(label), nvtx::calls_of(label)};
  }
  return thread.last;
}

// The event of one call: from its arguments to its return, which is when the work is enqueued.
class Call {
 public:
  explicit Call(const Arguments& arguments) : thread_(t_nccl) {
    cupti::collective_begins();
    if (thread_.depth++ == 0 && gsd_enabled() != 0) begin(arguments);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    cupti::collective_ended();
    --thread_.depth;
    if (event_ == spool::kNoEvent) return;
    thread_.open = {};
    finish_timing();
    spool::end_event(event_);
  }

  int returned(Result result) {
    launched_ = result == kSuccess;
    if (result != kSuccess && result != kInProgress && event_ != spool::kNoEvent)
      gsd_attr_int(event_, key(&g_keys.result, "result"), result);
    return result;
  }

 private:
  // Each record is 64 bytes of a file: the sum, which nearly every reduction is, goes without saying.
  void begin(const Arguments& given) {
    const uint32_t call = kept(&g_calls[static_cast<uint8_t>(given.function)],
                               [&] { return nvtx::nccl_call_of(symbol_of(given.function)); });
    const uint32_t name = nvtx::nccl_call_name(call);
    const DataType* type = data_type(given.type);
    const uint64_t bytes = type == nullptr ? 0 : given.count * type->bytes;
    const KnownCommunicator& communicator = known(thread_, given.comm);
    const bool counted = communicator.calls != nullptr && nvtx::has_order(call);
    const uint32_t sequence = counted ? spool::add_relaxed(communicator.calls, 1u) : 0;
    Attribute attributes[2];
    uint32_t count = 0;
    if (type != nullptr)
      attributes[count++] = {key(&g_keys.type, "dtype"), AttributeType::string, key(&g_types[given.type], type->name)};
    if (given.reduction != kNoReduction && given.reduction != kSum)
      attributes[count++] = {key(&g_keys.reduction, "op"), AttributeType::string,
                             nvtx::reduction_name(static_cast<uint64_t>(given.reduction))};
    const spool::What what{spool::Kind::collective, spool::Phase::none, spool::Source::nccl_wrapper,
                           spool::kFlagExtrapolated, name};
    if (thread_.lane == nullptr) thread_.lane = &spool::t_lane;
    event_ = spool::write_event(
        *thread_.lane, what, bytes, GSD_WHERE(communicator.group, sequence),
        [] {
          return spool::Span{spool::now(), 0};
        },
        attributes, count);
    if (event_ == spool::kNoEvent) return;
    thread_.open = {event_, remember_issued({event_, bytes, 0, name}), name};
    stream_ = given.stream;
    if (times_are_wanted()) begin_timing();
  }

  // In a group the first call's pair is closed by ncclGroupEnd.
  void begin_timing() {
    OpenGroup& group = thread_.group;
    if (group.depth == 0) {
      pair_ = start_timing(stream_);
    } else if (group.calls++ == 0) {
      group.pair = start_timing(stream_);
      group.stream = stream_;
      group.event = event_;
    }
  }

  void finish_timing() {
    if (pair_ == 0) return;
    if (launched_)
      end_timing(pair_, stream_, event_);
    else
      drop_timing(pair_);
  }

  NcclThread& thread_;
  uint64_t event_ = spool::kNoEvent;
  Stream stream_ = nullptr;
  uint32_t pair_ = 0;
  bool launched_ = false;
};

// Calls about communicators are no events; only the outermost one names what it made.
class Nested {
 public:
  Nested() : thread_(t_nccl), outermost_(thread_.depth++ == 0) {}
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
  ~Nested() { --thread_.depth; }
  bool outermost() const { return outermost_; }

 private:
  NcclThread& thread_;
  bool outermost_;
};

void end_group(NcclThread& thread, Result result) {
  OpenGroup& group = thread.group;
  if (group.depth == 0 || --group.depth != 0) return;
  if (group.calls == 1 && result == kSuccess)
    end_timing(group.pair, group.stream, group.event);
  else
    drop_timing(group.pair);
  group = {};
}

template <typename... Arguments>
Result pass(NcclFunction function, const void* caller, Arguments... arguments) {
  auto* real = reinterpret_cast<Result (*)(Arguments...)>(real_function(function, caller));
  return real == nullptr ? kInternalError : real(arguments...);
}

}  // namespace
}  // namespace gradsync::inject

using namespace gradsync::inject;

#define CALLER __builtin_return_address(0)

extern "C" {

int ncclAllReduce(const void* send, void* receive, size_t count, int type, int operation, Comm comm, Stream stream) {
  Call call({NcclFunction::all_reduce, count, type, operation, comm, stream});
  return call.returned(pass(NcclFunction::all_reduce, CALLER, send, receive, count, type, operation, comm, stream));
}

int ncclAllGather(const void* send, void* receive, size_t count, int type, Comm comm, Stream stream) {
  Call call({NcclFunction::all_gather, count, type, kNoReduction, comm, stream});
  return call.returned(pass(NcclFunction::all_gather, CALLER, send, receive, count, type, comm, stream));
}

int ncclReduceScatter(const void* send, void* receive, size_t count, int type, int operation, Comm comm,
                      Stream stream) {
  Call call({NcclFunction::reduce_scatter, count, type, operation, comm, stream});
  return call.returned(pass(NcclFunction::reduce_scatter, CALLER, send, receive, count, type, operation, comm, stream));
}

int ncclBroadcast(const void* send, void* receive, size_t count, int type, int root, Comm comm, Stream stream) {
  Call call({NcclFunction::broadcast, count, type, kNoReduction, comm, stream});
  return call.returned(pass(NcclFunction::broadcast, CALLER, send, receive, count, type, root, comm, stream));
}

int ncclBcast(void* buffer, size_t count, int type, int root, Comm comm, Stream stream) {
  Call call({NcclFunction::bcast, count, type, kNoReduction, comm, stream});
  return call.returned(pass(NcclFunction::bcast, CALLER, buffer, count, type, root, comm, stream));
}

int ncclReduce(const void* send, void* receive, size_t count, int type, int operation, int root, Comm comm,
               Stream stream) {
  Call call({NcclFunction::reduce, count, type, operation, comm, stream});
  return call.returned(pass(NcclFunction::reduce, CALLER, send, receive, count, type, operation, root, comm, stream));
}

int ncclAlltoAll(const void* send, void* receive, size_t count, int type, Comm comm, Stream stream) {
  Call call({NcclFunction::all_to_all, count, type, kNoReduction, comm, stream});
  return call.returned(pass(NcclFunction::all_to_all, CALLER, send, receive, count, type, comm, stream));
}

int ncclGather(const void* send, void* receive, size_t count, int type, int root, Comm comm, Stream stream) {
  Call call({NcclFunction::gather, count, type, kNoReduction, comm, stream});
  return call.returned(pass(NcclFunction::gather, CALLER, send, receive, count, type, root, comm, stream));
}

int ncclScatter(const void* send, void* receive, size_t count, int type, int root, Comm comm, Stream stream) {
  Call call({NcclFunction::scatter, count, type, kNoReduction, comm, stream});
  return call.returned(pass(NcclFunction::scatter, CALLER, send, receive, count, type, root, comm, stream));
}

int ncclSend(const void* send, size_t count, int type, int peer, Comm comm, Stream stream) {
  Call call({NcclFunction::send, count, type, kNoReduction, comm, stream});
  return call.returned(pass(NcclFunction::send, CALLER, send, count, type, peer, comm, stream));
}

int ncclRecv(void* receive, size_t count, int type, int peer, Comm comm, Stream stream) {
  Call call({NcclFunction::receive, count, type, kNoReduction, comm, stream});
  return call.returned(pass(NcclFunction::receive, CALLER, receive, count, type, peer, comm, stream));
}

int ncclCommInitRank(Comm* comm, int ranks, UniqueId id, int rank) {
  const Nested call;
  const Result result = pass(NcclFunction::init_rank, CALLER, comm, ranks, id, rank);
  if (call.outermost() && comm != nullptr) label_from_ids(*comm, &id, 1);
  return result;
}

int ncclCommInitRankConfig(Comm* comm, int ranks, UniqueId id, int rank, void* config) {
  const Nested call;
  const Result result = pass(NcclFunction::init_rank_config, CALLER, comm, ranks, id, rank, config);
  if (call.outermost() && comm != nullptr) label_from_ids(*comm, &id, 1);
  return result;
}

int ncclCommInitRankScalable(Comm* comm, int ranks, int rank, int id_count, UniqueId* ids, void* config) {
  const Nested call;
  const Result result = pass(NcclFunction::init_rank_scalable, CALLER, comm, ranks, rank, id_count, ids, config);
  if (call.outermost() && comm != nullptr && ids != nullptr) label_from_ids(*comm, ids, id_count);
  return result;
}

int ncclCommSplit(Comm comm, int color, int key, Comm* made, void* config) {
  const Nested call;
  const uint64_t parent = label_of(comm);
  const Result result = pass(NcclFunction::split, CALLER, comm, color, key, made, config);
  if (call.outermost()) label_from_split(made == nullptr ? nullptr : *made, parent, color);
  return result;
}

int ncclCommDestroy(Comm comm) {
  const Nested call;
  if (call.outermost()) forget_label(comm);
  return pass(NcclFunction::destroy, CALLER, comm);
}

int ncclCommAbort(Comm comm) {
  const Nested call;
  if (call.outermost()) forget_label(comm);
  return pass(NcclFunction::abort, CALLER, comm);
}

int ncclGroupStart() {
  const Nested call;
  if (call.outermost()) ++t_nccl.group.depth;
  return pass(NcclFunction::group_start, CALLER);
}

int ncclGroupEnd() {
  const Nested call;
  gradsync::cupti::collective_begins();
  const Result result = pass(NcclFunction::group_end, CALLER);
  gradsync::cupti::collective_ended();
  if (call.outermost()) end_group(t_nccl, result);
  return result;
}
}
