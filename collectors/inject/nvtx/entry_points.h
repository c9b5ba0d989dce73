// What NVTX's loader looks up in NVTX_INJECTION64_PATH.
#pragma once

#include "collectors/inject/abi/nvtx_abi.h"
#include "src/spool_writer/gsd.h"

extern "C" {
// Called once by every client library of the process; returns 1 when the client's calls are wanted.
GSD_EXPORT int InitializeInjectionNvtx2(gradsync::nvtx::GetExportTable get);
// Called when a client first uses an extension; only the payload extension is taken.
GSD_EXPORT int InitializeInjectionNvtxExtension(gradsync::nvtx::ExtensionModule* module);
}
