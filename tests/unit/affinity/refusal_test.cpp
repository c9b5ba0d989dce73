#include "src/affinity/refusal.h"

#include <doctest/doctest.h>

#include <cerrno>

#include "src/affinity/remedy.h"

namespace gradsync {
namespace {

TEST_CASE("every errno has its meaning, its sentence and its command") {
  struct Case {
    int error;
    RefusalKind kind;
    const char *says, *command;
  };
  for (const Case& c : {
           Case{EPERM, RefusalKind::managed, "managed", "/proc/irq/38/effective_affinity_list"},
           {EIO, RefusalKind::managed, "managed", "/proc/irq/38/effective_affinity_list"},
           {ENOSPC, RefusalKind::cpu_full, "CPU 3 has no interrupt vector left", "ethtool -L"},
           {EINVAL, RefusalKind::cpu_gone, "CPU 3 is not online any more", "/sys/devices/system/cpu/online"},
           {ERANGE, RefusalKind::cpu_gone, "CPU 3 is not online any more", "/sys/devices/system/cpu/online"},
           {EROFS, RefusalKind::read_only, "read-only here, as in a container", "on the host"},
           {EACCES, RefusalKind::not_permitted, "only uid 0 of the host",
            "sudo sh -c 'echo 3 >/proc/irq/38/smp_affinity_list'"},
           {ENOENT, RefusalKind::gone, "interrupt 38 is gone", "gradsync-doctor irq"},
           {EBUSY, RefusalKind::other, "busy", "cat /proc/irq/38/smp_affinity_list"},
       }) {
    CAPTURE(c.error);
    const Refusal refusal = explain_refusal(c.error, 38, {3});
    CHECK(refusal.kind == c.kind);
    CHECK(refusal.says.find(c.says) != std::string::npos);
    CHECK(refusal.command.find(c.command) != std::string::npos);
  }
}

TEST_CASE("whoever moved them back is named, and nobody's daemon is stopped") {
  const Remedy irqbalance = remedy_against({{9, "crio"}, {7, "irqbalance"}}, {38, 39});
  CHECK(irqbalance.who == "irqbalance (process 7)");
  CHECK(irqbalance.command.find("IRQBALANCE_ARGS=\"--policyscript=") != std::string::npos);
  CHECK(irqbalance.command.find("38|39) echo ban=true ;;") != std::string::npos);
  CHECK(irqbalance.command.find("stop") == std::string::npos);
  CHECK(remedy_against({{8, "tuned"}}, {38}).command.find("irq_process=false") != std::string::npos);
  CHECK(remedy_against({{9, "crio"}}, {38}).who == "crio (process 9)");
  CHECK(remedy_against({}, {38}).who.empty());
}

TEST_CASE("the policy script bans the interrupts that are listed, and no others") {
  const std::string script = irqbalance_policy({38, 39});
  const auto answer = [&](const char* irq) {
    const std::string command = "sh -c '" + script + "' policy /sys/devices/pci " + irq + " | grep -q ban=true";
    return std::system(command.c_str()) == 0;
  };
  CHECK(answer("38"));
  CHECK(answer("39"));
  CHECK_FALSE(answer("3"));
  CHECK_FALSE(answer("389"));
}

}  // namespace
}  // namespace gradsync
