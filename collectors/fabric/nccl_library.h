// NCCL, found and loaded when a sweep asks for it. Loading talks to nobody and is safe before a fork.
#pragma once

#include <string>

#include "collectors/fabric/abi/nccl_abi.h"
#include "src/base/result.h"

namespace gradsync {

struct NcclLibrary {
  nccl::Functions call;
  std::string path;
  int version = 0;  // NCCL's coding: 22809
};

// The oldest that has all a sweep needs: sends and receives came with 2.7.
inline constexpr int kOldestNccl = nccl::version_code(2, 7, 0);

// Error: missing, too old, or without a function that is needed.
Result<NcclLibrary> load_nccl();

// 22809 → "2.28.9", 2708 → "2.7.8"
std::string nccl_version_text(int version);

// What NCCL says about `status`, with its own last message where it has one, and what would help.
Error nccl_error(const NcclLibrary& library, nccl::Status status, const std::string& what, const std::string& on);

}  // namespace gradsync
