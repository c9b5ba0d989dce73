// The operations of a sweep as calls of Gloo's API, prepared once and run often. Used by the plug-in alone.
#pragma once

#include <gloo/context.h>

#include <functional>
#include <memory>

#include "collectors/fabric/backend.h"

namespace gradsync {

struct GlooBuffers {
  void* send = nullptr;  // reduce_scatter works in place: its result begins here
  void* receive = nullptr;
};

// Throws what Gloo throws, here and when it is called.
using GlooCall = std::function<void()>;
GlooCall prepare_gloo_call(const std::shared_ptr<gloo::Context>& context, const FabricCall& call,
                           const GlooBuffers& buffers);

}  // namespace gradsync
