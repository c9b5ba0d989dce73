// A call of NCCL that comes by one of the wrappers, and the group that a thread has open.
#pragma once

#include <stddef.h>

#include "collectors/inject/nccl/libraries.h"
#include "collectors/inject/nccl/thread.h"

namespace gradsync::nccl {

constexpr int kNoReduction = -1;

struct Arguments {
  NcclFunction function;
  size_t count;
  int type;
  int reduction;  // or kNoReduction
  Comm comm;
  Stream stream;
};

// The event of one call: from its arguments to its return, which is when the work is enqueued.
class WrappedCall {
 public:
  explicit WrappedCall(const Arguments& arguments);
  WrappedCall(const WrappedCall&) = delete;
  WrappedCall& operator=(const WrappedCall&) = delete;
  ~WrappedCall();

  int returned(Result result);

 private:
  void begin(const Arguments& given);
  void begin_timing();
  void finish_timing();

  NcclThread& thread_;
  uint64_t event_;
  Stream stream_ = nullptr;
  uint32_t pair_ = 0;
  bool launched_ = false;
};

// Calls about communicators are no events; only the outermost one names what it made.
class Nested {
 public:
  Nested() : thread_(t_nccl), outermost_(thread_.depth++ == 0) {}
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
  ~Nested() { --thread_.depth; }
  bool outermost() const { return outermost_; }

 private:
  NcclThread& thread_;
  bool outermost_;
};

// ncclGroupStart and ncclGroupEnd of the job itself. NCCL launches at the end of the outermost group.
void begin_group();
void end_group(Result result);

}  // namespace gradsync::nccl
