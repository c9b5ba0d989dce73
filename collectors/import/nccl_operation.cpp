#include "collectors/import/nccl_operation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "collectors/import/collective.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

// Two decimals of bandwidth are printed: at 1 GB/s and more a ratio is known to about 1 %.
constexpr double kTolerance = 0.01;
constexpr std::size_t kLongestProgram = 32;

bool is_name(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

}  // namespace

std::string operation_of_program(std::string_view program) {
  const std::size_t slash = program.rfind('/');
  if (slash != std::string_view::npos) program.remove_prefix(slash + 1);
  if (program.starts_with("hypercube")) return "hypercube";
  return std::string(canonical_collective(program));
}

std::string operation_in_command(std::string_view line) {
  for (const std::string_view suffix : {"_perf", "_test"}) {
    for (std::size_t at = line.rfind(suffix); at != std::string_view::npos && at > 0; at = line.rfind(suffix, at - 1)) {
      std::size_t first = at;
      while (first > 0 && at - first < kLongestProgram && is_name(line[first - 1])) --first;
      std::string operation = operation_of_program(line.substr(first, at - first));
      if (!operation.empty()) return operation;
    }
  }
  return "";
}

std::string operation_in_file_name(std::string_view name) {
  std::string plain;
  for (const char c : name.substr(0, 256)) {
    if (c >= 'A' && c <= 'Z') plain += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') plain += c;
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kNames{{{"allreduce", "all_reduce"},
                                                                                 {"allgather", "all_gather"},
                                                                                 {"reducescatter", "reduce_scatter"},
                                                                                 {"alltoall", "all_to_all"},
                                                                                 {"broadcast", "broadcast"},
                                                                                 {"sendrecv", "send_recv"},
                                                                                 {"hypercube", "hypercube"},
                                                                                 {"reduce", "reduce"}}};
  std::string found;
  for (const auto& [word, operation] : kNames) {  // "reduce" last: it is part of longer names, which are taken out
    const std::size_t at = plain.find(word);
    if (at == std::string::npos) continue;
    if (!found.empty()) return "";
    found = operation;
    plain.erase(at, word.size());
  }
  return found;
}

std::vector<std::string> possible_operations(const TableShape& shape) {
  const double factor = shape.busbw_over_algbw;
  const bool above = factor > 1 + kTolerance;
  const bool below = factor > 0 && factor < 1 - kTolerance;
  const bool one = factor > 0 && !above && !below;
  if (above) return {"all_reduce"};  // 2(n-1)/n: the only formula above 1
  const bool named = shape.redop == RedopCells::named;
  if (shape.has_root && named) return {"reduce"};
  if (shape.has_root && below) return {"gather", "scatter"};
  if (shape.has_root) return {"broadcast", "gather", "scatter"};
  if (named && below) return {"reduce_scatter"};
  if (named) {
    std::vector<std::string> possible{"send_recv"};
    if (shape.ranks == 0 || shape.ranks == 2) possible.emplace_back("all_reduce");
    if (!one || shape.ranks == 0 || shape.ranks * kTolerance > 1) possible.emplace_back("reduce_scatter");
    return possible;
  }
  // Versions before "none" left the cell of all_to_all blank and gave all_gather no column.
  if (below && shape.redop == RedopCells::blank) return {"all_to_all"};
  if (below && shape.redop == RedopCells::no_column) return {"all_gather"};
  if (below) return {"all_gather", "all_to_all"};
  return {"all_gather", "all_to_all", "hypercube"};
}

}  // namespace gradsync
