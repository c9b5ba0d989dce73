// libgradsync_gloo.so: the backend that every machine can sweep, Gloo over TCP. A plug-in, because Gloo brings
// libraries (ibverbs, hiredis) whose absence must not keep the program from starting.
#include <gloo/config.h>
#include <sys/mman.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "collectors/fabric/gloo_calls.h"
#include "collectors/fabric/gloo_connect.h"
#include "collectors/fabric/pattern.h"
#include "collectors/fabric/sockets.h"
#include "src/base/file.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

// Pages that stay: a size that is visited again meets memory that the kernel has given already.
class Pages {
 public:
  Pages() = default;
  ~Pages() { release(); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  int at_least(std::size_t bytes) {  // 0, or errno
    if (bytes <= bytes_) return 0;
    release();
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return errno;
    memory_ = memory;
    bytes_ = bytes;
    return 0;
  }
  void* get() const { return memory_; }

 private:
  void release() {
    if (memory_ != nullptr) ::munmap(memory_, bytes_);
    memory_ = nullptr;
    bytes_ = 0;
  }

  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

// Gloo writes to sockets whose other end may be gone, and the signal of such a write would end the process before anybody
// could say who is missing.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, &before_);
  }
  ~WithoutPipeSignal() { ::sigaction(SIGPIPE, &before_, nullptr); }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

 private:
  struct sigaction before_ {};
};

class GlooBackend final : public FabricBackend {
 public:
  ~GlooBackend() override { call_ = nullptr; }

  std::string name() const override { return "gloo"; }
  bool can(FabricOperation, ElementType) const override { return true; }
  Result<void> connect(const FabricPlace& place, RankStore& store) override;
  Facts facts() const override;
  Result<void> prepare(const FabricCall& call) override;
  Result<FabricTiming> run() override;
  Result<std::int64_t> count_wrong() override;

 private:
  std::string subject() const;
  Error failed(const std::exception& error) const;
  std::size_t bytes_of(std::int64_t elements) const { return static_cast<std::size_t>(elements * size_of(now_.type)); }
  void* result() const;
  void fill(const std::vector<std::byte>& sent);

  WithoutPipeSignal no_signal_;  // outlives the connections
  FabricPlace place_;
  GlooContext gloo_;
  Pages send_, receive_;
  FabricCall now_;
  GlooCall call_;
};

Result<void> GlooBackend::connect(const FabricPlace& place, RankStore& store) {
  place_ = place;
  Result<GlooContext> connected = connect_gloo(place, store, "gloo ");
  if (!connected) return connected.error();
  gloo_ = std::move(*connected);
  return {};
}

Facts GlooBackend::facts() const {
  Facts facts;
  facts["gloo.version"] = std::to_string(GLOO_VERSION_MAJOR) + "." + std::to_string(GLOO_VERSION_MINOR) + "." +
                          std::to_string(GLOO_VERSION_PATCH);
  facts["gloo.reduce_scatter"] = "all-to-all and sum";
  facts["interface"] = gloo_.interface_name;
  facts["address"] = gloo_.address;
  return facts;
}

std::string GlooBackend::subject() const {
  const std::int64_t bytes = now_.elements * size_of(now_.type);
  return std::string(to_string(now_.operation)) + " of " + format_bytes(static_cast<double>(bytes)) + " (" +
         to_string(now_.type) + ") on rank " + std::to_string(place_.rank);
}

Error GlooBackend::failed(const std::exception& error) const {
  return Error{"Gloo ended", subject(), gloo_words(error.what()), "", 3};
}

Result<void> GlooBackend::prepare(const FabricCall& call) {
  call_ = nullptr;
  now_ = call;
  const std::int64_t received = elements_received(call, place_.ranks);
  for (const auto& [pages, elements] :
       {std::pair(&send_, elements_sent(call, place_.ranks)), std::pair(&receive_, received)})
    if (const int error = pages->at_least(bytes_of(elements)); error != 0)
      return Error{"no memory for", subject(), errno_text(error), "a smaller --max", 3};
  fill(Pattern(now_, place_.rank, place_.ranks).lifelike());
  std::memset(receive_.get(), 0, bytes_of(received));  // pages are there before the first timed call
  try {
    call_ = prepare_gloo_call(gloo_.context, call, {send_.get(), receive_.get()});
  } catch (const std::exception& error) {
    return failed(error);
  }
  return {};
}

Result<FabricTiming> GlooBackend::run() {
  FabricTiming timing;
  try {
    timing.begin_ns = monotonic_ns();
    call_();
    timing.end_ns = monotonic_ns();
  } catch (const std::exception& error) {
    return failed(error);
  }
  return timing;
}

void* GlooBackend::result() const {
  const bool is_root = now_.operation == FabricOperation::broadcast && place_.rank == 0;
  return is_root ? send_.get() : receive_.get();
}

void GlooBackend::fill(const std::vector<std::byte>& sent) { std::memcpy(send_.get(), sent.data(), sent.size()); }

Result<std::int64_t> GlooBackend::count_wrong() {
  const std::size_t bytes = bytes_of(elements_received(now_, place_.ranks));
  std::memset(receive_.get(), std::to_integer<int>(Pattern::kGuard), bytes);  // what an earlier call left is no result
  fill(Pattern(now_, place_.rank, place_.ranks).sent());
  try {
    call_();
  } catch (const std::exception& error) {
    return failed(error);
  }
  const std::span<const std::byte> got(static_cast<const std::byte*>(result()), bytes);
  return Pattern(now_, place_.rank, place_.ranks).count_wrong(got, {});
}

}  // namespace
}  // namespace gradsync

extern "C" {

__attribute__((visibility("default"))) const char* gsd_plugin_version() { return GSD_VERSION; }

__attribute__((visibility("default"))) gradsync::FabricBackend* gsd_fabric_backend() {
  return new (std::nothrow) gradsync::GlooBackend();
}

}  // extern "C"
