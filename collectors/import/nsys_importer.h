// Rows of an Nsight Systems export → events of one rank in a sink.
//
//   table, row                                            event
//   CUPTI_ACTIVITY_KIND_KERNEL                            kernel on a stream lane; source profiler
//     NCCL by name                                        collective on a stream lane; attributes kernel, op; bytes and
//                                                         group from the NVTX range of the call that launched it
//   CUPTI_ACTIVITY_KIND_GRAPH_TRACE                       kernel "CUDA graph": a graph recorded as a whole
//   CUPTI_ACTIVITY_KIND_MEMCPY, …_MEMSET                  copy, memset, with bytes
//   CUPTI_ACTIVITY_KIND_RUNTIME: *Synchronize, …          host_sync
//     others                                              host_call; correlation = that of its kernel
//   CUPTI_ACTIVITY_KIND_SYNCHRONIZATION                   host_sync where its call is not among the calls
//   NVTX_EVENTS: ranges of emit_nvtx ("…, op_id = 7")     range, source profiler; gloo:… collective
//     nccl…                                               range, source nccl_nvtx; collective in an export without kernels
//     other ranges, marks                                 range, mark; source nvtx; attributes domain, category, payload
//
// Rows are taken in the order they are stored: exports do not promise one, and a timeline sorts by itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "collectors/import/nsys_catalog.h"
#include "collectors/import/nsys_lanes.h"
#include "collectors/import/nsys_losses.h"
#include "collectors/import/nsys_names.h"
#include "collectors/import/nsys_nccl.h"
#include "collectors/import/nsys_payload.h"

namespace gradsync {

// What all ranks of one export share.
struct NsysExport {
  explicit NsysExport(const NsysDatabase& opened);

  const NsysDatabase& database;
  NsysStrings strings;
  NsysPayloads payloads;
  NsysCatalog catalog;
  std::map<std::int64_t, std::string> copy_kinds, sync_kinds;  // ENUM_*: id → label
};

// Rows that are nobody's are counted while the first rank is read.
enum class CountNobody { yes, no };

class NsysImporter {
 public:
  NsysImporter(const NsysExport& from, const NsysRank& rank, CountNobody nobody, NsysLosses& losses, EventSink& sink);
  // Everything of the rank, and its lanes. Call once.
  void run();

  bool communicates() const { return communicates_; }  // NCCL was seen

 private:
  struct Sync {
    std::int64_t correlation = 0, type = 0;
    Nanoseconds start = 0, end = 0;
    bool has_call = false;
  };
  // Names of NVTX domains (category 0) and of their categories. Rows have no promised order, so who is in one waits.
  struct DomainKey {
    std::int64_t process = 0, domain = 0, category = 0;
    bool operator<(const DomainKey& other) const {
      return std::tie(process, domain, category) < std::tie(other.process, other.domain, other.category);
    }
  };
  struct InDomain {
    std::uint64_t reference = 0;
    DomainKey key;
  };
  using Row = const NsysRows&;

  void ranges();
  void range(Row row, std::int64_t type, std::int64_t thread);
  void nccl_range(const NsysName& name, Row row, std::int64_t thread, Event& made);
  void payload(Row row, const Event& made);
  void name_domain_or_category(Row row, std::int64_t type, std::int64_t thread);
  void add_domains_and_categories();
  void collect_syncs();
  void calls();
  void syncs_without_call();
  void kernels();
  void give_collective(const NsysName& name, Event& made);
  void other_device_rows(std::string_view table, Kind kind);

  bool owns_device_row(std::string_view table, const std::optional<std::int64_t>& process,
                       const std::optional<std::int64_t>& device);
  bool owns_thread(std::string_view table, std::optional<std::int64_t>& thread);
  bool has_time(std::string_view table, Row row, Event& made);
  const NsysName* kernel_name(Row row);
  void give(Event& event) {
    event.reference = ++references_;
    sink_.event(event);
  }

  const NsysExport& from_;
  const NsysRank& rank_;
  CountNobody nobody_;
  NsysLosses& losses_;
  EventSink& sink_;
  NsysNames names_;
  NsysLanes lanes_;
  NcclCalls nccl_;
  std::vector<Sync> syncs_;  // by correlation
  std::map<DomainKey, NameId> domain_names_;
  std::vector<InDomain> in_domains_;
  std::uint64_t references_ = 0;
  bool communicates_ = false;
};

}  // namespace gradsync
