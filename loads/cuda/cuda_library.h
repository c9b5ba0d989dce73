// The loads of a CUDA device as one library; of fibres (fibres.h) where it is linked for tests.
#pragma once

#include <memory>

#include "loads/library.h"

namespace gradsync::cuda {

std::unique_ptr<BandwidthProbe> cuda_bandwidth(std::int64_t elements);
const LoadLibrary& cuda_load_library();

}  // namespace gradsync::cuda
