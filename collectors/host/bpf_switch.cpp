#include "collectors/host/bpf_switch.h"

#include <bpf/btf.h>

#include <memory>

namespace gradsync {
namespace {

struct FreeTypes {
  void operator()(btf* types) const { ::btf__free(types); }
};

const btf_type* plain(const btf& types, std::uint32_t id) {
  const int resolved = ::btf__resolve_type(&types, id);
  return resolved < 0 ? nullptr : ::btf__type_by_id(&types, static_cast<std::uint32_t>(resolved));
}

// typedef void (*btf_trace_sched_switch)(void*, …)
const btf_type* prototype(const btf& types) {
  const int found = ::btf__find_by_name_kind(&types, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
  const btf_type* const pointer = found < 0 ? nullptr : plain(types, static_cast<std::uint32_t>(found));
  if (pointer == nullptr || !btf_is_ptr(pointer)) return nullptr;
  const btf_type* const function = plain(types, pointer->type);
  return function != nullptr && btf_is_func_proto(function) ? function : nullptr;
}

}  // namespace

SwitchArguments switch_arguments(const btf& types) {
  const btf_type* const function = prototype(types);
  if (function == nullptr || (btf_vlen(function) != 4 && btf_vlen(function) != 5)) return SwitchArguments::unknown;
  const btf_param* const parameters = btf_params(function);
  for (const int thread : {2, 3})
    if (const btf_type* const type = plain(types, parameters[thread].type); type == nullptr || !btf_is_ptr(type))
      return SwitchArguments::unknown;
  if (btf_vlen(function) == 4) return SwitchArguments::without_state;
  const btf_type* const state = plain(types, parameters[4].type);
  return state != nullptr && btf_is_int(state) ? SwitchArguments::with_state : SwitchArguments::unknown;
}

Result<SwitchArguments> running_switch_arguments() {
  const std::unique_ptr<btf, FreeTypes> types(::btf__load_vmlinux_btf());
  const SwitchArguments found = types ? switch_arguments(*types) : SwitchArguments::unknown;
  if (found != SwitchArguments::unknown) return found;
  return Error{"cannot use eBPF", "",
               types ? "this kernel tells of a switch of threads in another way" : "its types cannot be read", ""};
}

}  // namespace gradsync
