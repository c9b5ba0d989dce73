// The texts of an Nsight Systems export and what they mean, worked out once for each different one. A program with
// torch.autograd.profiler.emit_nvtx gives each range a text of its own ("aten::mm, seq = 7, op_id = 12"): the numbers
// are cut off. Owned by one rank's import.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collectors/import/known_names.h"
#include "collectors/import/nsys_database.h"

namespace gradsync {

// Table StringIds. By its key where it has one, else read once.
class NsysStrings {
 public:
  explicit NsysStrings(const NsysDatabase& database);
  std::optional<std::string> find(std::int64_t id) const;

 private:
  const NsysDatabase& database_;
  bool keyed_;
  std::unordered_map<std::int64_t, std::string> all_;
};

// Valid UTF-8 of at most 4096 bytes; bytes that are not become question marks.
std::string clean_text(std::string_view text);

enum class NcclGroup { none, start, end };  // ncclGroupStart, ncclGroupEnd

struct NsysName {
  const KnownName* known = nullptr;
  bool framework_operator = false;  // had emit_nvtx's numbers: an operator, not a range of the program's author
  bool nccl_call = false;           // ncclAllReduce, ncclGroupStart, …
  bool launches = false;            // a call that launches kernels
  bool polls = false;               // a call that asks the device and does not wait
  std::string_view operation;       // of an NCCL call that communicates; canonical
  NcclGroup group = NcclGroup::none;
};

class NsysNames {
 public:
  NsysNames(const NsysStrings& strings, EventSink& sink) : strings_(strings), known_(sink) {}

  // nullptr: no such string. References and pointers stay valid.
  const NsysName* by_id(std::int64_t id);
  const NsysName& by_text(std::string_view text);
  NameId id(std::string_view text) { return known_.id(text); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  const NsysStrings& strings_;
  KnownNames known_;
  std::unordered_map<std::int64_t, const NsysName*> by_id_;
  std::unordered_map<std::string, NsysName, Hash, std::equal_to<>> by_text_;
};

}  // namespace gradsync
