// NcclGraph: some calls of one collective, captured once from a stream and replayed as one launch, so that the time of a
// collective is told from the time to launch it. Used by the thread that uses the device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "collectors/fabric/cuda_device.h"

namespace gradsync {

class NcclGraph {
 public:
  // Captures `times` calls of `enqueue`. Error: what stands in the way; the stream is usable again.
  static Result<std::unique_ptr<NcclGraph>> capture(CudaDevice& device, int times,
                                                    const std::function<Result<void>()>& enqueue);
  ~NcclGraph();
  NcclGraph(const NcclGraph&) = delete;
  NcclGraph& operator=(const NcclGraph&) = delete;

  Result<void> launch();
  int times() const { return times_; }

 private:
  NcclGraph(CudaDevice& device, int times) : device_(device), times_(times) {}

  CudaDevice& device_;
  int times_;
  cuda::GraphExec exec_ = nullptr;
};

}  // namespace gradsync
