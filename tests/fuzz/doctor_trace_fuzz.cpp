// Traces of show --perfetto: imported into a timeline, its ranks joined and written as a trace again.
#include "collectors/import/doctor_trace.h"

#include "collectors/import/recognise.h"
#include "src/export/perfetto.h"
#include "src/timeline/builder.h"
#include "src/timeline/join_ranks.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const gradsync::fuzz::InputFile file(data, size);
  (void)gradsync::recognise(file.path());
  gradsync::TimelineBuilder timeline;
  (void)gradsync::import_doctor_trace({file.path(), 1}, timeline);
  std::vector<gradsync::RankTimeline> ranks = timeline.build();
  const gradsync::JoinedRanks joined = gradsync::join_ranks(ranks);
  (void)gradsync::write_trace({ranks, joined.clocks, {}}, [](std::string_view) {});
  return 0;
}
