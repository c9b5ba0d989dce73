#include "collectors/fabric/meeting.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>

#include "src/base/file.h"
#include "src/base/host_name.h"
#include "src/base/text.h"

extern char** environ;

namespace gradsync {
namespace {

constexpr int kMostForks = 1024;

std::string boot_id() {
  const Result<std::string> id = read_file("/proc/sys/kernel/random/boot_id");
  return id ? std::string(trim(*id)) : host_name();
}

std::string namespace_of(const char* kind) {
  struct stat status {};
  return ::stat((std::string("/proc/self/ns/") + kind).c_str(), &status) == 0 ? std::to_string(status.st_ino) : "?";
}

std::string random_token() {
  std::random_device source;
  std::ostringstream token;
  for (int word = 0; word < 4; ++word) token << std::hex << source();
  return token.str();
}

bool is_loopback(const std::string& address) { return address.rfind("127.", 0) == 0 || address == "::1"; }

StoreAgreement agreement_of(const StoreMember& member) {
  return {member.ranks, member.version, member.options, member.token};
}

Result<void> join(MetRanks& met, StoreMember member, const SweepStart& start) {
  member.own_host = host_name();
  member.timeout_ms = start.timeout_ms;
  member.stop = start.stop;
  Result<std::unique_ptr<TcpStore>> store = TcpStore::join(member);
  if (!store) return store.error();
  met.store = std::move(*store);
  met.place = {member.rank, member.ranks, start.interface_name, start.timeout_ms};
  return {};
}

Result<MetRanks> fork_and_meet(const SweepStart& start, const std::string& version) {
  if (start.ranks == 1) return one_rank_is_no_fabric();
  if (start.ranks > kMostForks)
    return Error{"cannot start", std::to_string(start.ranks) + " ranks here",
                 "the most is " + std::to_string(kMostForks), "start them with a launcher", 2};
  Result<Listener> listener = listen_on(ListenOn::loopback, 0);
  if (!listener) return listener.error();
  StoreMember member{"127.0.0.1", listener->port, 0, start.ranks, version, start.options, random_token(), "", 0};
  Result<Forked> forked = fork_ranks(start.ranks);
  if (!forked) return forked.error();
  MetRanks met;
  met.launcher = "forked here";
  met.forked = std::move(forked->others);
  member.rank = forked->rank;
  if (member.rank == 0) {
    ForkedRanks& others = *met.forked;
    met.server =
        std::make_unique<StoreServer>(std::move(*listener), agreement_of(member), [&] { return others.ended(); });
  } else {
    listener->socket.reset();
  }
  const Result<void> joined = join(met, member, start);
  if (!joined) return joined.error();
  return met;
}

Result<MetRanks> meet_by_launcher(const SweepStart& start, const std::string& version, const Environment& environment) {
  const Result<LaunchPlace> place = place_from(environment);
  if (!place) return place.error();
  StoreMember member{place->host, place->port, place->rank, place->ranks, version, start.options, place->token, "", 0};
  MetRanks met;
  met.launcher = place->launcher;
  if (member.rank == 0) {
    Result<Listener> listener = listen_on(ListenOn::every_address, member.port);
    if (!listener) return listener.error();
    met.server = std::make_unique<StoreServer>(std::move(*listener), agreement_of(member));
  }
  const Result<void> joined = join(met, member, start);
  if (!joined) return joined.error();
  return met;
}

}  // namespace

Result<MetRanks> meet(const SweepStart& start, const std::string& version, const Environment& environment) {
  return start.ranks > 0 ? fork_and_meet(start, version) : meet_by_launcher(start, version, environment);
}

Result<RankHosts> ask_where(TcpStore& store, const FabricPlace& place) {
  // A host is what shares a kernel and a network; a clock also wants the same time namespace.
  const std::string host = host_name() + "/" + boot_id() + "/" + namespace_of("net");
  const std::string clock = boot_id() + "/" + namespace_of("time");
  const Result<std::vector<std::string>> words =
      store.exchange("where", join({host, clock, store.address_of_rank0()}, "\n"), place.timeout_ms);
  if (!words) return words.error();
  RankHosts found;
  std::map<std::string, int> hosts;
  std::vector<std::string> names;
  std::string rank0_clock, rank0_address = store.own_address();
  for (std::size_t rank = 0; rank < words->size(); ++rank) {
    std::istringstream lines((*words)[rank]);
    std::string its_host, its_clock, seen_address;
    std::getline(lines, its_host);
    std::getline(lines, its_clock);
    std::getline(lines, seen_address);
    if (rank == 0) rank0_clock = its_clock;
    found.most_ranks_on_one = std::max(rank == 0 ? 1 : found.most_ranks_on_one, ++hosts[its_host]);
    const std::string name = its_host.substr(0, its_host.find('/'));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    found.ranks_without_it += its_clock != rank0_clock ? 1 : 0;
    // Rank 0 reaches itself by any address; the others know by which it is reached from outside.
    if (is_loopback(rank0_address) && !seen_address.empty()) rank0_address = seen_address;
  }
  found.hosts = static_cast<int>(hosts.size());
  found.names = join(names, ", ");
  found.rank0_clock = clock == rank0_clock;
  found.address = place.rank == 0 ? rank0_address : store.own_address();
  if (found.hosts == 1) found.address = "127.0.0.1";
  return found;
}

}  // namespace gradsync
