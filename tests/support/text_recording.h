// A recording folder from text events (tests/support/text_events.h): each `process` line's events are written by the
// real writer in a forked child, so that what is examined went through the bytes on disk.
#pragma once

#include <filesystem>
#include <string>

#include "src/model/report.h"
#include "tests/support/folder.h"

namespace gradsync::test {

class TextRecording {
 public:
  // `parts` becomes recording.json and series/; without its tool version none is written (a killed doctor).
  TextRecording(const std::string& text, const Report& parts);
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  Folder folder_;
};

}  // namespace gradsync::test
