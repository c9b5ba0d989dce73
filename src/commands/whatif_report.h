// What of a report is about remedies, as a report of its own. Pure.
#pragma once

#include "src/commands/track_record.h"
#include "src/model/report.h"

namespace gradsync {

// Run, facts, coverage, the step's and the predictions' metrics, the series whatif, bucket_plan and break_even, all
// intervals widened by the record; the verdict names the best remedy, or says why nothing is predicted.
Report whatif_report(const Report& job, const TrackRecord& record);

}  // namespace gradsync
