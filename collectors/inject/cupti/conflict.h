// Who else holds CUPTI in this process. It serves one tool at a time: whoever was here first keeps it.
#pragma once

namespace gradsync::cupti {

// Null: nobody is known. Else who, as a constant: a profiler's library that is mapped, its variable, or a debugger that
// traces this process.
const char* other_tool();

}  // namespace gradsync::cupti
