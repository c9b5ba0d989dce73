// SQLite exports of Nsight Systems (nsys export --type sqlite) as a file format. Versions add and rename tables and
// columns: what is there is found in the file, nothing is assumed. nsys_importer.h tells what becomes of their rows.
#pragma once

#include "collectors/import/format.h"

namespace gradsync {

// By the names of tables, which stand on the first pages. Of a large database whose list of tables is not among its
// first megabyte this says yes, and the import says what it is.
bool is_nsys_export(std::string_view head);
Result<Imported> import_nsys_export(const ImportRequest& request, EventSink& sink);

}  // namespace gradsync
