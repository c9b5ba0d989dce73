// How a Gloo context comes to be: interface chosen, ranks joined through our store. Used by the plug-in alone.
#pragma once

#include <gloo/rendezvous/context.h>

#include <memory>
#include <string>

#include "collectors/fabric/backend.h"

namespace gradsync {

struct GlooContext {
  std::shared_ptr<gloo::rendezvous::Context> context;
  std::string interface_name, address;
};

// `room`: before the keys in the store, so that several contexts share one.
Result<GlooContext> connect_gloo(const FabricPlace& place, RankStore& store, const std::string& room);

// What Gloo threw, in the words of a user: without the place in Gloo's source.
std::string gloo_words(const std::string& text);

}  // namespace gradsync
