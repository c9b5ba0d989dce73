// The same work on many things, by whichever thread is free.
#pragma once

#include <cstddef>
#include <functional>

namespace gradsync {

// Calls work(0) … work(count - 1), each once, from at most `threads` threads, this one among them.
void in_parallel(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace gradsync
