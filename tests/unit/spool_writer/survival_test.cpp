// Fork, kill and signals: the job may do what it likes, and the file stays true.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "src/spool_writer/gsd.h"
#include "tests/unit/spool_writer/spool_probe.h"

using namespace gradsync;
using spool::ForkGuard;
using spool::Kind;
using test::Recording;
using test::run_writer;
using test::WriterOptions;

namespace {

std::uint64_t mark(const char* name) { return GSD_WHAT(Kind::mark, 0, 0, 0, gsd_string(name, -1)); }

void write_marks(const char* name, int count) {
  for (int i = 0; i < count; ++i) gsd_event(mark(name), 0, 0, 1, 1);
}

// ThreadSanitizer's own bookkeeping of fork is not made for threads of the parent that run at that moment.
#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

int parent_and_child() {
  const std::uint32_t inherited = gsd_string("interned before fork", -1);
  write_marks("parent", 50);
  const std::uint64_t open = gsd_begin(mark("parent"), 0, 0);
  gsd_step(1, 0, 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (gsd_current_step() != spool::kNoStep) ::_exit(1);
    gsd_event(GSD_WHAT(Kind::mark, 0, 0, 0, inherited), 0, 0, 1, 1);
    // The parent's event would be at the place of one of these, if references were bare indices.
    for (int i = 0; i < 100; ++i) gsd_begin(mark("open in child"), 0, 0);
    gsd_end(open);
    gsd_attr_int(open, inherited, 1);
    gsd_end(gsd_begin(mark("closed in child"), 0, 0));
    gsd_goodbye();
    ::_exit(0);
  }
  int child_status = 0;
  ::waitpid(child, &child_status, 0);
  gsd_end(open);
  write_marks("parent", 5);
  return child_status == 0 ? 0 : 1;
}

}  // namespace

TEST_CASE("a forked child writes a spool of its own") {
  for (const ForkGuard guard : {ForkGuard::kernel_or_handler, ForkGuard::handler_only}) {
    const Recording recording;
    const int status = run_writer(&recording, parent_and_child, {.fork_guard = guard});
    REQUIRE(status == 0);

    REQUIRE(recording.files().size() == 2);
    test::Spool parent = test::read_spool(recording.files()[0]);
    test::Spool child = test::read_spool(recording.files()[1]);
    if (parent.header.parent_pid == child.header.pid) std::swap(parent, child);
    CHECK(child.header.parent_pid == parent.header.pid);
    CHECK(parent.events.size() == 57);
    for (const auto& event : parent.events) CHECK(parent.text(event.record.name) != "open in child");
    REQUIRE(child.events.size() == 102);
    CHECK(child.events[101].record.end_ns > 0);
    CHECK(child.text(child.events[0].record.name) == "interned before fork");
    for (std::size_t i = 1; i <= 100; ++i) CHECK(child.events[i].record.end_ns == 0);
    CHECK(child.attributes.empty());
    CHECK(child.header.exited_cleanly == 1);
  }
}

TEST_CASE("a child that writes nothing leaves no file") {
  const Recording recording;
  REQUIRE(run_writer(&recording, [] {
            write_marks("parent", 3);
            const pid_t child = ::fork();
            if (child == 0) {
              gsd_string("not an event", -1);
              gsd_end(1);
              gsd_goodbye();
              ::_exit(0);
            }
            int status = 0;
            ::waitpid(child, &status, 0);
            return status;
          }) == 0);
  CHECK(recording.files().size() == 1);
  CHECK(recording.only().header.exited_cleanly == 1);
}

TEST_CASE("forks in the middle of other threads' writing: no child hangs, no file is torn") {
  if (kThreadSanitizer) {
    MESSAGE("skipped: ThreadSanitizer does not support threads in a child of a process with threads");
    return;
  }
  constexpr int kForks = 60;
  const Recording recording;
  REQUIRE(run_writer(&recording, [] {
            std::atomic<bool> stop{false};
            std::vector<std::thread> threads;
            for (int t = 0; t < 3; ++t) {
              threads.emplace_back([&stop, t] {
                for (int i = 0; !stop; ++i) {
                  write_marks(("thread " + std::to_string(t) + "." + std::to_string(i % 900)).c_str(), 5);
                }
              });
            }
            int failed = 0;
            for (int i = 0; i < kForks; ++i) {
              const pid_t child = ::fork();
              if (child == 0) {
                ::alarm(20);
                write_marks("child", 20);
                gsd_goodbye();
                ::_exit(0);
              }
              int status = 0;
              ::waitpid(child, &status, 0);
              failed += status != 0;
            }
            stop = true;
            for (auto& thread : threads) thread.join();
            return failed;
          }) == 0);
  const auto files = recording.files();
  CHECK(files.size() == kForks + 1);
  for (const auto& file : files) {
    const test::Spool spool = test::read_spool(file);
    int nameless = 0;
    int of_child = 0;
    for (const auto& event : spool.events) {
      nameless += spool.text(event.record.name).empty();
      of_child += spool.text(event.record.name) == "child";
    }
    CHECK(nameless == 0);
    CHECK((of_child == 0 || (of_child == 20 && spool.events.size() == 20)));
  }
}

TEST_CASE("what was recorded survives SIGKILL") {
  constexpr int kEvents = 10007;
  const Recording recording;
  const int status = run_writer(&recording, [] {
    write_marks("before the end", kEvents - 1);
    gsd_begin(mark("open at the end"), 0, 0);
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  REQUIRE(WIFSIGNALED(status));
  const test::Spool spool = recording.only();
  REQUIRE(spool.events.size() == kEvents);
  CHECK(spool.text(spool.events.back().record.name) == "open at the end");
  CHECK(spool.events.back().record.end_ns == 0);
  CHECK(spool.header.exited_cleanly == 0);
}

TEST_CASE("a signal handler that writes events: kept or counted, never torn") {
  static volatile sig_atomic_t handled;
  constexpr int kEvents = 400000;
  const Recording recording;
  REQUIRE(run_writer(&recording, [] {
            handled = 0;
            write_marks("handler", 1);  // interned, so that the handler only looks it up
            struct sigaction action {};
            action.sa_handler = [](int) {
              gsd_event(mark("handler"), 1, 0, 1, 1);
              handled = handled + 1;
            };
            ::sigaction(SIGALRM, &action, nullptr);
            const itimerval every = {{0, 100}, {0, 100}};
            ::setitimer(ITIMER_REAL, &every, nullptr);
            for (int i = 0; i < kEvents; ++i) gsd_event(GSD_WHAT(Kind::mark, 0, 0, 0, 0), 2, 0, 1, 1);
            const itimerval never = {};
            ::setitimer(ITIMER_REAL, &never, nullptr);
            gsd_fact("handled", std::to_string(handled).c_str());
            return 0;
          }) == 0);
  const test::Spool spool = recording.only();
  std::uint64_t from_handler = 0;
  std::uint64_t from_loop = 0;
  for (const auto& event : spool.events) {
    from_handler += event.record.bytes == 1;
    from_loop += event.record.bytes == 2;
  }
  CHECK(from_loop == kEvents);
  CHECK(std::to_string(from_handler + spool.header.dropped_nested) == spool.fact("handled"));
}
