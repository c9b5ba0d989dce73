#include "collectors/inject/nccl/wrapped_call.h"

#include "collectors/inject/cupti/collective_guard.h"
#include "collectors/inject/nccl/calls.h"
#include "collectors/inject/nccl/issued.h"
#include "collectors/inject/nccl/labels.h"
#include "collectors/inject/nccl/timing.h"
#include "src/spool_writer/write_event.h"

namespace gradsync::nccl {
namespace {

using spool::Attribute;
using spool::AttributeType;

struct Keys {
  uint32_t reduction;
  uint32_t type;
  uint32_t result;
};
Keys g_keys;
uint32_t g_calls[static_cast<uint8_t>(NcclFunction::count)];  // indices of nccl/calls.h
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

constexpr int kSum = 0;

const KnownCommunicator& known(NcclThread& thread, Comm comm) {
  const uint32_t generation = label_generation();
  if (thread.last.comm != comm || thread.last.generation != generation) {
    const uint64_t label = label_of(comm);
    thread.last = {comm, generation, communicator_name(label), calls_of(label)};
  }
  return thread.last;
}

}  // namespace

WrappedCall::WrappedCall(const Arguments& arguments) : thread_(t_nccl), event_(spool::kNoEvent) {
  cupti::collective_begins();
  if (thread_.depth++ == 0 && gsd_enabled() != 0) begin(arguments);
}

WrappedCall::~WrappedCall() {
  cupti::collective_ended();
  --thread_.depth;
  if (event_ == spool::kNoEvent) return;
  thread_.open = {};
  finish_timing();
  spool::end_event(event_);
}

int WrappedCall::returned(Result result) {
  launched_ = result == kSuccess;
  if (result != kSuccess && result != kInProgress && event_ != spool::kNoEvent)
    gsd_attr_int(event_, key(&g_keys.result, "result"), result);
  return result;
}

// Each record is 64 bytes of a file: the sum, which nearly every reduction is, goes without saying.
void WrappedCall::begin(const Arguments& given) {
  const uint32_t call =
      kept(&g_calls[static_cast<uint8_t>(given.function)], [&] { return call_of(symbol_of(given.function)); });
  const uint32_t name = call_name(call);
  const DataType* type = data_type(given.type);
  const uint64_t bytes = type == nullptr ? 0 : given.count * type->bytes;
  const KnownCommunicator& communicator = known(thread_, given.comm);
  const bool counted = communicator.calls != nullptr && has_order(call);
  const uint32_t sequence = counted ? spool::add_relaxed(communicator.calls, 1u) : 0;
  Attribute attributes[2];
  uint32_t count = 0;
  if (type != nullptr)
    attributes[count++] = {key(&g_keys.type, "dtype"), AttributeType::string, key(&g_types[given.type], type->name)};
  if (given.reduction != kNoReduction && given.reduction != kSum)
    attributes[count++] = {key(&g_keys.reduction, "op"), AttributeType::string,
                           reduction_name(static_cast<uint64_t>(given.reduction))};
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
void WrappedCall::begin_timing() {
  OpenGroup& group = thread_.group;
  if (group.depth == 0) {
    pair_ = start_timing(stream_);
  } else if (group.calls++ == 0) {
    group.pair = start_timing(stream_);
    group.stream = stream_;
    group.event = event_;
  }
}

void WrappedCall::finish_timing() {
  if (pair_ == 0) return;
  if (launched_)
    end_timing(pair_, stream_, event_);
  else
    drop_timing(pair_);
}

void begin_group() { ++t_nccl.group.depth; }

void end_group(Result result) {
  OpenGroup& group = t_nccl.group;
  if (group.depth == 0 || --group.depth != 0) return;
  if (group.calls == 1 && result == kSuccess)
    end_timing(group.pair, group.stream, group.event);
  else
    drop_timing(group.pair);
  group = {};
}

}  // namespace gradsync::nccl
