#include "src/model/vocabulary.h"

#include <array>
#include <utility>

namespace gradsync {
namespace {

template <class Enum, std::size_t N>
using Words = std::array<std::pair<Enum, std::string_view>, N>;

constexpr Words<Kind, 16> kKinds{{{Kind::empty, "empty"},
                                  {Kind::step, "step"},
                                  {Kind::range, "range"},
                                  {Kind::collective, "collective"},
                                  {Kind::wait, "wait"},
                                  {Kind::host_sync, "host_sync"},
                                  {Kind::host_call, "host_call"},
                                  {Kind::kernel, "kernel"},
                                  {Kind::copy, "copy"},
                                  {Kind::memset, "memset"},
                                  {Kind::sched_wait, "sched_wait"},
                                  {Kind::irq, "irq"},
                                  {Kind::softirq, "softirq"},
                                  {Kind::loss, "loss"},
                                  {Kind::mark, "mark"},
                                  {Kind::window, "window"}}};

constexpr Words<Phase, 7> kPhases{{{Phase::none, "none"},
                                   {Phase::forward, "forward"},
                                   {Phase::backward, "backward"},
                                   {Phase::optimizer, "optimizer"},
                                   {Phase::data, "data"},
                                   {Phase::compress, "compress"},
                                   {Phase::decompress, "decompress"}}};

constexpr Words<Source, 11> kSources{{{Source::unknown, "unknown"},
                                      {Source::torch_hook, "torch_hook"},
                                      {Source::nvtx, "nvtx"},
                                      {Source::nccl_nvtx, "nccl_nvtx"},
                                      {Source::profiler, "profiler"},
                                      {Source::cupti, "cupti"},
                                      {Source::host, "host"},
                                      {Source::doctor, "doctor"},
                                      {Source::ddp_logger, "ddp_logger"},
                                      {Source::nccl_wrapper, "nccl_wrapper"},
                                      {Source::nccl_plugin, "nccl_plugin"}}};

template <class Enum, std::size_t N>
std::string_view word_of(const Words<Enum, N>& words, Enum value) {
  for (const auto& [known, word] : words)
    if (known == value) return word;
  return words[0].second;
}

template <class Enum, std::size_t N>
Enum value_of(const Words<Enum, N>& words, std::string_view text) {
  for (const auto& [value, word] : words)
    if (word == text) return value;
  return words[0].first;
}

}  // namespace

std::string_view to_string(Kind kind) { return word_of(kKinds, kind); }
std::string_view to_string(Phase phase) { return word_of(kPhases, phase); }
std::string_view to_string(Source source) { return word_of(kSources, source); }
Kind kind_from(std::string_view word) { return value_of(kKinds, word); }
Phase phase_from(std::string_view word) { return value_of(kPhases, word); }

}  // namespace gradsync
