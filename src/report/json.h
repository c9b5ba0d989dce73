// The report as JSON and back: the contract of schema/report.schema.json, key for key. Pure.
//   show REPORT, compare and verify read what run and analyze wrote; reading it and writing it again gives the same bytes.
// A number that is not finite is null where a number must stand, and left out where it may be missing.
#pragma once

#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/model/report.h"

namespace gradsync {

// UTF-8, one metric, finding or row a line where it fits, ends with a newline. Bytes that are not UTF-8 become U+FFFD.
std::string report_to_json(const Report& report);

// `origin` (a path) is named in the error. Errors: empty, not JSON (line and column), not a report, written by a newer
// version, a key that is missing or has the wrong type. Keys it does not know are passed over.
Result<Report> report_from_json(std::string_view text, std::string_view origin);

}  // namespace gradsync
