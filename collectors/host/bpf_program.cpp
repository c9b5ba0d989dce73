#include "collectors/host/bpf_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>

namespace gradsync {
namespace {

constexpr const char* kParts[kBpfPrograms] = {"on_switch",   "on_waking",        "on_newborn",     "on_irq_entry",
                                              "on_irq_exit", "on_softirq_entry", "on_softirq_exit"};

// What the loader would print on our standard error belongs to nobody.
int say_nothing(libbpf_print_level, const char*, va_list) { return 0; }

Error refused(const char* what, int error) {
  Error result{"cannot use eBPF", "", std::string(what) + ": " + errno_text(error), ""};
  if (error == EPERM || error == EACCES) {
    const bool root = ::geteuid() == 0;
    result.why = root ? "refused to root: seccomp, lockdown or missing capabilities (a container?)"
                      : "not permitted to this user";
    result.hint = root ? "allow the container CAP_BPF, CAP_PERFMON and the system call bpf"
                       : "run it as root, or with CAP_BPF and CAP_PERFMON";
  }
  return result;
}

}  // namespace

void BpfProgram::CloseObject::operator()(bpf_object* object) const { ::bpf_object__close(object); }
void BpfProgram::CloseLink::operator()(bpf_link* link) const { ::bpf_link__destroy(link); }

Result<BpfProgram> BpfProgram::load(const BpfConfig& config, TraceSubject subject, std::size_t ring_bytes) {
  ::libbpf_set_print(say_nothing);
  BpfProgram program;
  const std::span<const unsigned char> bytes = bpf_object_bytes();
  LIBBPF_OPTS(bpf_object_open_opts, options);
  options.object_name = "gradsync";
  program.object_.reset(::bpf_object__open_mem(bytes.data(), bytes.size(), &options));
  if (!program.object_) return refused("its program cannot be read", errno);
  if (const Result<void> prepared = program.prepare(config, subject, ring_bytes); !prepared) return prepared.error();
  if (const int error = ::bpf_object__load(program.object_.get()); error != 0)
    return refused("the kernel does not take the program", -error);
  return program;
}

Result<void> BpfProgram::prepare(const BpfConfig& config, TraceSubject subject, std::size_t ring_bytes) {
  bpf_map* const constants = ::bpf_object__find_map_by_name(object_.get(), ".rodata");
  bpf_map* const ring = ::bpf_object__find_map_by_name(object_.get(), "held");
  if (constants == nullptr || ring == nullptr || ::bpf_map__set_initial_value(constants, &config, sizeof config) != 0)
    return Error{"cannot use eBPF", "", "its program is not the one that this build expects", ""};
  if (ring_bytes > 0) ::bpf_map__set_max_entries(ring, static_cast<BpfU32>(ring_bytes));
  for (std::size_t i = 0; i < kBpfPrograms; ++i) {
    parts_[i] = ::bpf_object__find_program_by_name(object_.get(), kParts[i]);
    loaded_[i] = subject != TraceSubject::interrupts || i >= kBpfIrqEntry;
    ::bpf_program__set_autoload(parts_[i], loaded_[i]);
  }
  return {};
}

Result<void> BpfProgram::attach() {
  for (std::size_t i = 0; i < kBpfPrograms; ++i) {
    if (!loaded_[i]) continue;
    links_.emplace_back(::bpf_program__attach(parts_[i]));
    if (links_.back()) continue;
    const int error = errno;
    detach();
    return refused("the program cannot be attached", error);
  }
  if (set_epoch(++epochs_)) return {};
  const int error = errno;
  detach();
  return refused("the program cannot be switched on", error);
}

void BpfProgram::detach() {
  if (links_.empty()) return;
  set_epoch(0);
  links_.clear();
}

bool BpfProgram::set_epoch(BpfU32 epoch) const {
  const BpfU32 zero = 0;
  return map(".bss").put(&zero, &epoch);
}

BpfMap BpfProgram::map(const char* name) const {
  const bpf_map* const found = ::bpf_object__find_map_by_name(object_.get(), name);
  return {::bpf_map__fd(found), ::bpf_map__key_size(found), ::bpf_map__value_size(found),
          ::bpf_map__max_entries(found)};
}

std::uint64_t BpfProgram::missed(BpfPart part) const {
  bpf_prog_info info{};
  BpfU32 size = sizeof info;
  return ::bpf_obj_get_info_by_fd(::bpf_program__fd(parts_[part]), &info, &size) == 0 ? info.recursion_misses : 0;
}

std::optional<Error> probe_bpf_tier(const std::filesystem::path& root) {
  std::error_code error;
  if (!std::filesystem::exists(root / "sys/kernel/btf/vmlinux", error))
    return Error{"cannot use eBPF", "", "this kernel does not describe its types (no /sys/kernel/btf/vmlinux)", ""};
  const FileDescriptor map(::bpf_map_create(BPF_MAP_TYPE_RINGBUF, "gradsync_probe", 0, 0,
                                            static_cast<BpfU32>(::sysconf(_SC_PAGESIZE)), nullptr));
  return map ? std::nullopt : std::optional(refused("it cannot be asked", errno));
}

}  // namespace gradsync
