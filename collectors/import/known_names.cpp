#include "collectors/import/known_names.h"

#include "collectors/import/collective.h"
#include "collectors/import/decimal.h"

namespace gradsync {
namespace {

constexpr std::string_view kStepPrefix = "ProfilerStep#";

std::optional<std::uint32_t> step_number(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  const std::optional<std::int64_t> number = integer_from(name.substr(kStepPrefix.size()));
  if (!number || *number < 0 || *number >= kNoStep) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

// cudaStreamSynchronize, cuCtxSynchronize, hipEventSynchronize_spt; MTIA's synchronizeStream.
bool waits_for_device(std::string_view name) {
  if (name == "synchronize" || name == "synchronizeStream") return true;
  const bool runtime = name.starts_with("cu") || name.starts_with("hip");
  return runtime && name.find("Synchronize") != std::string_view::npos;
}

// The framework's kernel for element by element, reading one type and writing another.
bool converts(std::string_view name) {
  return name.find("unrolled_elementwise_kernel") != std::string_view::npos &&
         name.find("LoadWithCast") != std::string_view::npos;
}

}  // namespace

const KnownName& KnownNames::find(std::string_view name) {
  const auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  return names_.emplace(std::string(name), work_out(name)).first->second;
}

KnownName KnownNames::work_out(std::string_view name) {
  KnownName known;
  known.id = name.empty() ? NameId::none : sink_.intern(name);
  known.step = step_number(name);
  known.spanning = collective_of_annotation(name);
  known.casts = converts(name);
  known.host_sync = waits_for_device(name);
  known.clock_marker = name == kClockOpen || name == kClockClose;
  if (is_nccl_kernel(name)) {
    const NcclKernelName parsed = parse_nccl_kernel(name);
    known.nccl_operation = parsed.operation;
    known.nccl_reduction = parsed.reduction;
  }
  return known;
}

}  // namespace gradsync
