// The part of NCCL's public interface that a wrapper needs, declared here so that nothing is switched off on a machine
// without nccl.h. tests/unit/inject/nccl_abi_test.cpp compares it with the vendor's header where that exists.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace gradsync::nccl {

using Comm = void*;
using Stream = void*;
using Result = int;
inline constexpr Result kSuccess = 0, kInternalError = 3, kInProgress = 7;

// Passed by value, on the stack.
struct UniqueId {
  char bytes[128];
};

inline constexpr uint32_t kReductions = 5;  // operations that the job made itself come after
inline constexpr const char* kReductionNames[kReductions] = {"sum", "product", "max", "min", "avg"};

struct DataType {
  const char* name;
  uint8_t bytes;
};
inline constexpr uint32_t kDataTypes = 12;
inline constexpr DataType kDataTypeTable[kDataTypes] = {
    {"int8", 1},    {"uint8", 1},   {"int32", 4},   {"uint32", 4},   {"int64", 8},         {"uint64", 8},
    {"float16", 2}, {"float32", 4}, {"float64", 8}, {"bfloat16", 2}, {"float8_e4m3fn", 1}, {"float8_e5m2", 1}};

// Null for a type that we do not know.
inline const DataType* data_type(int type) {
  return type >= 0 && type < static_cast<int>(kDataTypes) ? &kDataTypeTable[type] : nullptr;
}

}  // namespace gradsync::nccl
