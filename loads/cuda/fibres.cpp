#include "loads/cuda/fibres.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace gradsync::fibres {
namespace {

constexpr unsigned kWarp = 32, kMostThreads = 1024;
constexpr std::size_t kStack = std::size_t{128} << 10;

enum class State : std::uint8_t { ready, at_warp, at_block, done };

[[noreturn]] void end_with(const char* why) {
  std::fprintf(stderr, "kernel under fibres, block %u: %s\n", here.block.x, why);
  std::abort();
}

// One context: a fibre, or the scheduler. It is entered once by its ucontext; from then on by the compiler's own longjmp:
// the library's looks for what must be cleaned up, and AddressSanitizer's marks the whole stack, each time.
struct Context {
  void* resume[5] = {};
  void* stack = nullptr;
  std::size_t stack_size = 0;
  void* fake_stack = nullptr;  // AddressSanitizer's
};

// AddressSanitizer wants to know where the stack is that comes next.
void leaving([[maybe_unused]] Context& from, [[maybe_unused]] const Context& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.stack_size);
#endif
}
void arrived([[maybe_unused]] Context& at, [[maybe_unused]] Context& from) {
#if defined(__SANITIZE_ADDRESS__)
  const void* stack = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(at.fake_stack, &stack, &size);
  if (from.stack == nullptr) {  // the scheduler runs on the stack of its thread
    from.stack = const_cast<void*>(stack);
    from.stack_size = size;
  }
#endif
}

#define GSD_JUMPS __attribute__((noinline, no_sanitize("address")))

// Not in the function that sets the mark: the compiler's longjmp wants that.
[[noreturn]] GSD_JUMPS void continue_at(void** mark) { __builtin_longjmp(mark, 1); }

GSD_JUMPS void jump(Context& from, Context& to) {
  leaving(from, to);
  if (__builtin_setjmp(from.resume) == 0) continue_at(to.resume);
  arrived(from, to);
}

// Enters a context for the first time.
GSD_JUMPS void jump(Context& from, Context& to, const ucontext_t& entry) {
  leaving(from, to);
  if (__builtin_setjmp(from.resume) == 0) ::setcontext(&entry);
  arrived(from, to);
}

// Two buffers in turn: nobody brings a third before all have read the first.
struct Warp {
  std::array<std::array<std::uint64_t, kWarp>, 2> brought{};
};

class Scheduler {
 public:
  void run_block(unsigned threads, Kernel& kernel) {
    kernel_ = &kernel;
    while (contexts_.size() < threads) start();
    std::fill_n(states_.begin(), threads, State::ready);
    for (bool over = false; !over;) {
      for (unsigned warp = 0; warp < threads / kWarp; ++warp)
        run_warp(order_ == Order::ascending ? warp : threads / kWarp - 1 - warp);
      const auto waiting = std::count(states_.begin(), states_.begin() + threads, State::at_block);
      if (waiting != 0 && waiting != threads) end_with("some threads ended, others wait at a barrier");
      if (waiting != 0) std::fill_n(states_.begin(), threads, State::ready);
      over = waiting == 0;
    }
  }

  void wait(State state) {
    states_[current_] = state;
    go_on_from(*contexts_[current_]);
  }

  const std::uint64_t* meet(std::uint64_t brought) {
    std::uint8_t& turn = turns_[current_];
    auto& buffer = warps_[current_ / kWarp].brought[turn];
    turn ^= 1;
    buffer[current_ % kWarp] = brought;
    wait(State::at_warp);
    return buffer.data();
  }

  void set_order(Order order) { order_ = order; }

 private:
  // Until all lanes are at a barrier of the block, or at their end.
  void run_warp(unsigned warp) {
    const unsigned first = warp * kWarp;
    for (;;) {
      for (unsigned i = 0; i < kWarp; ++i) {
        const unsigned lane = order_ == Order::ascending ? i : kWarp - 1 - i;
        if (states_[first + lane] == State::ready) resume(first + lane);
      }
      const auto lanes = states_.begin() + first;
      const auto waiting = std::count(lanes, lanes + kWarp, State::at_warp);
      if (waiting == 0) break;
      if (waiting != kWarp) end_with("not all lanes of a warp are at its operation");
      std::fill_n(lanes, kWarp, State::ready);
    }
  }

  void resume(unsigned thread) {
    current_ = thread;
    here.thread.x = thread;
    jump(own_, *contexts_[thread]);
  }

  // To the next lane of the warp that may run, else to the scheduler.
  void go_on_from(Context& from) {
    const bool last = current_ % kWarp == (order_ == Order::ascending ? kWarp - 1 : 0);
    const unsigned next = order_ == Order::ascending ? current_ + 1 : current_ - 1;
    if (last || states_[next] != State::ready) {
      jump(from, own_);
      return;
    }
    current_ = next;
    here.thread.x = next;
    jump(from, *contexts_[next]);
  }

  // Enters a new fibre, which jumps back at once and then waits for threads to run.
  void start() {
    auto context = std::make_unique<Context>();
    void* stack =
        ::mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) end_with("no memory for stacks");
    context->stack = stack;
    context->stack_size = kStack;
    current_ = static_cast<unsigned>(contexts_.size());
    contexts_.push_back(std::move(context));
    ucontext_t entry;
    ::getcontext(&entry);
    entry.uc_stack.ss_sp = stack;
    entry.uc_stack.ss_size = kStack;
    entry.uc_link = nullptr;
    ::makecontext(&entry, &Scheduler::enter, 0);
    jump(own_, *contexts_.back(), entry);
  }

  static void enter();

  void live(unsigned thread) {
    Context& mine = *contexts_[thread];
    arrived(mine, own_);
    jump(mine, own_);
    for (;; go_on_from(mine)) {
      kernel_->run();
      states_[thread] = State::done;
    }
  }

  std::vector<std::unique_ptr<Context>> contexts_;
  std::array<State, kMostThreads> states_{};
  std::array<std::uint8_t, kMostThreads> turns_{};  // which of the two buffers of the warp is next
  std::array<Warp, kMostThreads / kWarp> warps_{};
  Context own_;
  Kernel* kernel_ = nullptr;
  unsigned current_ = 0;
  Order order_ = Order::ascending;
};

// One for each host thread, for as long as the thread: its fibres are used again by every kernel.
Scheduler& scheduler() {
  static thread_local Scheduler one;
  return one;
}

void Scheduler::enter() {
  Scheduler& mine = scheduler();
  mine.live(mine.current_);
}

}  // namespace

void run(unsigned blocks, unsigned threads, Kernel& kernel) {
  here.block.x = 0;
  if (threads == 0 || threads % kWarp != 0 || threads > kMostThreads) end_with("a block is 32 to 1024 threads");
  here.block_size.x = threads;
  here.grid_size.x = blocks;
  for (unsigned block = 0; block < blocks; ++block) {
    here.block.x = block;
    scheduler().run_block(threads, kernel);
  }
}

void set_order(Order order) { scheduler().set_order(order); }
void wait_for_block() { scheduler().wait(State::at_block); }
const std::uint64_t* meet(std::uint64_t brought) { return scheduler().meet(brought); }

}  // namespace gradsync::fibres
