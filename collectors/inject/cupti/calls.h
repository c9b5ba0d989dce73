// The calls of the CUDA runtime and driver that are worth an event: those that launch, and those that wait. Recording
// every call costs every call; these are what links a kernel to the range that asked for it.
#pragma once

#include <stdint.h>

namespace gradsync::cupti {

enum class Api : uint8_t { runtime, driver };
enum class CallKind : uint8_t { launch, wait };

struct KnownCall {
  uint16_t call;  // CUpti_CallbackId
  Api api;
  CallKind kind;
  const char* name;
};

const KnownCall* known_calls();
uint32_t call_count();
const KnownCall* known_call(Api api, uint32_t call);  // null: of no interest

}  // namespace gradsync::cupti
