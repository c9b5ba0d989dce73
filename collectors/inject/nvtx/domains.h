// Domains, registered strings and category names: what clients name once and refer to by a handle.
//
// A handle holds its meaning itself (tag bit, index or string id, NCCL operation), so that looking at one costs
// nothing, nothing is ever freed, and a forked child understands the handles of its parent.
#pragma once

#include <stdint.h>

#include "collectors/inject/abi/nvtx_abi.h"

namespace gradsync::nvtx {

inline constexpr uint32_t kMaxDomains = 256;
inline constexpr uint32_t kDefaultDomain = 0;

struct Domain {
  uint32_t name;  // string id; 0 = the default domain
  bool is_nccl;
};

// Index of a new domain. When all are taken: of one with that name, else of one that stands for all further ones.
uint32_t create_domain(const char* name);
const Domain& domain_at(uint32_t index);

// Our handle of a domain, and back; whatever else the job passes is the default domain.
uint64_t handle_of_domain(uint32_t index);
uint32_t domain_of_handle(DomainHandle held_by_job);

// `nccl_call` is the index of the NCCL operation that the string names, 0 = none.
struct RegisteredString {
  uint32_t id;
  uint32_t nccl_call;
};
uint64_t handle_of_string(RegisteredString string);
RegisteredString string_of_handle(StringHandle held_by_job);

void name_category(uint32_t domain, uint32_t category, uint32_t name);
// String id of the category's name, 0 when it has none.
uint32_t category_name(uint32_t domain, uint32_t category);

// UTF-8 of a wide string, cut to fit; returns the length.
uint32_t narrow(const wchar_t* wide, char* text, uint32_t bytes);

}  // namespace gradsync::nvtx
