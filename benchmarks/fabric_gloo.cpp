// Are the sweep's times those of Gloo? The live session of two ranks over loopback, whose calls are in turn the plug-in's
// and a plain loop's over Gloo's API (a context, buffers and options of its own), in the same processes, so that both see
// the same machine.
//
//   fabric_gloo PLUGIN_FOLDER [CALLS]   default 300 of each kind and size
//
// A pair is one call of each kind, in the order ABBA. Printed: medians of the longest rank's time, and the ratio of the
// medians (plug-in over plain) with the 95 % interval of a bootstrap over pairs.
#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <gloo/math.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "collectors/fabric/gloo_connect.h"
#include "collectors/fabric/meeting.h"
#include "collectors/fabric/open_backend.h"
#include "src/base/statistics.h"

namespace gradsync {
namespace {

[[noreturn]] void give_up(const Error& error) {
  fmt::print(stderr, "{}\n", error.message());
  std::exit(1);
}

enum class Kind { plug_in, plain };

class InTurn final : public FabricBackend {
 public:
  explicit InTurn(std::unique_ptr<FabricBackend> plug_in) : plug_in_(std::move(plug_in)) {}

  std::string name() const override { return plug_in_->name(); }
  bool can(FabricOperation operation, ElementType type) const override { return plug_in_->can(operation, type); }
  Facts facts() const override { return plug_in_->facts(); }
  Result<std::int64_t> count_wrong() override { return plug_in_->count_wrong(); }

  Result<void> connect(const FabricPlace& place, RankStore& store) override {
    Result<GlooContext> plain = connect_gloo(place, store, "plain ");
    if (!plain) return plain.error();
    context_ = plain->context;
    return plug_in_->connect(place, store);
  }

  Result<void> prepare(const FabricCall& call) override {
    const auto elements = static_cast<std::size_t>(call.elements);
    options_.reset();
    send_.assign(elements, 1.0F);
    receive_.assign(elements, 0.0F);
    options_ = std::make_unique<gloo::AllreduceOptions>(context_);
    options_->setInput(send_.data(), elements);
    options_->setOutput(receive_.data(), elements);
    options_->setReduceFunction(static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    kinds.clear();
    return plug_in_->prepare(call);
  }

  Result<FabricTiming> run() override {
    const std::size_t turn = kinds.size() % 4;
    kinds.push_back(turn == 0 || turn == 3 ? Kind::plug_in : Kind::plain);
    if (kinds.back() == Kind::plug_in) return plug_in_->run();
    FabricTiming timing;
    timing.begin_ns = monotonic_ns();
    gloo::allreduce(*options_);
    timing.end_ns = monotonic_ns();
    return timing;
  }

  std::vector<Kind> kinds;  // of every call since prepare()

 private:
  std::unique_ptr<FabricBackend> plug_in_;
  std::shared_ptr<gloo::Context> context_;
  std::unique_ptr<gloo::AllreduceOptions> options_;
  std::vector<float> send_, receive_;
};

using Pairs = std::array<std::vector<double>, 2>;  // by kind: times in µs, n-th with n-th

Pairs pairs_of(const std::vector<SweepSample>& samples, const std::vector<Kind>& kinds) {
  Pairs pairs;
  const std::size_t warm_up = kinds.size() - samples.size();
  for (std::size_t index = 0; index < samples.size(); ++index)
    pairs[kinds[warm_up + index] == Kind::plug_in ? 0 : 1].push_back(samples[index].us);
  const std::size_t both = std::min(pairs[0].size(), pairs[1].size());
  for (std::vector<double>& times : pairs) times.resize(both);
  return pairs;
}

std::pair<double, double> interval(const Pairs& pairs) {
  constexpr int kDraws = 2000;
  std::mt19937_64 random(1);
  std::vector<double> ratios;
  const std::size_t n = pairs[0].size();
  for (int draw = 0; draw < kDraws; ++draw) {
    Pairs drawn;
    for (std::size_t index = 0; index < n; ++index) {
      const std::size_t pair = random() % n;
      for (const std::size_t kind : {0U, 1U}) drawn[kind].push_back(pairs[kind][pair]);
    }
    ratios.push_back(*median(drawn[0]) / *median(drawn[1]));
  }
  return {*quantile(ratios, 0.025), *quantile(ratios, 0.975)};
}

void measure(SweepSession& session, const InTurn& in_turn, int calls) {
  fmt::print("{:>10} {:>6} {:>12} {:>12} {:>8}  {}\n", "bytes", "pairs", "plug-in us", "plain us", "ratio",
             "95 % interval");
  for (const std::int64_t bytes :
       {std::int64_t{1} << 10, std::int64_t{1} << 15, std::int64_t{1} << 20, std::int64_t{1} << 23}) {
    const FabricCall call{FabricOperation::all_reduce, ElementType::float32, bytes / 4};
    const Result<SweepMeasured> measured = session.measure({{call, 2 * calls, false}});
    if (!measured) give_up(measured.error());
    const Pairs pairs = pairs_of(measured->samples, in_turn.kinds);
    const auto [low, high] = interval(pairs);
    const double plug_in = *median(pairs[0]), plain = *median(pairs[1]);
    const bool resolved = high - low <= 0.06;
    fmt::print("{:>10} {:>6} {:>12.1f} {:>12.1f} {:>8.3f}  {:.3f} to {:.3f}{}\n", bytes, pairs[0].size(), plug_in,
               plain, plug_in / plain, low, high, resolved ? "" : "  (too wide to tell 3 %: a quieter machine)");
  }
}

int sweep(const std::string& plugins, int calls) {
  SweepStart start;
  start.ranks = 2;
  start.options = "benchmark";
  Result<MetRanks> ranks = meet(start, "benchmark", {});
  if (!ranks) give_up(ranks.error());
  const Result<RankHosts> hosts = ask_where(*ranks->store, ranks->place);
  if (!hosts) give_up(hosts.error());
  ranks->place.address = hosts->address;
  Result<std::unique_ptr<FabricBackend>> plug_in = open_backend("gloo", plugins);
  if (!plug_in) give_up(plug_in.error());
  auto backend = std::make_unique<InTurn>(std::move(*plug_in));
  InTurn& in_turn = *backend;
  const Result<void> connected = in_turn.connect(ranks->place, *ranks->store);
  if (!connected) give_up(connected.error());
  const auto session = make_sweep_session({std::move(*ranks), std::move(backend), *hosts, start});
  if (session->place().rank != 0) return session->follow() ? 0 : 1;
  measure(*session, in_turn, calls);
  session->end();
  return 0;
}

}  // namespace
}  // namespace gradsync

int main(int count, char** arguments) {
  if (count < 2) return 2;
  return gradsync::sweep(arguments[1], count > 2 ? std::atoi(arguments[2]) : 300);
}
