#include "collectors/fabric/nccl_graph.h"

namespace gradsync {

Result<std::unique_ptr<NcclGraph>> NcclGraph::capture(CudaDevice& device, int times,
                                                      const std::function<Result<void>()>& enqueue) {
  const CudaLibrary& library = device.library();
  const auto failed = [&](cuda::Status status) { return cuda_error(library, status, "cannot capture a graph", ""); };
  if (!library.call.graph_instantiate_with_flags)
    return Error{"cannot capture a graph", "",
                 "CUDA " + cuda_version_text(library.runtime_version) +
                     " has no cudaGraphInstantiateWithFlags (11.4 or newer is needed)",
                 ""};
  // Thread-local: what NCCL's own threads do meanwhile is none of the capture's business.
  cuda::Status status = library.call.stream_begin_capture(device.stream(), cuda::kCaptureThreadLocal);
  if (status != cuda::kSuccess) return failed(status);
  Result<void> enqueued;
  for (int i = 0; i < times && enqueued; ++i) enqueued = enqueue();
  cuda::Graph graph = nullptr;
  status = library.call.stream_end_capture(device.stream(), &graph);
  std::unique_ptr<NcclGraph> captured(new NcclGraph(device, times));
  if (enqueued && status == cuda::kSuccess)
    status = library.call.graph_instantiate_with_flags(&captured->exec_, graph, 0);
  if (graph) library.call.graph_destroy(graph);
  if (!enqueued) return enqueued.error();
  if (status != cuda::kSuccess) return failed(status);
  return captured;
}

NcclGraph::~NcclGraph() {
  if (exec_) device_.library().call.graph_exec_destroy(exec_);
}

Result<void> NcclGraph::launch() {
  const cuda::Status status = device_.library().call.graph_launch(exec_, device_.stream());
  if (status != cuda::kSuccess) return cuda_error(device_.library(), status, "cannot replay a graph", "");
  return {};
}

}  // namespace gradsync
