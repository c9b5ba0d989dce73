// Kernels' descriptions of sched_switch, written here; and the program as it is loaded for the older of them, on this one.
#include "collectors/host/bpf_switch.h"

#include <bpf/btf.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <memory>

#include "collectors/host/bpf_program.h"

using namespace gradsync;

namespace {

enum class Argument { thread, number, flag };
using Arguments = std::vector<Argument>;

struct Free {
  void operator()(btf* types) const { ::btf__free(types); }
};

// typedef void (*NAME)(void *, ARGUMENTS…)
std::unique_ptr<btf, Free> kernel(const char* name, const Arguments& arguments) {
  std::unique_ptr<btf, Free> types(::btf__new_empty());
  const int flag = ::btf__add_int(types.get(), "_Bool", 1, BTF_INT_BOOL);
  const int number = ::btf__add_int(types.get(), "unsigned int", 4, 0);
  const int thread = ::btf__add_struct(types.get(), "task_struct", 16);
  const int pointer = ::btf__add_ptr(types.get(), thread);
  const int any = ::btf__add_ptr(types.get(), 0);
  const int function = ::btf__add_func_proto(types.get(), 0);
  ::btf__add_func_param(types.get(), "__data", any);
  for (const Argument argument : arguments)
    ::btf__add_func_param(types.get(), "",
                          argument == Argument::thread   ? pointer
                          : argument == Argument::number ? number
                                                         : flag);
  ::btf__add_typedef(types.get(), name, ::btf__add_ptr(types.get(), function));
  return types;
}

void sleep_often() {
  const timespec pause{0, 1'000'000};
  for (int i = 0; i < 100; ++i) ::nanosleep(&pause, nullptr);
}

}  // namespace

TEST_CASE("which arguments a kernel hands over") {
  using enum Argument;
  struct Case {
    const char* name;
    Arguments arguments;
    SwitchArguments wanted;
  };
  const char* const known = "btf_trace_sched_switch";
  for (const Case& one : {Case{known, {flag, thread, thread}, SwitchArguments::without_state},
                          Case{known, {flag, thread, thread, number}, SwitchArguments::with_state},
                          Case{known, {flag, number, thread, thread}, SwitchArguments::unknown},  // of 5.18-rc
                          Case{known, {flag, thread, thread, thread}, SwitchArguments::unknown},
                          Case{known, {flag, thread}, SwitchArguments::unknown},
                          Case{known, {flag, thread, thread, number, number}, SwitchArguments::unknown},
                          Case{"btf_trace_sched_waking", {flag, thread, thread}, SwitchArguments::unknown}})
    CHECK(switch_arguments(*kernel(one.name, one.arguments)) == one.wanted);
}

TEST_CASE("the program for kernels that do not tell the state is taken by this one as well, and sees sleeps") {
  const Result<SwitchArguments> here = running_switch_arguments();
  if (!here || probe_bpf_tier("/")) {
    MESSAGE("skipped: eBPF is not allowed here");
    return;
  }
  for (const BpfU32 tells : {0U, *here == SwitchArguments::with_state ? 1U : 0U}) {
    const BpfConfig config{1, static_cast<BpfU32>(::getpid()), ~BpfU64{0}, ~BpfU64{0}, tells, 0};
    Result<BpfProgram> program = BpfProgram::load(config, TraceSubject::scheduler_and_interrupts, 0);
    REQUIRE(program);
    REQUIRE(program->attach());
    const pid_t child = ::fork();
    if (child == 0) {
      sleep_often();
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    program->detach();
    BpfThread thread{};
    const auto key = static_cast<BpfU32>(child);
    REQUIRE(program->map("threads").get(&key, &thread));
    CHECK(thread.woken.count + thread.unseen >= 100);
    CHECK(thread.woken.count + thread.unseen <= 130);
  }
}
