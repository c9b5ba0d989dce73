#include "collectors/host/copy_account.h"

#include <doctest/doctest.h>

using namespace gradsync;

namespace {

CopyMap kernel() {
  return std::get<CopyMap>(
      CopyMap::parse("ffffffff81001000 T _copy_to_iter\n"
                     "ffffffff81002000 T tcp_recvmsg\n"
                     "ffffffff81003000 T unix_stream_sendmsg\n"
                     "ffffffff81004000 T schedule\n",
                     CopySymbols::builtin()));
}

constexpr std::uint64_t kCopy = 0xffffffff81001010, kReceive = 0xffffffff81002010, kSend = 0xffffffff81003010,
                        kSchedule = 0xffffffff81004010;

}  // namespace

TEST_CASE("samples are counted by thread, copies by who asked for them") {
  CopyAccount account(kernel());
  const std::vector<std::uint64_t> receiving{kCopy, kReceive}, sending{kCopy, kSend}, sleeping{kSchedule};
  account.add({7, 7, 1000, receiving});
  account.add({7, 7, 2000, sending});
  account.add({7, 7, 3000, receiving});
  account.add({7, 7, 4000, {}});  // user space
  account.add({7, 8, 5000, sleeping});
  account.threads().at({7, 7}).process = account.threads().at({7, 7}).thread = "rank";

  CHECK(account.samples() == 5);
  CHECK(account.threads().at({7, 7}).samples == 4);
  CHECK(account.threads().at({7, 7}).copies() == 3);
  CHECK(account.threads().at({7, 8}).copies() == 0);
  REQUIRE(account.seen().size() == 3);
  CHECK(account.seen()[1].at == 2000);
  CHECK(account.seen()[1].by == "send");

  const Series series = account.series("n", "cpu-clock");
  REQUIRE(series.rows.size() == 3);
  CHECK(series.rows[0] == std::vector<Cell>{std::string("n"), std::int64_t{7}, std::string("rank"), std::int64_t{7},
                                            std::string("rank"), std::string("receive"), std::int64_t{2},
                                            std::int64_t{4}, std::string("cpu-clock")});
  CHECK(std::get<std::string>(series.rows[2][5]) == "");  // a thread that copies nothing has a row as well
}

TEST_CASE("memory is bounded and what is not kept is counted") {
  CopyAccount account(kernel());
  const std::vector<std::uint64_t> sending{kCopy, kSend};
  for (std::size_t i = 0; i < CopyAccount::kMostThreads + 5; ++i) account.add({1, static_cast<std::int64_t>(i), 0, {}});
  CHECK(account.threads().size() == CopyAccount::kMostThreads);
  CHECK(account.dropped() == 5);
  for (std::size_t i = 0; i < CopyAccount::kMostSeen + 3; ++i) account.add({1, 0, 0, sending});
  CHECK(account.seen().size() == CopyAccount::kMostSeen);
  CHECK(account.dropped() == 8);
  CHECK(account.threads().at({1, 0}).copies() == static_cast<std::int64_t>(CopyAccount::kMostSeen) + 3);
}
