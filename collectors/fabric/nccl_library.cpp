#include "collectors/fabric/nccl_library.h"

#include "collectors/fabric/cuda_search.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

const LibraryKind kNccl{"NCCL",
                        "GSD_NCCL_LIBRARY",
                        {"libnccl.so.2"},
                        "pip install nvidia-nccl-cu12 (or -cu13), or name the file: "
                        "GSD_NCCL_LIBRARY=/path/libnccl.so.2; without NCCL: --backend gloo"};

std::vector<std::string> bind(void* handle, nccl::Functions& call) {
  SymbolTable table(handle);
  table.take("ncclGetUniqueId", call.get_unique_id);
  table.take("ncclCommInitRank", call.comm_init_rank);
  table.take("ncclCommDestroy", call.comm_destroy);
  table.take("ncclCommAbort", call.comm_abort);
  table.take("ncclCommGetAsyncError", call.comm_get_async_error);
  table.take("ncclGetErrorString", call.get_error_string);
  table.take_if_there("ncclGetLastError", call.get_last_error);
  table.take("ncclAllReduce", call.all_reduce);
  table.take("ncclAllGather", call.all_gather);
  table.take("ncclReduceScatter", call.reduce_scatter);
  table.take("ncclBroadcast", call.broadcast);
  table.take_if_there("ncclAlltoAll", call.all_to_all);
  table.take("ncclSend", call.send);
  table.take("ncclRecv", call.receive);
  table.take("ncclGroupStart", call.group_start);
  table.take("ncclGroupEnd", call.group_end);
  return table.missing();
}

// The version first: of a library that is too old, it says more than what is missing.
std::string fill(const OpenLibrary& opened, NcclLibrary& library) {
  library = NcclLibrary{};
  library.path = opened.path;
  SymbolTable table(opened.handle);
  table.take("ncclGetVersion", library.call.get_version);
  if (!table.missing().empty()) return "has no ncclGetVersion: not NCCL";
  if (library.call.get_version(&library.version) != nccl::kSuccess) return "does not tell its version";
  if (library.version < kOldestNccl)
    return "NCCL " + nccl_version_text(library.version) + " is too old: " + nccl_version_text(kOldestNccl) +
           " or newer is needed";
  if (const auto missing = bind(opened.handle, library.call); !missing.empty())
    return "NCCL " + nccl_version_text(library.version) + " without " + join(missing, ", ");
  return "";
}

std::string hint_for(nccl::Status status) {
  switch (status) {
    case nccl::kUnhandledCudaError:
      return "nvidia-smi shows the state of the GPUs and who uses them; NCCL_DEBUG=WARN prints the call that failed";
    case nccl::kSystemError:
      return "NCCL_DEBUG=WARN prints the system call that failed; --interface chooses the network";
    case nccl::kRemoteError:
      return "another rank ended or lost its network: see its own output";
    case nccl::kInvalidUsage:
      return "NCCL_DEBUG=WARN prints what NCCL found wrong; all ranks must run the same version with the same options";
    default:
      return "NCCL_DEBUG=WARN prints what NCCL found wrong";
  }
}

}  // namespace

Result<NcclLibrary> load_nccl() {
  NcclLibrary library;
  const auto opened = open_library(kNccl, [&](const OpenLibrary& candidate) { return fill(candidate, library); });
  if (!opened) return opened.error();
  return library;
}

std::string nccl_version_text(int version) {
  const int base = version < 10000 ? 1000 : 10000;
  return std::to_string(version / base) + "." + std::to_string(version % base / 100) + "." +
         std::to_string(version % 100);
}

Error nccl_error(const NcclLibrary& library, nccl::Status status, const std::string& what, const std::string& on) {
  const char* text = library.call.get_error_string(status);
  std::string why = std::string(text ? text : "unknown error") + " (NCCL error " + std::to_string(status) + ")";
  const char* last = library.call.get_last_error ? library.call.get_last_error(nullptr) : nullptr;
  if (last && last[0] != '\0') why += ", " + escape_controls(trim(last));
  return {what, on, why, hint_for(status)};
}

}  // namespace gradsync
