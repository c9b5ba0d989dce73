// The program of collectors/host/bpf, loaded into the kernel; attached while it is to count.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "collectors/host/bpf/sched_maps.h"
#include "collectors/host/bpf_maps.h"
#include "collectors/host/trace_tier.h"
#include "src/base/file.h"

struct bpf_link;
struct bpf_object;
struct bpf_program;

namespace gradsync {

class BpfProgram {
 public:
  // `ring_bytes`: a power of two, a multiple of the page size; 0 = what the program asks for.
  static Result<BpfProgram> load(const BpfConfig& config, TraceSubject subject, std::size_t ring_bytes);

  // From one moment on everywhere; what threads and handlers did before is forgotten.
  Result<void> attach();
  void detach();

  BpfMap map(const char* name) const;
  bool has(BpfPart part) const { return loaded_[part]; }
  // Events that the kernel did not give to this part, since it was called in itself.
  std::uint64_t missed(BpfPart part) const;

 private:
  struct CloseObject {
    void operator()(bpf_object* object) const;
  };
  struct CloseLink {
    void operator()(bpf_link* link) const;
  };
  Result<void> prepare(const BpfConfig& config, TraceSubject subject, std::size_t ring_bytes);

  std::unique_ptr<bpf_object, CloseObject> object_;
  std::array<bpf_program*, kBpfPrograms> parts_{};
  std::array<bool, kBpfPrograms> loaded_{};
  std::vector<std::unique_ptr<bpf_link, CloseLink>> links_;
  bool set_epoch(BpfU32 epoch) const;

  BpfU32 epochs_ = 0;
};

// The compiled program, as it was built in.
std::span<const unsigned char> bpf_object_bytes();

}  // namespace gradsync
