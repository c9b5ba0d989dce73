#include "collectors/fabric/store_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "src/base/text.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

constexpr std::int64_t kGreetingMs = 5000;  // a stranger that says nothing is dropped after this
constexpr std::int64_t kFarewellMs = 2000;
constexpr std::int64_t kLookMs = 100;
constexpr std::int64_t kAutopsyMs = 100;
constexpr std::size_t kMostStrangers = 64;
constexpr std::size_t kMostWords = 1 << 16;

std::string rank_list(const std::vector<int>& ranks) {
  constexpr std::size_t kNamed = 16;
  std::vector<std::string> names;
  for (const int rank : ranks)
    if (names.size() < kNamed) names.push_back(std::to_string(rank));
  const std::string more = ranks.size() > kNamed ? fmt::format(" and {} more", ranks.size() - kNamed) : "";
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(names, ", ") + more;
}

std::string in_words(std::int64_t ms) { return format_seconds(static_cast<double>(ms) / 1000); }

Frame error_frame(const Error& error) { return {"error", error.what, error.on, error.why, error.hint}; }

}  // namespace

StoreServer::StoreServer(Listener listener, StoreAgreement agreement, ProcessWatch watch)
    : listener_(std::move(listener)),
      agreement_(std::move(agreement)),
      watch_(std::move(watch)),
      joined_(static_cast<std::size_t>(agreement_.ranks)),
      goodbye_(static_cast<std::size_t>(agreement_.ranks)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { serve(); }) {}

StoreServer::~StoreServer() {
  stop_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t put = ::write(wake_.get(), &one, sizeof one);
  thread_.join();
}

void StoreServer::serve() {
  std::int64_t stop_at_ns = 0;
  std::vector<pollfd> sockets;
  for (;;) {
    const std::int64_t now = monotonic_ns();
    if (stop_ && stop_at_ns == 0) stop_at_ns = now + kFarewellMs * 1'000'000;
    if (stop_at_ns != 0 && (connections_.empty() || now > stop_at_ns)) return;
    sockets.assign({{stop_ ? -1 : wake_.get(), POLLIN, 0}, {stop_ ? -1 : listener_.socket.get(), POLLIN, 0}});
    for (const Connection& connection : connections_)
      sockets.push_back(
          {connection.socket.get(), static_cast<short>(POLLIN | (connection.unsent.empty() ? 0 : POLLOUT)), 0});
    if (::poll(sockets.data(), sockets.size(), kLookMs) < 0 && errno != EINTR) return;
    std::size_t next = 2;
    for (Connection& connection : connections_) {
      const short events = sockets[next++].revents;
      if ((events & POLLOUT) != 0) flush(connection);
      if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) read_from(connection);
    }
    if ((sockets[1].revents & POLLIN) != 0) accept_all();
    look_at_processes();
    answer_all_waiting();
    connections_.remove_if([&](const Connection& connection) {
      const bool silent =
          connection.rank < 0 && (stop_ || monotonic_ns() - connection.came_ns > kGreetingMs * 1'000'000);
      return !connection.socket || silent || (connection.left && connection.unsent.empty());
    });
  }
}

void StoreServer::accept_all() {
  for (;;) {
    FileDescriptor socket(::accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    if (connections_.size() >= static_cast<std::size_t>(agreement_.ranks) + kMostStrangers) continue;
    prepare_connection(socket.get());
    Connection& connection = connections_.emplace_back();
    connection.socket = std::move(socket);
    connection.came_ns = monotonic_ns();
  }
}

void StoreServer::read_from(Connection& connection) {
  std::array<char, 65536> block;
  while (connection.socket && !connection.left) {
    const ssize_t got = ::recv(connection.socket.get(), block.data(), block.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) return lost(connection);
    connection.reader.add({block.data(), static_cast<std::size_t>(got)});
    for (;;) {
      const Result<std::optional<Frame>> frame = connection.reader.next();
      if (!frame) return lost(connection);
      if (!*frame) break;
      handle(connection, **frame);
      if (!connection.socket || connection.left) return;
    }
  }
}

void StoreServer::flush(Connection& connection) {
  while (connection.socket && !connection.unsent.empty()) {
    const ssize_t put = ::send(connection.socket.get(), connection.unsent.data(), connection.unsent.size(),
                               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (put < 0) return lost(connection);
    connection.unsent.erase(0, static_cast<std::size_t>(put));
  }
}

void StoreServer::answer(Connection& connection, const Frame& frame) {
  connection.waiting = Waiting();
  connection.unsent += encode_frame(frame);
  flush(connection);
}

// Empty: this rank may join.
std::string StoreServer::objection(const Frame& frame, int rank) const {
  if (frame[3] != agreement_.token) return "this is the meeting point of another job";
  if (whole_number(frame[5]) != agreement_.ranks)
    return fmt::format("it was started as one of {} ranks, rank 0 as one of {}", frame[5], agreement_.ranks);
  if (rank < 0 || rank >= agreement_.ranks) return fmt::format("there is no rank {}", frame[4]);
  if (frame[1] != agreement_.version)
    return fmt::format("it is version {} of this program, rank 0 is version {}", frame[1], agreement_.version);
  if (frame[2] != agreement_.options)
    return fmt::format("it was asked for \"{}\", rank 0 for \"{}\"", frame[2], agreement_.options);
  return {};
}

void StoreServer::greet(Connection& connection, const Frame& frame) {
  constexpr std::size_t kFields = 7;
  if (frame.size() != kFields || frame[0] != kStoreGreeting) return connection.socket.reset();
  const auto number = whole_number(frame[4]);
  const int rank = number && *number >= 0 && *number < agreement_.ranks ? static_cast<int>(*number) : -1;
  const std::string why = objection(frame, rank);
  const bool stranger = frame[3] != agreement_.token;
  if (!why.empty() || joined_[static_cast<std::size_t>(rank)]) {
    answer(connection, {"refused", why.empty() ? "another process is this rank already" : why});
    connection.left = true;
    // A rank that cannot join keeps the others from starting; a second process of one rank, and a stranger, do not.
    if (!why.empty() && !stranger)
      fail(rank, Error{"cannot sweep with", fmt::format("rank {} on {}", frame[4], frame[6]), why,
                       "start the same command in every rank", 3});
    return;
  }
  connection.rank = rank;
  connection.reader.set_limit(kMostFrameBytes);
  joined_[static_cast<std::size_t>(rank)] = true;
  answer(connection, {"welcome", local_address(connection.socket.get())});
}

void StoreServer::handle(Connection& connection, const Frame& frame) {
  if (connection.rank < 0) return greet(connection, frame);
  const std::string& verb = frame[0];
  const auto limit_ms = frame.size() > 1 ? whole_number(frame.back()) : std::nullopt;
  const auto wait = [&](Waiting::For what) {
    connection.waiting = {what, frame[1], monotonic_ns() + *limit_ms * 1'000'000, *limit_ms};
    answer_waiting(connection);
  };
  if (verb == "set" && frame.size() == 3 && (words_.size() < kMostWords || words_.count(frame[1]) != 0)) {
    words_[frame[1]] = frame[2];
    answer(connection, {"ok"});
  } else if (verb == "get" && frame.size() == 3 && limit_ms) {
    wait(Waiting::For::word);
  } else if (verb == "exchange" && frame.size() == 4 && limit_ms) {
    rounds_[frame[1]][connection.rank] = frame[2];
    wait(Waiting::For::round);
  } else if (verb == "trouble" && frame.size() == 2 && limit_ms) {
    wait(Waiting::For::trouble);
  } else if (verb == "time" && frame.size() == 1) {
    answer(connection, {"value", std::to_string(monotonic_ns())});
  } else if (verb == "fail" && frame.size() == 2) {
    fail(connection.rank,
         Error{"the sweep ended because of", "rank " + std::to_string(connection.rank), frame[1], "", 3});
    answer(connection, {"ok"});
  } else if (verb == "bye") {
    goodbye_[static_cast<std::size_t>(connection.rank)] = true;
    connection.left = true;
  } else {
    lost(connection);
  }
}

void StoreServer::answer_waiting(Connection& connection) {
  const Waiting waiting = connection.waiting;
  if (waiting.what == Waiting::For::nothing) return;
  const bool late = monotonic_ns() >= waiting.until_ns;
  const bool failed = failure_.has_value();
  if (waiting.what == Waiting::For::trouble) {
    const bool elsewhere = failed && failure_->rank != connection.rank;
    if (elsewhere)
      answer(connection, error_frame(failure_->error));
    else if (late)
      answer(connection, {"value", ""});
    return;
  }
  if (waiting.what == Waiting::For::word) {
    const auto word = words_.find(waiting.key);
    if (word != words_.end())
      answer(connection, {"value", word->second});
    else if (failed)
      answer(connection, error_frame(failure_->error));
    else if (late)
      answer(connection,
             error_frame({"no word", waiting.key, "nobody said it within " + in_words(waiting.limit_ms), "", 3}));
    return;
  }
  auto round = rounds_.find(waiting.key);
  if (round != rounds_.end() && round->second.size() == static_cast<std::size_t>(agreement_.ranks)) {
    Frame values = {"values"};
    for (const auto& [rank, value] : round->second) values.push_back(value);
    if (++rounds_answered_[waiting.key] == agreement_.ranks) {
      rounds_answered_.erase(waiting.key);
      rounds_.erase(round);
    }
    answer(connection, values);
  } else if (failed) {
    answer(connection, error_frame(failure_->error));
  } else if (late || std::find(goodbye_.begin(), goodbye_.end(), true) != goodbye_.end()) {
    answer(connection, error_frame(missing(waiting.key, waiting.limit_ms)));
  }
}

void StoreServer::answer_all_waiting() {
  for (Connection& connection : connections_)
    if (connection.socket) answer_waiting(connection);
}

Error StoreServer::missing(const std::string& round, std::int64_t limit_ms) const {
  std::vector<int> never, silent, gone;
  const auto words = rounds_.find(round);
  for (int rank = 0; rank < agreement_.ranks; ++rank) {
    const bool here = words != rounds_.end() && words->second.count(rank) != 0;
    const auto index = static_cast<std::size_t>(rank);
    if (here) continue;
    (!joined_[index] ? never : goodbye_[index] ? gone : silent).push_back(rank);
  }
  if (!gone.empty()) return {"the sweep cannot go on without", rank_list(gone), "left it", "", 3};
  if (!never.empty())
    return {"no word from", rank_list(never),
            fmt::format("did not arrive within {} ({} of {} ranks are here)", in_words(limit_ms),
                        std::count(joined_.begin(), joined_.end(), true), agreement_.ranks),
            "start it, or allow more time: --timeout", 3};
  return {"no word from", rank_list(silent), "arrived, and then said nothing for " + in_words(limit_ms), "", 3};
}

void StoreServer::fail(int rank, Error error) {
  if (!failure_) failure_ = Failure{rank, std::move(error)};
}

void StoreServer::lost(Connection& connection) {
  const int rank = connection.rank;
  connection.socket.reset();
  connection.unsent.clear();
  connection.waiting = Waiting();
  if (rank < 0 || goodbye_[static_cast<std::size_t>(rank)]) return;
  // A process closes its connections a little before it can be asked how it ended.
  const std::int64_t until = monotonic_ns() + kAutopsyMs * 1'000'000;
  for (look_at_processes(); watch_ && !failure_ && monotonic_ns() < until; look_at_processes())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  fail(rank, Error{"the sweep ended because of", "rank " + std::to_string(rank), "its process ended", "", 3});
}

void StoreServer::look_at_processes() {
  if (!watch_ || failure_) return;
  if (auto ended = watch_(); ended && !goodbye_[static_cast<std::size_t>(ended->first)])
    fail(ended->first,
         Error{"the sweep ended because of", "rank " + std::to_string(ended->first), std::move(ended->second), "", 3});
}

}  // namespace gradsync
