#include "collectors/inject/nvtx/domains.h"

#include <string.h>

#include "collectors/inject/nvtx/chain.h"
#include "collectors/inject/side_map.h"
#include "src/spool_writer/atomics.h"
#include "src/spool_writer/gsd.h"

namespace gradsync::nvtx {
namespace {

constexpr uint64_t kTag = 1;  // no pointer of another tool is odd

Domain g_domains[kMaxDomains];
uint32_t g_domain_count = 1;  // 0 is the default domain
SideMap<1024> g_categories;

uint64_t category_key(uint32_t domain, uint32_t category) { return uint64_t{domain + 1} << 32 | category; }

}  // namespace

uint32_t create_domain(const char* name) {
  constexpr uint32_t kOthers = kMaxDomains - 1;
  if (name == nullptr) return kDefaultDomain;
  const uint32_t id = gsd_string(name, -1);
  uint32_t index = spool::load_relaxed(&g_domain_count);
  while (index < kOthers && !spool::replace(&g_domain_count, index, index + 1)) {
    index = spool::load_relaxed(&g_domain_count);
  }
  if (index >= kOthers) {
    for (uint32_t i = 1; i < kOthers; ++i) {
      if (g_domains[i].name == id) return i;
    }
    g_domains[kOthers] = {gsd_string("(other domains)", -1), false};
    return kOthers;
  }
  g_domains[index] = {id, strcmp(name, "NCCL") == 0};
  return index;
}

const Domain& domain_at(uint32_t index) { return g_domains[index]; }

uint64_t handle_of_domain(uint32_t index) { return uint64_t{index} << 8 | kTag; }

uint32_t domain_of_handle(DomainHandle held_by_job) {
  if (held_by_job == nullptr) return kDefaultDomain;
  const uint64_t handle = own_handle(reinterpret_cast<uint64_t>(held_by_job));
  const uint64_t index = handle >> 8;
  return (handle & 0xff) == kTag && index < kMaxDomains ? static_cast<uint32_t>(index) : kDefaultDomain;
}

uint64_t handle_of_string(RegisteredString string) {
  return uint64_t{string.id} << 8 | uint64_t{string.nccl_call} << 1 | kTag;
}

RegisteredString string_of_handle(StringHandle held_by_job) {
  const uint64_t handle = own_handle(reinterpret_cast<uint64_t>(held_by_job));
  if ((handle & kTag) == 0 || handle >> 32 != 0) return {0, 0};
  return {static_cast<uint32_t>(handle >> 8), static_cast<uint32_t>(handle >> 1 & 0x7f)};
}

void name_category(uint32_t domain, uint32_t category, uint32_t name) {
  g_categories.put(category_key(domain, category), name);
}

uint32_t category_name(uint32_t domain, uint32_t category) {
  return static_cast<uint32_t>(g_categories.get(category_key(domain, category)));
}

uint32_t narrow(const wchar_t* wide, char* text, uint32_t bytes) {
  uint32_t length = 0;
  for (; *wide != 0 && length + 5 < bytes; ++wide) {
    const auto c = static_cast<uint32_t>(*wide);  // NOLINT(bugprone-signed-char-misuse): wchar_t is no char
    if (c < 0x80) {
      text[length++] = static_cast<char>(c);
      continue;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char kFirst[] = {0, 0xc0, 0xe0, 0xf0};
    text[length++] = static_cast<char>(kFirst[more] | (c >> (6 * more) & (0x3f >> more)));
    for (int i = more - 1; i >= 0; --i) text[length++] = static_cast<char>(0x80 | (c >> (6 * i) & 0x3f));
  }
  text[length] = 0;
  return length;
}

}  // namespace gradsync::nvtx
