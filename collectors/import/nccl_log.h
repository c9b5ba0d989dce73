// Logs of nccl-tests, rccl-tests and of NCCL itself: one file often holds all of them, so one importer reads them all
// and the kind only says what was recognised first.
#pragma once

#include <string_view>

#include "collectors/import/format.h"

namespace gradsync {

bool is_nccl_tests_log(std::string_view head);
bool is_nccl_debug_log(std::string_view head);
Result<Imported> import_nccl_log(const ImportRequest& request, EventSink& sink);

}  // namespace gradsync
