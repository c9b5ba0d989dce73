#include "collectors/fabric/sweep_session.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "collectors/fabric/links.h"
#include "collectors/fabric/meeting.h"
#include "collectors/fabric/open_backend.h"
#include "collectors/fabric/visit_runner.h"
#include "src/base/environment.h"

namespace gradsync {
namespace {

constexpr const char* kEndWord = "end";
constexpr std::int64_t kForAsLongAsItTakesMs = std::int64_t{7} * 24 * 3600 * 1000;

class Session final : public SweepSession {
 public:
  explicit Session(SessionParts parts)
      : parts_(std::move(parts)),
        runner_(*parts_.backend, *parts_.ranks.store,
                {parts_.start.timeout_ms, parts_.hosts.rank0_clock, [this] { return stop_asked(); }}) {}

  ~Session() override { end(); }

  const FabricPlace& place() const override { return parts_.ranks.place; }
  Facts facts() const override;
  bool can(FabricOperation operation, ElementType type) const override { return parts_.backend->can(operation, type); }
  Result<SweepMeasured> measure(const std::vector<SweepVisit>& visits) override;
  Result<void> follow() override;
  void end() override;

 private:
  using CallKey = std::tuple<int, int, std::int64_t, bool>;

  bool stop_asked() const {
    return (parts_.start.stop != nullptr && *parts_.start.stop) || (until_ns_ != 0 && monotonic_ns() >= until_ns_);
  }
  Result<void> load_as(const SweepVisit& visit);
  Result<VisitOutcome> visit_as_all(const SweepVisit& visit);
  void stop_load();

  SessionParts parts_;
  VisitRunner runner_;
  std::map<CallKey, int> repeats_;
  std::int64_t until_ns_ = 0;
  bool loaded_ = false, over_ = false;
};

Facts Session::facts() const {
  Facts facts = parts_.backend->facts();
  for (auto& [name, value] : host_caches("/")) facts.emplace(name, value);
  facts["backend"] = parts_.backend->name();
  facts["ranks"] = std::to_string(place().ranks);
  facts["hosts"] = std::to_string(parts_.hosts.hosts);
  facts["host_names"] = parts_.hosts.names;
  facts["sweep.nodes"] = facts["hosts"];
  facts["sweep.ranks_per_host"] = std::to_string(parts_.hosts.most_ranks_on_one);
  facts["launcher"] = parts_.ranks.launcher;
  facts["network"] = parts_.hosts.hosts == 1 ? "none, one host" : "between hosts";
  if (parts_.hosts.ranks_without_it == 0)
    facts["clocks"] = "shared";
  else
    facts["clocks"] = "aligned";
  return facts;
}

void Session::stop_load() {
  if (loaded_) parts_.start.load->stop();
  loaded_ = false;
}

Result<void> Session::load_as(const SweepVisit& visit) {
  if (!visit.loaded) stop_load();
  if (!visit.loaded || loaded_) return {};
  if (parts_.start.load == nullptr) return Error{"there is no", "background load", "for a visit that wants it", "", 3};
  const Result<void> started = parts_.start.load->start();
  if (!started) return started.error();
  loaded_ = true;
  return {};
}

Result<VisitOutcome> Session::visit_as_all(const SweepVisit& visit) {
  const Result<void> load = load_as(visit);
  if (!load) return runner_.explain(load.error());
  return runner_.run(visit);
}

Result<SweepMeasured> Session::measure(const std::vector<SweepVisit>& visits) {
  SweepMeasured measured;
  until_ns_ = parts_.start.limit_ms > 0 ? monotonic_ns() + parts_.start.limit_ms * 1'000'000 : 0;
  for (const SweepVisit& visit : visits) {
    measured.interrupted = stop_asked();
    if (measured.interrupted) break;
    const Result<std::vector<std::string>> told = runner_.exchange(encode(visit), parts_.start.timeout_ms);
    Result<VisitOutcome> outcome = told ? visit_as_all(visit) : Result<VisitOutcome>(told.error());
    if (!outcome) {
      over_ = true;
      return outcome.error();
    }
    for (SweepSample& sample : outcome->samples) {
      const CallKey key{static_cast<int>(sample.call.operation), static_cast<int>(sample.call.type),
                        sample.call.elements, sample.loaded};
      sample.repeat = repeats_[key]++;
      measured.samples.push_back(sample);
    }
    measured.interrupted = outcome->stopped;
    if (measured.interrupted) break;
  }
  stop_load();
  return measured;
}

Result<void> Session::follow() {
  while (!over_) {
    const Result<std::vector<std::string>> words = runner_.exchange("", kForAsLongAsItTakesMs);
    over_ = !words || words->front() == kEndWord;
    if (!words) return words.error();
    if (over_) break;
    const std::optional<SweepVisit> visit = decode_visit(words->front());
    if (!visit) return runner_.explain({"cannot understand", "rank 0", "it asks for something else", "", 3});
    const Result<VisitOutcome> outcome = visit_as_all(*visit);
    over_ = !outcome;
    if (!outcome) return outcome.error();
  }
  stop_load();
  return {};
}

void Session::end() {
  stop_load();
  if (over_ || place().rank != 0) return;
  over_ = true;
  // Followers that are gone already need no word.
  [[maybe_unused]] const Result<std::vector<std::string>> said = runner_.exchange(kEndWord, parts_.start.timeout_ms);
}

// All ranks take what the most modest of them can: one without a device keeps the others from using theirs.
Result<std::string> agreed_backend(const SweepStart& start, TcpStore& store) {
  const Result<std::vector<std::string>> words = store.exchange("backend", start.backend, start.timeout_ms);
  if (!words) return words.error();
  std::string agreed = words->front();
  for (const std::string& word : *words)
    if (word != agreed) agreed = "gloo";
  return agreed;
}

Result<std::unique_ptr<FabricBackend>> connected_backend(const SweepStart& start, MetRanks& ranks,
                                                         const RankHosts& hosts) {
  const Result<std::string> name = agreed_backend(start, *ranks.store);
  if (!name) return name.error();
  Result<std::unique_ptr<FabricBackend>> backend = open_backend(*name, start.plugins);
  if (!backend) return backend.error();
  ranks.place.address = hosts.address;
  if (*name == "nccl" && start.before_nccl) start.before_nccl(ranks.place, *ranks.store);
  const Result<void> connected = (*backend)->connect(ranks.place, *ranks.store);
  if (!connected) return connected.error();
  return backend;
}

}  // namespace

std::unique_ptr<SweepSession> make_sweep_session(SessionParts parts) {
  return std::make_unique<Session>(std::move(parts));
}

Result<std::unique_ptr<SweepSession>> start_sweep(const SweepStart& wanted) {
  SweepStart start = wanted;
  if (start.backend == "auto") start.backend = automatic_backend();  // may fork, so before there are threads
  Result<MetRanks> ranks = meet(start, GSD_VERSION, own_environment());
  if (!ranks) return ranks.error();
  TcpStore& store = *ranks->store;
  const Result<RankHosts> hosts = ask_where(store, ranks->place);
  if (!hosts) return hosts.error();
  Result<std::unique_ptr<FabricBackend>> backend = connected_backend(start, *ranks, *hosts);
  if (!backend) {
    // The cause may be another rank's trouble, which it has told by now.
    if (const std::optional<Error> other = store.trouble(0)) return *other;
    store.fail(backend.error().message());
    return backend.error();
  }
  const Result<std::vector<std::string>> ready = store.exchange("ready", "", start.timeout_ms);
  if (!ready) return ready.error();
  store.end_with(nullptr);  // from here on the ranks stop together, between calls
  return make_sweep_session({std::move(*ranks), std::move(*backend), *hosts, start});
}

}  // namespace gradsync
