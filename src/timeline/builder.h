// TimelineBuilder: the one place that knows clocks, order, lanes and steps. Sources pour events into it as an
// EventSink (spools first, then deep windows of the same processes); build() hands out one RankTimeline per rank.
//
// Each begin_process opens a *feed*: references and lanes of different feeds never collide. Feeds of one
// (host, pid) become one rank.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "src/model/inputs.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {

// CLOCK_MONOTONIC at the two marker ranges of a deep window.
struct WindowClock {
  Nanoseconds open = 0;
  Nanoseconds close = 0;
};

class TimelineBuilder final : public EventSink {
 public:
  // Meaning of NVTX range names (rules/kernels.toml): decides the phase of ranges that carry none.
  explicit TimelineBuilder(std::vector<NameClass> range_classes = {});

  void begin_process(const ProcessInfo& process) override;
  NameId intern(std::string_view text) override;
  void lane(const LaneInfo& lane) override;
  void event(const Event& event) override;
  void attribute(std::uint64_t event_reference, NameId key, std::int64_t value) override;
  void attribute(std::uint64_t event_reference, NameId key, NameId value) override;
  void fact(std::string_view key, std::string_view value) override;

  // The clock pairs that the window event named `file` carries; nothing when it is missing or was never closed.
  std::optional<WindowClock> window_clock(const std::string& host, std::int64_t pid, std::string_view file) const;

  // Marks the running feed's clock quality (deep window), microseconds.
  void clock_residual(double microseconds);

  // Takes over the processes of another builder, which is empty afterwards: files read by several threads have one each.
  // `clock` names the clock that the stamps of all of them were read from; without a name it is their host's.
  void absorb(TimelineBuilder& other, const std::string& clock = {});

  // Ranks in order of their number. A process without a rank of its own gets the next free one, by host and pid,
  // when it has steps or collectives; other processes are left out. The builder is empty afterwards.
  std::vector<RankTimeline> build(int threads = 1);

 private:
  RankTimeline& current();
  std::uint64_t feed_reference(std::uint64_t reference) const;

  std::shared_ptr<StringPool> strings_;
  std::vector<NameClass> range_classes_;
  std::map<std::pair<std::string, std::int64_t>, RankTimeline> processes_;
  RankTimeline* current_ = nullptr;
  std::uint64_t feed_ = 0;
};

// Marks leading steps as warm-up: at least three of a run of ten or more (bucket rebuild, caches, allocator),
// and any further ones, up to a tenth, that take over 1.5 × the median of the rest.
void trim_warm_up(std::vector<StepSpan>& steps);

// Fills rank.steps and step_source: the hook's own steps, else NVTX ranges that mean a step, else the framework
// profiler's marks, else the most regular repetition on the training lane.
void find_steps(RankTimeline& rank, const std::vector<NameClass>& range_classes);

}  // namespace gradsync
