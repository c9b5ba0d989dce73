// A file format that people already have: how its content is known, and how it becomes events, series and facts.
// formats.cpp lists them all; adding one is a file and a line there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/model/event_sink.h"
#include "src/model/report.h"
#include "src/model/series.h"

namespace gradsync {

struct ImportRequest {
  std::filesystem::path path;
  // Every process that the importer begins in the sink has host "trace", or the one that the file tells, and a pid from
  // here upwards: a timeline makes one rank of each (host, pid), and the pids in files of different containers repeat.
  std::int64_t first_process = 1;
};

// What one file gave besides the events in the sink.
struct Imported {
  std::int64_t processes = 0;  // begun in the sink; 0 = a file without events
  std::string ranks;           // how they got their rank: "3 (distributedInfo)"; for the fact ranks.source
  SeriesSet series;            // names and columns of the contract; rows of several files are appended
  Facts facts;
  Coverage coverage;  // partial with the reason when something was lost; unavailable when it can be read but not used
};

struct FileFormat {
  std::string_view name;                      // "Nsight Systems export"
  bool (*recognises)(std::string_view head);  // at most the first megabyte, inflated; called in the order of the list
  // Errors: not readable, nothing in it that can be used (what, on what, why, the command that helps). A file that is
  // cut or partly broken is partial coverage. After an error nothing was written to the sink.
  Result<Imported> (*import)(const ImportRequest& request, EventSink& sink);
};

inline constexpr std::string_view kTraceHost = "trace";

const std::vector<FileFormat>& file_formats();

}  // namespace gradsync
