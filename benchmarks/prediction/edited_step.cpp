// edited_step RECORDING FABRIC EDIT: what a step of the job would be after an edit that no remedy makes, by the replay
// that whatif uses. FABRIC: a profile or report of a sweep; EDIT one of
//   sleep=MS     every hook sleeps so long before it sends
//   drop         of each bucket's exchanges the smallest is gone
//   together=N   so many buckets as one
// Prints {"step_ms": …, "edited_ms": …, "ranks": …}, means over ranks and observed steps; exit status 1 with the reason.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "analyzers/analyzers.h"
#include "analyzers/predict/edits.h"
#include "analyzers/predict/graph_rows.h"
#include "src/commands/profiles.h"
#include "src/spool_reader/recording.h"
#include "src/timeline/builder.h"
#include "src/timeline/join_ranks.h"

using namespace gradsync;

namespace {

StepGraph sleeping(StepGraph graph, double ms) {
  std::int64_t bucket = -1;
  for (Stage& stage : graph.stages) {
    if (stage.anchor.kind != AnchorKind::issue) continue;
    const Exchange& exchange = graph.exchanges[static_cast<std::size_t>(stage.anchor.index)];
    if (exchange.bucket != bucket) stage.ns[static_cast<std::size_t>(StepClass::compress)] += 1e6 * ms;
    bucket = exchange.bucket;
  }
  return graph;
}

// Who was late for an exchange that is gone is late for the next one.
StepGraph dropped(StepGraph graph) {
  std::map<std::int64_t, std::vector<std::size_t>> buckets;
  for (std::size_t i = 0; i < graph.exchanges.size(); ++i) buckets[graph.exchanges[i].bucket].push_back(i);
  for (const auto& [bucket, places] : buckets) {
    if (places.size() < 2) continue;
    const auto least = std::min_element(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
      return graph.exchanges[a].bytes < graph.exchanges[b].bytes;
    });
    Exchange& gone = graph.exchanges[*least];
    if (std::next(least) != places.end()) graph.exchanges[*std::next(least)].wait_ns += gone.wait_ns;
    gone.transfer_ns = gone.wait_ns = 0;
    gone.bytes = 0;
  }
  return graph;
}

std::optional<StepGraph> edited(const StepGraph& graph, const std::string& edit, const FabricFit& fit) {
  const std::string what = edit.substr(0, edit.find('='));
  const double value = edit.find('=') == std::string::npos ? 0 : std::atof(edit.c_str() + edit.find('=') + 1);
  if (what == "sleep") return sleeping(graph, value);
  if (what == "drop") return dropped(graph);
  if (what == "together") return merged(graph, static_cast<int>(value), fit, Draw{});
  return std::nullopt;
}

int fail(const std::string& why) {
  fmt::print(stderr, "edited_step: {}\n", why);
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return fail("edited_step RECORDING FABRIC EDIT");
  const Result<RecordingFolder> folder = open_recording_folder(argv[1]);
  if (!folder) return fail(folder.error().message());
  const Result<Profile> profile = read_profile(argv[2]);
  if (!profile) return fail(profile.error().message());
  if (!profile->fabric) return fail(std::string(argv[2]) + " holds no fabric");
  TimelineBuilder builder;
  (void)read_spools(*folder, builder);
  std::vector<RankTimeline> ranks = builder.build();
  join_ranks(ranks);
  Summary summary;
  for (const RankTimeline& rank : ranks) make_step_pass()->summarise(rank, Inputs{}, summary);
  double before = 0, after = 0;
  std::size_t count = 0;
  for (const RankGraphs& rank : read_graphs(summary)) {
    if (const std::string why = why_not_alike(rank, ranks.size()); !why.empty()) return fail(why);
    for (const StepGraph& graph : rank.graphs) {
      const std::optional<StepGraph> changed = edited(graph, argv[3], *profile->fabric);
      if (!changed) return fail("the edit does not apply, or the fabric was not measured for these sizes");
      before += 1e-6 * replay(graph).step_ns;
      after += 1e-6 * replay(*changed).step_ns;
      ++count;
    }
  }
  if (count == 0) return fail("no steps were seen");
  const auto n = static_cast<double>(count);
  fmt::print("{{\"step_ms\": {:.3f}, \"edited_ms\": {:.3f}, \"ranks\": {}}}\n", before / n, after / n, ranks.size());
  return EXIT_SUCCESS;
}
