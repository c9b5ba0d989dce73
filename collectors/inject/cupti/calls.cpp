#include "collectors/inject/cupti/calls.h"

namespace gradsync::cupti {
namespace {

constexpr Api kRuntime = Api::runtime, kDriver = Api::driver;
constexpr CallKind kLaunch = CallKind::launch, kWait = CallKind::wait;

// Two numbers of one name: the second is that of programs whose default stream is per thread.
constexpr KnownCall kCalls[] = {
    {31, kRuntime, kLaunch, "cudaMemcpy"},
    {41, kRuntime, kLaunch, "cudaMemcpyAsync"},
    {225, kRuntime, kLaunch, "cudaMemcpyAsync"},
    {161, kRuntime, kLaunch, "cudaMemcpyPeerAsync"},
    {51, kRuntime, kLaunch, "cudaMemsetAsync"},
    {235, kRuntime, kLaunch, "cudaMemsetAsync"},
    {211, kRuntime, kLaunch, "cudaLaunchKernel"},
    {214, kRuntime, kLaunch, "cudaLaunchKernel"},
    {430, kRuntime, kLaunch, "cudaLaunchKernelExC"},
    {431, kRuntime, kLaunch, "cudaLaunchKernelExC"},
    {269, kRuntime, kLaunch, "cudaLaunchCooperativeKernel"},
    {270, kRuntime, kLaunch, "cudaLaunchCooperativeKernel"},
    {311, kRuntime, kLaunch, "cudaGraphLaunch"},
    {312, kRuntime, kLaunch, "cudaGraphLaunch"},
    {165, kRuntime, kWait, "cudaDeviceSynchronize"},
    {131, kRuntime, kWait, "cudaStreamSynchronize"},
    {239, kRuntime, kWait, "cudaStreamSynchronize"},
    {137, kRuntime, kWait, "cudaEventSynchronize"},
    // NCCL from 2.22 on launches through the driver.
    {307, kDriver, kLaunch, "cuLaunchKernel"},
    {442, kDriver, kLaunch, "cuLaunchKernel"},
    {652, kDriver, kLaunch, "cuLaunchKernelEx"},
    {653, kDriver, kLaunch, "cuLaunchKernelEx"},
    {477, kDriver, kLaunch, "cuLaunchCooperativeKernel"},
    {478, kDriver, kLaunch, "cuLaunchCooperativeKernel"},
    {514, kDriver, kLaunch, "cuGraphLaunch"},
    {515, kDriver, kLaunch, "cuGraphLaunch"},
    {17, kDriver, kWait, "cuCtxSynchronize"},
    {126, kDriver, kWait, "cuStreamSynchronize"},
    {440, kDriver, kWait, "cuStreamSynchronize"},
    {121, kDriver, kWait, "cuEventSynchronize"},
};

}  // namespace

const KnownCall* known_calls() { return kCalls; }

uint32_t call_count() { return sizeof kCalls / sizeof kCalls[0]; }

const KnownCall* known_call(Api api, uint32_t call) {
  for (const KnownCall& known : kCalls)
    if (known.call == call && known.api == api) return &known;
  return nullptr;
}

}  // namespace gradsync::cupti
