// A CUDA runtime without a GPU: device memory is host memory, streams are queues with a thread each. It has what the
// sweep calls, is strict where CUDA is, and knows nothing else.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "collectors/fabric/abi/cuda_abi.h"
#include "tests/fabric/fake_nccl/device_memory.h"
#include "tests/fabric/fake_nccl/knobs.h"
#include "tests/fabric/fake_nccl/stream.h"

using namespace gradsync::cuda;

namespace {

struct CapturedGraph {
  fake::Capture capture;
};

// Memory, streams, events and graphs that the caller has and must give back.
std::atomic<int> handed_out{0};

thread_local Status last = kSuccess;

Status result(Status status) {
  if (status != kSuccess && status != kNotReady) last = status;
  return status;
}

fake::Stream* stream_of(Stream stream) {
  return fake::is_stream(stream) ? reinterpret_cast<fake::Stream*>(stream) : nullptr;
}

fake::Event* event_of(Event event) { return reinterpret_cast<fake::Event*>(event); }

// CUDA works in one process: not in one forked after it began.
Status in_this_process() {
  static const pid_t started = getpid();
  return started == getpid() ? kSuccess : kInitializationError;
}

int devices() { return static_cast<int>(fake::knob("GSD_FAKE_CUDA_DEVICES", 8)); }

// What may not happen while this thread captures: the capture is lost, as CUDA loses it.
bool disturbs_capture() {
  if (fake::Stream* stream = fake::captured_by_this_thread()) {
    stream->invalidate_capture();
    return true;
  }
  return false;
}

}  // namespace

extern "C" {

int gsd_fake_cuda_handed_out() { return handed_out; }

Status cudaDriverGetVersion(int* version) {
  *version = static_cast<int>(fake::knob("GSD_FAKE_CUDA_DRIVER", 13000));
  return kSuccess;
}

Status cudaRuntimeGetVersion(int* version) {
  *version = static_cast<int>(fake::knob("GSD_FAKE_CUDA_RUNTIME", 13000));
  return kSuccess;
}

Status cudaGetDeviceCount(int* count) {
  *count = 0;
  if (fake::knob("GSD_FAKE_CUDA_DRIVER", 13000) == 0) return result(kInsufficientDriver);
  if (devices() == 0) return result(kNoDevice);
  if (const Status status = in_this_process(); status != kSuccess) return result(status);
  *count = devices();
  return kSuccess;
}

Status cudaSetDevice(int device) {
  if (const Status status = in_this_process(); status != kSuccess) return result(status);
  if (fake::knob("GSD_FAKE_CUDA_BUSY", 0) != 0) return result(kDevicesUnavailable);
  return result(device >= 0 && device < devices() ? kSuccess : kInvalidDevice);
}

Status cudaDeviceGetAttribute(int* value, Attribute attribute, int device) {
  if (device < 0 || device >= devices()) return result(kInvalidDevice);
  *value = attribute == kComputeCapabilityMajor ? 9 : 0;
  return kSuccess;
}

Status cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  if (device < 0 || device >= devices()) return result(kInvalidDevice);
  std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02X:00.0", device + 1);
  return kSuccess;
}

Status cudaGetLastError() {
  const Status status = last;
  last = kSuccess;
  return status;
}

const char* cudaGetErrorString(Status status) {
  switch (status) {
    case kSuccess:
      return "no error";
    case kInvalidValue:
      return "invalid argument";
    case kMemoryAllocation:
      return "out of memory";
    case kInitializationError:
      return "initialization error";
    case kInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case kDevicesUnavailable:
      return "CUDA-capable device(s) is/are busy or unavailable";
    case kNoDevice:
      return "no CUDA-capable device is detected";
    case kInvalidDevice:
      return "invalid device ordinal";
    case kInvalidResourceHandle:
      return "invalid resource handle";
    case kNotReady:
      return "device not ready";
    case kIllegalAddress:
      return "an illegal memory access was encountered";
    case kStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case kStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
  }
  return "unrecognized error code";
}

Status cudaMalloc(void** memory, std::size_t bytes) {
  if (disturbs_capture()) return result(kStreamCaptureUnsupported);
  *memory = fake::allocate_device(bytes);
  if (*memory) ++handed_out;
  return result(*memory ? kSuccess : kMemoryAllocation);
}

Status cudaFree(void* memory) {
  if (!memory) return kSuccess;
  if (disturbs_capture()) return result(kStreamCaptureUnsupported);
  fake::wait_for_all_streams();
  if (fake::free_device(memory) == fake::Freed::unknown) return result(kInvalidValue);
  --handed_out;
  return kSuccess;
}

Status cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  *free_bytes = fake::device_bytes_free();
  *total_bytes = fake::device_bytes_total();
  return kSuccess;
}

Status cudaMemsetAsync(void* memory, int value, std::size_t bytes, Stream stream) {
  fake::Stream* const queue = stream_of(stream);
  if (!queue) return result(kInvalidResourceHandle);
  if (!fake::on_device(memory, bytes)) return result(kInvalidValue);
  queue->enqueue([=] { std::memset(memory, value, bytes); });
  return kSuccess;
}

Status cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, CopyKind kind, Stream stream) {
  fake::Stream* const queue = stream_of(stream);
  if (!queue) return result(kInvalidResourceHandle);
  const bool to_device = fake::on_device(to, bytes), from_device = fake::on_device(from, bytes);
  if (to_device != (kind == kHostToDevice) || from_device != (kind == kDeviceToHost)) return result(kInvalidValue);
  // As late as CUDA may: host memory must live until the stream has come so far.
  queue->enqueue([=] { std::memcpy(to, from, bytes); });
  return kSuccess;
}

Status cudaStreamCreateWithFlags(Stream* stream, unsigned) {
  *stream = reinterpret_cast<Stream>(new fake::Stream);
  ++handed_out;
  return kSuccess;
}

Status cudaStreamQuery(Stream stream) {
  fake::Stream* const queue = stream_of(stream);
  if (!queue) return result(kInvalidResourceHandle);
  if (queue->is_capturing()) {
    queue->invalidate_capture();
    return result(kStreamCaptureUnsupported);
  }
  return queue->is_idle() ? kSuccess : kNotReady;
}

Status cudaStreamDestroy(Stream stream) {
  fake::Stream* const queue = stream_of(stream);
  if (!queue) return result(kInvalidResourceHandle);
  delete queue;
  --handed_out;
  return kSuccess;
}

Status cudaEventCreateWithFlags(Event* event, unsigned) {
  *event = reinterpret_cast<Event>(new fake::Event);
  ++handed_out;
  return kSuccess;
}

Status cudaEventRecord(Event event, Stream stream) {
  fake::Stream* const queue = stream_of(stream);
  if (!event || !queue) return result(kInvalidResourceHandle);
  event_of(event)->record(*queue);
  return kSuccess;
}

Status cudaEventQuery(Event event) {
  if (!event) return result(kInvalidResourceHandle);
  if (disturbs_capture()) return result(kStreamCaptureUnsupported);
  return event_of(event)->is_done() ? kSuccess : kNotReady;
}

Status cudaEventElapsedTime(float* milliseconds, Event start, Event end) {
  if (!start || !end || !event_of(start)->was_recorded() || !event_of(end)->was_recorded())
    return result(kInvalidResourceHandle);
  if (!event_of(start)->is_done() || !event_of(end)->is_done()) return result(kNotReady);
  const auto elapsed = event_of(end)->time() - event_of(start)->time();
  *milliseconds = std::chrono::duration<float, std::milli>(elapsed).count();
  return kSuccess;
}

Status cudaEventDestroy(Event event) {
  fake::wait_for_all_streams();  // a mark that is still in a queue points here
  delete event_of(event);
  --handed_out;
  return kSuccess;
}

Status cudaStreamBeginCapture(Stream stream, CaptureMode) {
  fake::Stream* const queue = stream_of(stream);
  if (!queue) return result(kInvalidResourceHandle);
  if (fake::knob("GSD_FAKE_CUDA_NO_CAPTURE", 0) != 0) return result(kStreamCaptureUnsupported);
  return result(queue->begin_capture() ? kSuccess : kStreamCaptureUnsupported);
}

Status cudaStreamEndCapture(Stream stream, Graph* graph) {
  fake::Stream* const queue = stream_of(stream);
  if (!queue) return result(kInvalidResourceHandle);
  auto ended = queue->end_capture();
  *graph = nullptr;
  if (!ended) return result(kInvalidValue);
  if (!ended->is_valid) return result(kStreamCaptureInvalidated);
  *graph = reinterpret_cast<Graph>(new CapturedGraph{std::move(*ended)});
  ++handed_out;
  return kSuccess;
}

Status cudaGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long) {
  *exec = reinterpret_cast<GraphExec>(new CapturedGraph(*reinterpret_cast<CapturedGraph*>(graph)));
  ++handed_out;
  return kSuccess;
}

Status cudaGraphLaunch(GraphExec exec, Stream stream) {
  fake::Stream* const queue = stream_of(stream);
  if (!exec || !queue) return result(kInvalidResourceHandle);
  for (const fake::Work& work : reinterpret_cast<CapturedGraph*>(exec)->capture.work) queue->enqueue(work);
  return kSuccess;
}

Status cudaGraphExecDestroy(GraphExec exec) {
  fake::wait_for_all_streams();
  delete reinterpret_cast<CapturedGraph*>(exec);
  --handed_out;
  return kSuccess;
}

Status cudaGraphDestroy(Graph graph) {
  delete reinterpret_cast<CapturedGraph*>(graph);
  --handed_out;
  return kSuccess;
}

}  // extern "C"
