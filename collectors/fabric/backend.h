// FabricBackend: one library that moves bytes between ranks (NCCL, Gloo), as one rank sees it. A sweep measures through
// this and knows nothing else of it. Used by one thread. Backends may live in a plug-in that is loaded when it is asked
// for (`libgradsync_gloo.so`), so nothing here needs more than headers.
//
// Sizes are those of nccl-tests: `bytes` is the whole vector, however it is cut.
//
//   operation        sends per rank            receives per rank
//   all_reduce       bytes                     bytes
//   all_gather       bytes / ranks             bytes
//   reduce_scatter   bytes                     bytes / ranks
//   all_to_all       bytes (ranks parts)       bytes
//   broadcast        bytes (root, rank 0)      bytes
//   send_recv        bytes to the next rank    bytes from the one before
//
// What does not divide evenly is rounded up to the next size that does: elements_of() below is the one place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectors/fabric/rank_store.h"
#include "src/base/result.h"
#include "src/model/report.h"

namespace gradsync {

enum class FabricOperation { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv };
enum class ElementType { float32, float16, int8 };

struct FabricCall {
  FabricOperation operation = FabricOperation::all_reduce;
  ElementType type = ElementType::float32;
  std::int64_t elements = 0;  // of the whole vector, a multiple of the ranks where it is cut
};

// One collective on one rank. Times are of CLOCK_MONOTONIC in nanoseconds for host backends; a device backend measures
// with its own events and gives `device_us`.
struct FabricTiming {
  std::int64_t begin_ns = 0, end_ns = 0;  // of the call, until its result is there
  std::optional<double> device_us;        // CUDA events around this one operation
  std::optional<double> graph_us;         // the same replayed from a graph, where the backend has them
};

struct FabricPlace {
  int rank = 0, ranks = 1;
  std::string interface_name;  // empty: the backend chooses
  std::int64_t timeout_ms = 30'000;
  std::string address;  // by which the others reach this rank, for a backend that would not find it itself
};

class FabricBackend {
 public:
  virtual ~FabricBackend() = default;
  virtual std::string name() const = 0;  // nccl, gloo
  virtual bool can(FabricOperation operation, ElementType type) const = 0;
  // Joins the other ranks through `store`. Once.
  virtual Result<void> connect(const FabricPlace& place, RankStore& store) = 0;
  // Version, transport, device, address: facts of the sweep. After connect().
  virtual Facts facts() const = 0;
  // Buffers for `call`, filled with what timed calls send (Pattern). What was prepared before is given up.
  virtual Result<void> prepare(const FabricCall& call) = 0;
  // Runs the prepared call once and waits for its result.
  virtual Result<FabricTiming> run() = 0;
  // Elements of this rank's result that are wrong after one more call on fresh buffers.
  virtual Result<std::int64_t> count_wrong() = 0;
};

// What a plug-in with a backend exports (src/base/plugin.h): a new one; the caller owns it. nullptr: no memory.
inline constexpr const char* kBackendName = "gsd_fabric_backend";
using MakeBackendFunction = FabricBackend* (*)();

// The word of product and command line: all_reduce, …; float, half, int8.
const char* to_string(FabricOperation operation);
const char* to_string(ElementType type);
std::optional<FabricOperation> fabric_operation(std::string_view word);
std::optional<ElementType> element_type(std::string_view word);
std::int64_t size_of(ElementType type);
// Elements of a vector of at least `bytes` that `ranks` can cut evenly where the operation cuts it; at least one each.
std::int64_t elements_of(FabricOperation operation, ElementType type, std::int64_t bytes, int ranks);

}  // namespace gradsync
