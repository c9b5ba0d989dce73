// Chrome traces: recognised, imported into a timeline, and its steps looked for.
#include "collectors/import/kineto_format.h"
#include "collectors/import/recognise.h"
#include "src/timeline/builder.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const gradsync::fuzz::InputFile file(data, size);
  (void)gradsync::recognise(file.path());
  gradsync::TimelineBuilder timeline;
  (void)gradsync::import_chrome_trace({file.path(), 1}, timeline);
  (void)timeline.build();
  return 0;
}
