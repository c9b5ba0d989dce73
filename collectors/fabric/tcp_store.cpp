#include "collectors/fabric/tcp_store.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "src/base/units.h"

namespace gradsync {
namespace {

constexpr std::int64_t kGraceMs = 5000;  // rank 0 tells what is missing; this much later nobody is there to tell
constexpr std::int64_t kLookMs = 100;    // at the flag of Ctrl-C
constexpr int kRoundTrips = 9;

Error rank0_is_gone(const std::string& why) { return Error{"the sweep ended because of", "rank 0", why, "", 3}; }

}  // namespace

Result<std::unique_ptr<TcpStore>> TcpStore::join(const StoreMember& member) {
  Result<FileDescriptor> socket = connect_to(member.host, member.port, {member.timeout_ms, member.stop});
  if (!socket) return socket.error();
  std::unique_ptr<TcpStore> store(new TcpStore(std::move(*socket)));
  store->end_with(member.stop);
  const Result<Frame> answer = store->ask({kStoreGreeting, member.version, member.options, member.token,
                                           std::to_string(member.rank), std::to_string(member.ranks), member.own_host},
                                          std::min(member.timeout_ms, kGraceMs));
  const std::string place = member.host + ":" + std::to_string(member.port);
  if (!answer)
    return Error{"no rank 0 at", place, "what listens there does not answer as this program would",
                 "another program may have the port: set GSD_SWEEP_PORT in every rank", 3};
  if ((*answer)[0] == "refused" && answer->size() == 2)
    return Error{"rank 0 refuses", "rank " + std::to_string(member.rank), (*answer)[1],
                 "start the same command in every rank", 3};
  if ((*answer)[0] != "welcome" || answer->size() != 2)
    return Error{"no rank 0 at", place, "it speaks otherwise", "", 3};
  store->own_address_ = local_address(store->socket_.get());
  store->rank0_address_ = (*answer)[1];
  return store;
}

TcpStore::~TcpStore() {
  if (socket_) [[maybe_unused]]
    const Result<void> said = send({"bye"});
}

Result<void> TcpStore::send(const Frame& frame) {
  std::string bytes = encode_frame(frame);
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t put = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return rank0_is_gone("it cannot be reached any more: " + errno_text(errno));
    rest.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Result<Frame> TcpStore::receive(std::int64_t timeout_ms) {
  const std::int64_t end = monotonic_ns() + timeout_ms * 1'000'000;
  std::array<char, 65536> block;
  for (;;) {
    Result<std::optional<Frame>> frame = reader_.next();
    if (!frame) return frame.error();
    if (*frame) return std::move(**frame);
    const std::int64_t left_ms = std::max<std::int64_t>((end - monotonic_ns()) / 1'000'000, 0);
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (stop_ != nullptr && *stop_) return stopped_by_user();
    const std::int64_t look_ms = stop_ != nullptr ? kLookMs : 1'000'000;
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min(left_ms, look_ms)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return rank0_is_gone(errno_text(errno));
    if (ready == 0 && monotonic_ns() < end) continue;
    if (ready == 0) return rank0_is_gone("said nothing for " + format_seconds(static_cast<double>(timeout_ms) / 1000));
    const ssize_t got = ::recv(socket_.get(), block.data(), block.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return rank0_is_gone(got == 0 ? "its process ended" : errno_text(errno));
    reader_.add({block.data(), static_cast<std::size_t>(got)});
  }
}

Result<Frame> TcpStore::ask(const Frame& frame, std::int64_t timeout_ms) {
  const Result<void> sent = send(frame);
  // What rank 0 said before it went away is still to be read, and says more.
  Result<Frame> answer = receive(sent ? timeout_ms + kGraceMs : 0);
  if (!answer) return sent ? answer.error() : sent.error();
  constexpr std::size_t kErrorFields = 5;
  if ((*answer)[0] == "error" && answer->size() == kErrorFields)
    return Error{(*answer)[1], (*answer)[2], (*answer)[3], (*answer)[4], 3};
  return answer;
}

Result<void> TcpStore::set(std::string_view key, std::string_view value) {
  const Result<Frame> answer = ask({"set", std::string(key), std::string(value)}, kGraceMs);
  if (!answer) return answer.error();
  return {};
}

Result<std::string> TcpStore::get(std::string_view key, std::int64_t timeout_ms) {
  Result<Frame> answer = ask({"get", std::string(key), std::to_string(timeout_ms)}, timeout_ms);
  if (!answer) return answer.error();
  return std::move(answer->back());
}

Result<std::vector<std::string>> TcpStore::exchange(std::string_view round, std::string_view mine,
                                                    std::int64_t timeout_ms) {
  Result<Frame> answer =
      ask({"exchange", std::string(round), std::string(mine), std::to_string(timeout_ms)}, timeout_ms);
  if (!answer) return answer.error();
  answer->erase(answer->begin());
  return std::move(*answer);
}

void TcpStore::fail(const std::string& why) { [[maybe_unused]] const Result<Frame> said = ask({"fail", why}, 0); }

std::optional<Error> TcpStore::trouble(std::int64_t wait_ms) {
  const Result<Frame> answer = ask({"trouble", std::to_string(wait_ms)}, wait_ms);
  if (!answer) return answer.error();
  return std::nullopt;
}

Result<ClockOffset> TcpStore::clock_offset() {
  ClockOffset best{0, -1};
  for (int trip = 0; trip < kRoundTrips; ++trip) {
    const std::int64_t before = monotonic_ns();
    const Result<Frame> answer = ask({"time"}, kGraceMs);
    const std::int64_t after = monotonic_ns();
    if (!answer) return answer.error();
    const auto there = whole_number(answer->back());
    if (!there) return rank0_is_gone("it does not tell its time");
    const std::int64_t half = (after - before) / 2;
    if (best.uncertainty_ns >= 0 && half >= best.uncertainty_ns) continue;
    best = {*there - (before + half), half};
  }
  return best;
}

}  // namespace gradsync
