#include "collectors/fabric/nccl_backend.h"

#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "collectors/fabric/nccl_connect.h"
#include "collectors/fabric/nccl_facts.h"
#include "collectors/fabric/nccl_graph.h"
#include "collectors/fabric/nccl_launch.h"
#include "collectors/fabric/nccl_limit.h"
#include "collectors/fabric/pattern.h"

namespace gradsync {
namespace {

constexpr std::size_t kGuardBytes = 256;  // behind what a rank receives

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

class NcclBackend final : public FabricBackend {
 public:
  explicit NcclBackend(NcclLibraries libraries)
      : libraries_(std::move(libraries)), send_(libraries_.cuda), receive_(libraries_.cuda), flag_(libraries_.cuda) {}
  ~NcclBackend() override;

  std::string name() const override { return "nccl"; }
  bool can(FabricOperation, ElementType) const override { return true; }
  Result<void> connect(const FabricPlace& place, RankStore& store) override;
  Facts facts() const override { return facts_; }
  Result<void> prepare(const FabricCall& call) override;
  Result<FabricTiming> run() override;
  Result<std::int64_t> count_wrong() override;

 private:
  Result<void> enqueue();
  Result<void> first_enqueue();
  template <class Call>
  Result<void> enqueue_within_limit(const Call& call);
  NcclLaunch at() const;
  Result<void> healthy() const;
  Result<void> reserve();
  Result<void> fill_pattern();
  Result<void> capture();
  Result<bool> all_ranks(const Result<void>& mine);
  DeviceWait waiting() const;
  template <class Value>
  Result<Value> broken(Result<Value> result);

  NcclLibraries libraries_;
  FabricPlace place_;
  // In this order: what is declared later is given up first.
  NcclConnection connection_;
  DeviceBuffer send_, receive_, flag_;
  std::unique_ptr<NcclGraph> graph_;
  FabricCall call_;
  Facts facts_;
  bool can_capture_ = true;
  bool is_broken_ = false;
};

// An error leaves collectives on the stream that will never end: only an abort gets rid of them. Without one, ranks
// part together; one that does not come must not keep the others.
NcclBackend::~NcclBackend() {
  if (!connection_.comm) return;
  if (is_broken_) libraries_.nccl.call.comm_abort(connection_.comm);
  graph_.reset();
  if (is_broken_) return;
  call_within(place_.timeout_ms,
              [libraries = libraries_, comm = connection_.comm, device = connection_.device->index()] {
                libraries.cuda.call.set_device(device);
                return libraries.nccl.call.comm_destroy(comm);
              });
}

template <class Value>
Result<Value> NcclBackend::broken(Result<Value> result) {
  if (!result) is_broken_ = true;
  return result;
}

DeviceWait NcclBackend::waiting() const {
  return {describe(call_), place_.timeout_ms, [this] { return healthy(); }};
}

Result<void> NcclBackend::healthy() const {
  nccl::Status status = nccl::kSuccess;
  const nccl::Status asked = libraries_.nccl.call.comm_get_async_error(connection_.comm, &status);
  if (asked != nccl::kSuccess) status = asked;
  if (status == nccl::kSuccess || status == nccl::kInProgress) return {};
  return nccl_error(libraries_.nccl, status, describe(call_) + " failed", "");
}

NcclLaunch NcclBackend::at() const {
  return {connection_.comm, connection_.device->stream(), send_.data(), receive_.data(), place_.rank, place_.ranks};
}

// NCCL may connect ranks when they first talk in some way, inside the call, and waits for them without a limit.
template <class Call>
Result<void> NcclBackend::enqueue_within_limit(const Call& call) {
  const auto status =
      call_within(place_.timeout_ms, [libraries = libraries_, device = connection_.device->index(), call] {
        libraries.cuda.call.set_device(device);
        return call(libraries.nccl);
      });
  if (!status)
    return Error{
        "no result of " + describe(call_), "",
        "NCCL did not launch it within " + std::to_string(place_.timeout_ms) + " ms",
        "another rank is not taking part or the network is stuck: see the other ranks' output, NCCL_DEBUG=INFO"};
  if (*status == nccl::kSuccess) return {};
  return nccl_error(libraries_.nccl, *status, describe(call_) + " failed", "");
}

Result<void> NcclBackend::first_enqueue() {
  return enqueue_within_limit(
      [call = call_, at = at()](const NcclLibrary& library) { return launch(library, call, at); });
}

Result<void> NcclBackend::enqueue() {
  const nccl::Status status = launch(libraries_.nccl, call_, at());
  if (status == nccl::kSuccess) return {};
  return nccl_error(libraries_.nccl, status, describe(call_) + " failed", "");
}

Result<void> NcclBackend::connect(const FabricPlace& place, RankStore& store) {
  if (place.ranks < 2)
    return Error{"nothing to measure with one rank", "", "NCCL copies inside one GPU then", "--ranks 2 or more"};
  place_ = place;
  auto connected = connect_nccl(libraries_, place, store);
  if (!connected) return connected.error();
  connection_ = std::move(*connected);
  if (auto reserved = flag_.reserve(2 * sizeof(float)); !reserved) return broken(std::move(reserved));
  const auto empty_us = measure_empty_kernel_us(*connection_.device, flag_.data());
  if (!empty_us) return broken(Result<void>(empty_us.error()));
  facts_ = nccl_facts(libraries_, connection_, *empty_us);
  if (libraries_.nccl.version < nccl::version_code(2, 9, 0)) {
    can_capture_ = false;
    facts_["nccl.graph"] = "no: NCCL before 2.9 cannot be captured";
  }
  return {};
}

// Whether all ranks have succeeded so far: a sum of ones, by the communicator itself.
Result<bool> NcclBackend::all_ranks(const Result<void>& mine) {
  CudaDevice& device = *connection_.device;
  const float one = mine ? 1 : 0;
  float sum = 0;
  float* const flags = static_cast<float*>(flag_.data());
  if (auto in = device.copy_in(flags, &one, sizeof(one), waiting()); !in) return in.error();
  auto summed =
      enqueue_within_limit([flags, comm = connection_.comm, stream = device.stream()](const NcclLibrary& library) {
        return library.call.all_reduce(flags, flags + 1, 1, nccl::kFloat32, nccl::kSum, comm, stream);
      });
  if (!summed) return summed.error();
  if (auto out = device.copy_out(&sum, flags + 1, sizeof(sum), waiting()); !out) return out.error();
  return sum == static_cast<float>(place_.ranks);
}

Result<void> NcclBackend::reserve() {
  const std::int64_t size = size_of(call_.type);
  const auto bytes_sent = static_cast<std::size_t>(elements_sent(call_, place_.ranks) * size);
  const auto bytes_received = static_cast<std::size_t>(elements_received(call_, place_.ranks) * size);
  if (auto done = send_.reserve(bytes_sent); !done) return done;
  return receive_.reserve(bytes_received + kGuardBytes);
}

Result<void> NcclBackend::fill_pattern() {
  const auto pattern = Pattern(call_, place_.rank, place_.ranks).sent();
  return connection_.device->copy_in(send_.data(), pattern.data(), pattern.size(), waiting());
}

Result<void> NcclBackend::prepare(const FabricCall& call) {
  graph_.reset();
  call_ = call;
  const Result<void> reserved = reserve();
  const auto all = broken(all_ranks(reserved));
  if (!reserved) return reserved.error();
  if (!all) return all.error();
  if (!*all)
    return Error{"cannot prepare " + describe(call_), "", "another rank has no memory for it", "see its output"};
  if (auto filled = fill_pattern(); !filled) return broken(std::move(filled));
  // Once before the capture: NCCL connects ranks when they first talk, which a graph must not hold.
  if (auto ran = connection_.device->time([this] { return first_enqueue(); }, waiting()); !ran)
    return broken(std::move(ran));
  return can_capture_ ? broken(capture()) : Result<void>();
}

// A graph that only some ranks can replay would leave the others waiting: all have it, or none.
Result<void> NcclBackend::capture() {
  const std::int64_t bytes = call_.elements * size_of(call_.type);
  auto captured =
      NcclGraph::capture(*connection_.device, bytes <= kGraphSmall ? kGraphCalls : 1, [this] { return enqueue(); });
  const auto all = all_ranks(captured ? Result<void>() : captured.error());
  if (!all) return all.error();
  can_capture_ = *all;
  facts_["nccl.graph"] =
      *all ? "yes" : "no: " + (captured ? "another rank cannot capture" : captured.error().message());
  if (!*all) return {};
  graph_ = std::move(*captured);
  return connection_.device->time([this] { return graph_->launch(); }, waiting());  // the first launch uploads it
}

Result<FabricTiming> NcclBackend::run() {
  CudaDevice& device = *connection_.device;
  FabricTiming timing;
  timing.begin_ns = monotonic_ns();
  if (auto ran = device.time([this] { return enqueue(); }, waiting()); !ran)
    return broken(Result<FabricTiming>(ran.error()));
  timing.end_ns = monotonic_ns();
  const auto us = device.elapsed_us();
  if (!us) return broken(Result<FabricTiming>(us.error()));
  timing.device_us = *us;
  if (!graph_) return timing;
  if (auto ran = device.time([this] { return graph_->launch(); }, waiting()); !ran)
    return broken(Result<FabricTiming>(ran.error()));
  const auto graph_us = device.elapsed_us();
  if (!graph_us) return broken(Result<FabricTiming>(graph_us.error()));
  timing.graph_us = *graph_us / graph_->times();
  return timing;
}

Result<std::int64_t> NcclBackend::count_wrong() {
  using Count = Result<std::int64_t>;
  CudaDevice& device = *connection_.device;
  const auto bytes = static_cast<std::size_t>(elements_received(call_, place_.ranks) * size_of(call_.type));
  if (auto filled = fill_pattern(); !filled) return broken(Count(filled.error()));
  const int guard = std::to_integer<int>(Pattern::kGuard);
  if (auto filled = device.fill(receive_.data(), guard, bytes + kGuardBytes); !filled)
    return broken(Count(filled.error()));
  if (auto ran = device.time([this] { return enqueue(); }, waiting()); !ran) return broken(Count(ran.error()));
  std::vector<std::byte> received(bytes + kGuardBytes);
  if (auto out = device.copy_out(received.data(), receive_.data(), received.size(), waiting()); !out)
    return broken(Count(out.error()));
  const std::span<const std::byte> all(received);
  return Pattern(call_, place_.rank, place_.ranks).count_wrong(all.first(bytes), all.subspan(bytes));
}

}  // namespace

Result<std::unique_ptr<FabricBackend>> make_nccl_backend() {
  auto cuda = load_cuda();
  if (!cuda) return cuda.error();
  auto nccl = load_nccl();
  if (!nccl) return nccl.error();
  return std::unique_ptr<FabricBackend>(new NcclBackend({std::move(*cuda), std::move(*nccl)}));
}

}  // namespace gradsync
