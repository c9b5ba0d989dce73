// Calls of NCCL that wait for other ranks, with a limit of time, which NCCL itself does not have.
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace gradsync {

// What `call` gives, or nothing after the time is up. Then its thread stays where it is and ends with the process, so
// `call` must own all that it touches.
template <class Call>
auto call_within(std::int64_t timeout_ms, Call call) -> std::optional<decltype(call())> {
  std::promise<decltype(call())> promise;
  auto answer = promise.get_future();
  std::thread([call = std::move(call), promise = std::move(promise)]() mutable { promise.set_value(call()); }).detach();
  if (answer.wait_for(std::chrono::milliseconds(timeout_ms)) != std::future_status::ready) return std::nullopt;
  return answer.get();
}

}  // namespace gradsync
