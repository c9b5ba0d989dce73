#include "collectors/fabric/tcp_store.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <future>
#include <thread>

#include "collectors/fabric/store_server.h"

namespace gradsync {
namespace {

struct Meeting {
  explicit Meeting(int ranks) : ranks_(ranks) {
    Result<Listener> listener = listen_on(ListenOn::loopback, 0);
    REQUIRE(listener);
    server_ = std::make_unique<StoreServer>(std::move(*listener), StoreAgreement{ranks, "1.0", "--max 1M", "job"});
  }
  StoreMember member(int rank) const {
    return {"127.0.0.1", server_->port(), rank, ranks_, "1.0", "--max 1M", "job", "host" + std::to_string(rank), 2000};
  }
  std::unique_ptr<TcpStore> join(int rank) const {
    Result<std::unique_ptr<TcpStore>> store = TcpStore::join(member(rank));
    REQUIRE_MESSAGE(store, (store ? "" : store.error().message()));
    return std::move(*store);
  }
  std::string refusal(const StoreMember& member) const {
    const Result<std::unique_ptr<TcpStore>> store = TcpStore::join(member);
    return store ? "accepted" : store.error().message();
  }
  FileDescriptor stranger() const {
    Result<FileDescriptor> socket = connect_to("127.0.0.1", server_->port(), {1000});
    REQUIRE(socket);
    return std::move(*socket);
  }
  int ranks_;
  std::unique_ptr<StoreServer> server_;
};

void say(const FileDescriptor& socket, const std::string& bytes) {
  [[maybe_unused]] const auto put = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

bool is_hung_up_on(const FileDescriptor& socket) {
  char byte = 0;
  return ::recv(socket.get(), &byte, 1, 0) <= 0;
}

std::string error_of(const Result<std::vector<std::string>>& result) {
  return result ? "no error" : result.error().message();
}

}  // namespace

TEST_CASE("words reach every rank, also those that ask before they are said") {
  const Meeting meeting(2);
  const auto first = meeting.join(0), second = meeting.join(1);
  auto waiting = std::async(std::launch::async, [&] { return second->get("address", 5000); });
  const std::string binary("a\0b\xff", 4);
  REQUIRE(first->set("address", binary));
  const Result<std::string> heard = waiting.get();
  REQUIRE(heard);
  CHECK(*heard == binary);
  const Result<std::string> unsaid = first->get("other", 20);
  REQUIRE(!unsaid);
  CHECK(unsaid.error().message() == "no word other: nobody said it within 20.0 ms");
}

TEST_CASE("an exchange gives every rank what all handed in, by rank, again and again") {
  const Meeting meeting(3);
  std::vector<std::unique_ptr<TcpStore>> stores;
  for (int rank = 0; rank < 3; ++rank) stores.push_back(meeting.join(rank));
  std::vector<std::thread> threads;
  std::array<int, 3> right{};
  for (std::size_t rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      for (int round = 0; round < 50; ++round) {
        const std::string suffix = "/" + std::to_string(round);
        const auto words = stores[rank]->exchange("r" + suffix, std::to_string(rank) + suffix, 5000);
        right[rank] += words && *words == std::vector<std::string>{"0" + suffix, "1" + suffix, "2" + suffix} ? 1 : 0;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == std::array<int, 3>{50, 50, 50});
}

TEST_CASE("a word of several megabytes comes whole") {
  const Meeting meeting(2);
  const auto first = meeting.join(0), second = meeting.join(1);
  const std::string large(5'000'000, 'x');
  REQUIRE(first->set("large", large));
  CHECK(*second->get("large", 5000) == large);
}

TEST_CASE("who is missing is named") {
  const Meeting meeting(4);
  const auto first = meeting.join(0), third = meeting.join(2);
  CHECK(error_of(first->exchange("start", "", 30)) ==
        "no word from ranks 1, 3: did not arrive within 30.0 ms (2 of 4 ranks are here)");
  const auto second = meeting.join(1), fourth = meeting.join(3);
  CHECK(error_of(first->exchange("again", "", 30)) ==
        "no word from ranks 1, 2, 3: arrived, and then said nothing for 30.0 ms");
}

TEST_CASE("ranks of another version, job, size or command are refused by name, and the others are told") {
  struct Row {
    const char* what;
    void (*change)(StoreMember&);
    const char* why;
    bool told;
  };
  const Row rows[] = {
      {"version", [](StoreMember& m) { m.version = "2.0"; }, "it is version 2.0 of this program, rank 0 is version 1.0",
       true},
      {"options", [](StoreMember& m) { m.options = "--max 2M"; },
       "it was asked for \"--max 2M\", rank 0 for \"--max 1M\"", true},
      {"ranks", [](StoreMember& m) { m.ranks = 3; }, "it was started as one of 3 ranks, rank 0 as one of 2", true},
      {"number", [](StoreMember& m) { m.rank = 2; }, "there is no rank 2", true},
      {"job", [](StoreMember& m) { m.token = "else"; }, "this is the meeting point of another job", false},
      {"twice", [](StoreMember& m) { m.rank = 0; }, "another process is this rank already", false}};
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const Meeting meeting(2);
    const auto first = meeting.join(0);
    StoreMember other = meeting.member(1);
    row.change(other);
    const std::string rank = std::to_string(other.rank);
    CHECK(meeting.refusal(other) == "rank 0 refuses rank " + rank + ": " + row.why);
    const std::string expected = row.told
                                     ? "cannot sweep with rank " + rank + " on host1: " + row.why
                                     : "no word from rank 1: did not arrive within 30.0 ms (1 of 2 ranks are here)";
    CHECK(error_of(first->exchange("start", "", 30)) == expected);
  }
}

TEST_CASE("a rank that goes without goodbye is named to those who wait and those who ask later") {
  const Meeting meeting(3);
  const auto first = meeting.join(0), second = meeting.join(1);
  auto waiting = std::async(std::launch::async, [&] { return second->exchange("r", "", 10'000); });
  {
    const FileDescriptor third = meeting.stranger();  // joins as rank 2 and dies
    say(third, encode_frame({kStoreGreeting, "1.0", "--max 1M", "job", "2", "3", "host2"}));
    char byte = 0;
    REQUIRE(::recv(third.get(), &byte, 1, 0) == 1);
  }
  CHECK(error_of(waiting.get()) == "the sweep ended because of rank 2: its process ended");
  CHECK(error_of(first->exchange("r", "", 10'000)) == "the sweep ended because of rank 2: its process ended");
  REQUIRE(first->trouble(0));
  CHECK(first->trouble(0)->on == "rank 2");
}

TEST_CASE("a rank that says why it cannot go on is quoted; one that left is missed at once") {
  const Meeting meeting(2);
  const auto first = meeting.join(0);
  auto second = meeting.join(1);
  CHECK(!first->trouble(0));
  second->fail("no interface eth7");
  CHECK(error_of(first->exchange("r", "", 10'000)) == "the sweep ended because of rank 1: no interface eth7");
  CHECK(!second->trouble(0));  // its own trouble is no news to it

  const Meeting other(2);
  const auto stays = other.join(0);
  other.join(1).reset();
  CHECK(error_of(stays->exchange("r", "", 10'000)) == "the sweep cannot go on without rank 1: left it");
}

TEST_CASE("strangers are hung up on and disturb nobody") {
  const Meeting meeting(2);
  const auto first = meeting.join(0);
  std::vector<std::string> bytes = {"GET / HTTP/1.1\r\n\r\n",
                                    std::string(1, '\xff') + std::string(200, '\xff'),
                                    std::string("\0\0\0\0", 4),
                                    encode_frame({"hello"}),
                                    encode_frame({"set", "key", "value"}),
                                    encode_frame({kStoreGreeting, "1.0", "--max 1M", "job", "1", "2"}),
                                    std::string("\x08\0\0\0\xff\0\0\0abcd", 12),
                                    encode_frame({std::string(9000, 'x')})};
  for (const std::string& text : bytes) {
    CAPTURE(text.substr(0, 20));
    const FileDescriptor stranger = meeting.stranger();
    say(stranger, text);
    CHECK(is_hung_up_on(stranger));
  }
  const FileDescriptor silent = meeting.stranger();
  const FileDescriptor half = meeting.stranger();
  say(half, encode_frame({kStoreGreeting, "1.0"}).substr(0, 6));
  const auto second = meeting.join(1);
  auto waiting = std::async(std::launch::async, [&] { return second->exchange("r", "b", 5000); });
  const auto words = first->exchange("r", "a", 5000);
  REQUIRE(words);
  CHECK(*words == std::vector<std::string>{"a", "b"});
  CHECK(waiting.get());
}

TEST_CASE("a known rank that talks nonsense is one that ended") {
  const Meeting meeting(2);
  const auto first = meeting.join(0);
  const FileDescriptor second = meeting.stranger();
  say(second,
      encode_frame({kStoreGreeting, "1.0", "--max 1M", "job", "1", "2", "host1"}) + encode_frame({"dance", "1"}));
  CHECK(error_of(first->exchange("r", "", 10'000)) == "the sweep ended because of rank 1: its process ended");
}

TEST_CASE("frames come in pieces of any size") {
  const std::string bytes = encode_frame({"set", "", std::string(300, 'y')}) + encode_frame({"bye"});
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{64}, bytes.size()}) {
    FrameReader reader(1000);
    std::vector<Frame> frames;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.add(std::string_view(bytes).substr(at, piece));
      for (;;) {
        Result<std::optional<Frame>> frame = reader.next();
        REQUIRE(frame);
        if (!*frame) break;
        frames.push_back(**frame);
      }
    }
    CHECK(frames == std::vector<Frame>{{"set", "", std::string(300, 'y')}, {"bye"}});
  }
}

TEST_CASE("the clock of rank 0 is within the round trip") {
  const Meeting meeting(2);
  const auto first = meeting.join(0);
  const Result<ClockOffset> offset = first->clock_offset();  // here both are one clock
  REQUIRE(offset);
  CHECK(std::abs(offset->offset_ns) <= offset->uncertainty_ns + 1);
}

}  // namespace gradsync
