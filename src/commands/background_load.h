// What a training job keeps the machine busy with while its gradients travel: compression and matrix products.
#pragma once

#include <memory>

#include "collectors/fabric/sweep_session.h"
#include "loads/library.h"

namespace gradsync {

// Each thread takes turns, until stopped: topk_histogram of a gradient, scatter of two such payloads, and a product of
// square matrices. start() gives an error when memory or a thread is refused; stop() waits for the threads. It may be
// started again.
std::unique_ptr<BackgroundLoad> make_background_load(const LoadLibrary& library, int threads);

// Rounds that all threads of such a load have finished since it was made.
std::int64_t rounds_of(const BackgroundLoad& load);

}  // namespace gradsync
