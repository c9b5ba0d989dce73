#include "tests/unit/analyzers/run_analyzers.h"

#include <cctype>

#include "src/commands/analyzers.h"
#include "src/timeline/builder.h"
#include "src/timeline/join_ranks.h"
#include "tests/support/text_events.h"

namespace gradsync::test {

std::vector<RankTimeline> timelines(const std::string& text) {
  TimelineBuilder builder({{"decompress", "decompress"}, {"compress", "compress"}, {"gather", "comm"}});
  feed(text, builder);
  return builder.build();
}

std::vector<std::unique_ptr<Analyzer>> analyzers_in_order() { return all_analyzers(); }

Conclusions analyze(const std::string& text, const Inputs& given) {
  std::vector<RankTimeline> ranks = timelines(text);
  Inputs inputs = given;
  inputs.one_clock = join_ranks(ranks).clocks.state != ClockState::apart;
  return analyze(ranks, inputs);
}

Conclusions analyze(const std::vector<RankTimeline>& ranks, const Inputs& inputs) {
  Summary all;
  const auto analyzers = analyzers_in_order();
  for (const RankTimeline& rank : ranks)
    for (const auto& analyzer : analyzers) analyzer->summarise(rank, inputs, all);
  all.canonicalise();
  Conclusions conclusions;
  for (const auto& analyzer : analyzers) analyzer->conclude(all, inputs, conclusions);
  return conclusions;
}

std::string repeat_step(int steps, int step_us, const std::string& body) {
  std::string text;
  for (int step = 0; step < steps; ++step) {
    const int start = step * step_us;
    text +=
        "step " + std::to_string(step) + " " + std::to_string(start) + ".." + std::to_string(start + step_us) + "\n";
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (body[i] == '@') {
        std::size_t used = 0;
        text += std::to_string(start + std::stoi(body.substr(i + 1), &used));
        i += used;
      } else if (body.compare(i, 3, "{0}") == 0) {
        text += std::to_string(step);
        i += 2;
      } else {
        text += body[i];
      }
    }
    text += "\n";
  }
  return text;
}

}  // namespace gradsync::test
