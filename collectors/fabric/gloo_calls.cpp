#include "collectors/fabric/gloo_calls.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/types.h>

#include <utility>
#include <vector>

#include "collectors/fabric/pattern.h"

namespace gradsync {
namespace {

using Context = std::shared_ptr<gloo::Context>;

template <class T>
struct Buffers {
  T* send;
  T* receive;
  std::int64_t sent, received;
};

// Options are made once and kept: they hold the buffers as Gloo has registered them.
template <class T>
GlooCall all_reduce(const Context& context, const Buffers<T>& buffers) {
  auto options = std::make_shared<gloo::AllreduceOptions>(context);
  options->setInput(buffers.send, static_cast<std::size_t>(buffers.sent));
  options->setOutput(buffers.receive, static_cast<std::size_t>(buffers.received));
  options->setReduceFunction(static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<T>));
  return [options] { gloo::allreduce(*options); };
}

template <class T>
GlooCall all_gather(const Context& context, const Buffers<T>& buffers) {
  auto options = std::make_shared<gloo::AllgatherOptions>(context);
  options->setInput(buffers.send, static_cast<std::size_t>(buffers.sent));
  options->setOutput(buffers.receive, static_cast<std::size_t>(buffers.received));
  return [options] { gloo::allgather(*options); };
}

template <class T>
GlooCall all_to_all(const Context& context, const Buffers<T>& buffers) {
  auto options = std::make_shared<gloo::AlltoallOptions>(context);
  options->setInput(buffers.send, static_cast<std::size_t>(buffers.sent));
  options->setOutput(buffers.receive, static_cast<std::size_t>(buffers.received));
  return [options] { gloo::alltoall(*options); };
}

// The root sends from where the others receive, as nccl-tests' in-place form: no copy of its own is timed.
template <class T>
GlooCall broadcast(const Context& context, const Buffers<T>& buffers) {
  auto options = std::make_shared<gloo::BroadcastOptions>(context);
  options->setOutput(context->rank == 0 ? buffers.send : buffers.receive, static_cast<std::size_t>(buffers.received));
  options->setRoot(0);
  return [options] { gloo::broadcast(*options); };
}

// This version has it as a class of the old style alone, which works in place and overwrites with its result what it may
// still be sending: where a socket takes a message in two parts, the other rank adds the result instead of the second
// part (seen at 128 KiB with two ranks over loopback). So: every part to the rank it belongs to, and Gloo's sum there,
// which moves as many bytes.
template <class T>
GlooCall reduce_scatter(const Context& context, const Buffers<T>& buffers) {
  auto parts = std::make_shared<std::vector<T>>(static_cast<std::size_t>(buffers.sent));
  const GlooCall exchange = all_to_all(context, Buffers<T>{buffers.send, parts->data(), buffers.sent, buffers.sent});
  const auto part = static_cast<std::size_t>(buffers.received);
  return [exchange, parts, part, result = buffers.receive, ranks = context->size] {
    exchange();
    gloo::sum<T>(result, parts->data(), parts->data() + part, part);
    for (int rank = 2; rank < ranks; ++rank)
      gloo::sum<T>(result, parts->data() + static_cast<std::size_t>(rank) * part, part);
  };
}

template <class T>
GlooCall send_recv(const Context& context, const Buffers<T>& buffers) {
  constexpr std::uint64_t kSlot = std::uint64_t{0x7e} << 56;  // no collective's prefix
  const std::size_t bytes = static_cast<std::size_t>(buffers.sent) * sizeof(T);
  const std::shared_ptr<gloo::transport::UnboundBuffer> out = context->createUnboundBuffer(buffers.send, bytes);
  const std::shared_ptr<gloo::transport::UnboundBuffer> in = context->createUnboundBuffer(buffers.receive, bytes);
  const int next = (context->rank + 1) % context->size, before = (context->rank + context->size - 1) % context->size;
  return [context, out, in, next, before] {
    in->recv(before, kSlot);
    out->send(next, kSlot);
    in->waitRecv(context->getTimeout());
    out->waitSend(context->getTimeout());
  };
}

template <class T>
GlooCall call_of(const Context& context, const FabricCall& call, const GlooBuffers& memory) {
  const Buffers<T> buffers{static_cast<T*>(memory.send), static_cast<T*>(memory.receive),
                           elements_sent(call, context->size), elements_received(call, context->size)};
  switch (call.operation) {
    case FabricOperation::all_reduce:
      return all_reduce(context, buffers);
    case FabricOperation::all_gather:
      return all_gather(context, buffers);
    case FabricOperation::reduce_scatter:
      return reduce_scatter(context, buffers);
    case FabricOperation::all_to_all:
      return all_to_all(context, buffers);
    case FabricOperation::broadcast:
      return broadcast(context, buffers);
    case FabricOperation::send_recv:
      return send_recv(context, buffers);
  }
  return [] {};
}

}  // namespace

GlooCall prepare_gloo_call(const std::shared_ptr<gloo::Context>& context, const FabricCall& call,
                           const GlooBuffers& buffers) {
  switch (call.type) {
    case ElementType::float32:
      return call_of<float>(context, call, buffers);
    case ElementType::float16:
      return call_of<gloo::float16>(context, call, buffers);
    case ElementType::int8:
      return call_of<std::int8_t>(context, call, buffers);
  }
  return [] {};
}

}  // namespace gradsync
