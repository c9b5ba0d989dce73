// Chrome traces as a file format; kineto.h tells what becomes of their events.
#pragma once

#include "collectors/import/format.h"

namespace gradsync {

bool is_chrome_trace(std::string_view head);
Result<Imported> import_chrome_trace(const ImportRequest& request, EventSink& sink);

}  // namespace gradsync
