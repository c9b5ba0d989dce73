#include "collectors/import/collective.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gradsync {
namespace {

using Entry = std::pair<std::string_view, std::string_view>;

// Beginning of a word without underscores and capitals → name. The longer beginnings stand first.
constexpr std::array<Entry, 17> kOperations{{
    {"sparseallreduce", "all_reduce"},
    {"allreduce", "all_reduce"},
    {"allgather", "all_gather"},
    {"reducescatter", "reduce_scatter"},
    {"alltoall", "all_to_all"},
    {"broadcast", "broadcast"},
    {"barrier", "barrier"},
    {"monitoredbarrier", "barrier"},
    {"sendrecv", "send_recv"},
    {"pointtopoint", "send_recv"},
    {"reduce", "reduce"},
    {"gather", "gather"},
    {"scatter", "scatter"},
    {"send", "send"},
    {"isend", "send"},
    {"recv", "recv"},
    {"irecv", "recv"},
}};

constexpr std::array<std::string_view, 3> kSpanningBackends{"gloo:", "mpi:", "ucc:"};

// Lower case without '_', at most 24 characters: enough to tell the operations apart.
std::string plain(std::string_view word) {
  std::string text;
  for (const char c : word) {
    if (c == '_') continue;
    if (text.size() == 24) break;
    text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

std::string_view without_void(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  return name;
}

// The identifier at the beginning: up to the argument list or template.
std::string_view identifier(std::string_view name) {
  const auto end = std::find_if_not(name.begin(), name.end(), is_word);
  return name.substr(0, static_cast<std::size_t>(end - name.begin()));
}

bool is_one_rank_reduce(std::string_view name) {
  return name.find("neRankReduce") != std::string_view::npos;  // oneRankReduce, OneRankReduce
}

}  // namespace

std::string_view canonical_collective(std::string_view word) {
  const std::size_t colon = word.rfind(':');
  if (colon != std::string_view::npos) word.remove_prefix(colon + 1);
  const std::string text = plain(word);
  for (const auto& [beginning, name] : kOperations)
    if (text.starts_with(beginning)) return name;
  return {};
}

std::string_view collective_of_annotation(std::string_view name) {
  for (const std::string_view backend : kSpanningBackends)
    if (name.starts_with(backend)) {
      const std::string_view operation = canonical_collective(name.substr(backend.size()));
      return operation.empty() ? kUnknownCollective : operation;
    }
  return {};
}

bool is_nccl_kernel(std::string_view name) {
  const std::string_view word = identifier(without_void(name));
  return (word.starts_with("nccl") && word.find("Kernel_") != std::string_view::npos) ||
         (word.starts_with("nccl") && word.ends_with("Kernel")) || is_one_rank_reduce(name);
}

NcclKernelName parse_nccl_kernel(std::string_view name) {
  const std::string_view word = identifier(without_void(name));
  NcclKernelName parsed{kUnknownCollective, {}};
  const std::size_t kernel = word.find("Kernel_");
  if (kernel != std::string_view::npos) {
    const bool named_before = kernel > 4 && !word.substr(0, kernel).ends_with("Dev");  // ncclAllReduceRingLL|Kernel_
    const std::string_view operation =
        canonical_collective(named_before ? word.substr(4, kernel - 4) : word.substr(kernel + 7));
    if (!operation.empty()) parsed.operation = operation;
  } else if (is_one_rank_reduce(name)) {
    parsed.operation = "reduce";
  }
  std::string lower(word);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const bool reduces = parsed.operation == "all_reduce" || parsed.operation == "reduce" ||
                       parsed.operation == "reduce_scatter";  // a broadcast's name says "Sum", too
  for (const std::string_view reduction : {"sum", "prod", "min", "max", "avg"})
    if (reduces && (lower.find("_" + std::string(reduction) + "_") != std::string::npos ||
                    lower.ends_with("_" + std::string(reduction))))
      parsed.reduction = reduction;
  return parsed;
}

TensorType tensor_type(std::string_view text) {
  static constexpr struct {
    std::string_view text, name;
    std::int64_t bytes;
  } known[] = {
      {"Float", "float32", 4},
      {"float", "float32", 4},
      {"Double", "float64", 8},
      {"double", "float64", 8},
      {"Half", "float16", 2},
      {"BFloat16", "bfloat16", 2},
      {"Byte", "uint8", 1},
      {"unsigned char", "uint8", 1},
      {"Char", "int8", 1},
      {"signed char", "int8", 1},
      {"Short", "int16", 2},
      {"short int", "int16", 2},
      {"short", "int16", 2},
      {"Int", "int32", 4},
      {"int", "int32", 4},
      {"Long", "int64", 8},
      {"long int", "int64", 8},
      {"long", "int64", 8},
      {"Bool", "bool", 1},
      {"bool", "bool", 1},
      {"UInt16", "uint16", 2},
      {"UInt32", "uint32", 4},
      {"UInt64", "uint64", 8},
      {"ComplexHalf", "complex32", 4},
      {"ComplexFloat", "complex64", 8},
      {"complex<float>", "complex64", 8},
      {"ComplexDouble", "complex128", 16},
      {"complex<double>", "complex128", 16},
      {"Float8_e4m3fn", "float8_e4m3fn", 1},
      {"Float8_e5m2", "float8_e5m2", 1},
      {"Float8_e4m3fnuz", "float8_e4m3fnuz", 1},
      {"Float8_e5m2fnuz", "float8_e5m2fnuz", 1},
      {"QInt8", "qint8", 1},
      {"QUInt8", "quint8", 1},
      {"QInt32", "qint32", 4},
  };
  std::string_view word = text;
  for (const std::string_view prefix : {"c10::", "at::"})
    if (word.starts_with(prefix)) word.remove_prefix(prefix.size());
  for (const auto& entry : known)
    if (word == entry.text || word == entry.name) return {entry.name, entry.bytes};
  return {text, 0};
}

}  // namespace gradsync
