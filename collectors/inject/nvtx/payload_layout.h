// Where the fields of a payload are: NVTX lets a client leave offsets, sizes and alignments out, and natural alignment
// then decides.
#pragma once

#include "collectors/inject/nvtx/payload_schema.h"

namespace gradsync::nvtx {

// Fills fields and size of `schema`. The layout ends at the first entry whose size cannot be known; later entries are
// kept only when they give their offset.
void lay_out(const SchemaAttributes& attributes, Schema& schema);

}  // namespace gradsync::nvtx
