#include "collectors/fabric/backend.h"

#include <algorithm>
#include <array>

namespace gradsync {
namespace {

struct Word {
  int value;
  const char* text;
};

constexpr std::array<Word, 6> kOperations = {{{static_cast<int>(FabricOperation::all_reduce), "all_reduce"},
                                              {static_cast<int>(FabricOperation::all_gather), "all_gather"},
                                              {static_cast<int>(FabricOperation::reduce_scatter), "reduce_scatter"},
                                              {static_cast<int>(FabricOperation::all_to_all), "all_to_all"},
                                              {static_cast<int>(FabricOperation::broadcast), "broadcast"},
                                              {static_cast<int>(FabricOperation::send_recv), "send_recv"}}};
constexpr std::array<Word, 3> kTypes = {{{static_cast<int>(ElementType::float32), "float"},
                                         {static_cast<int>(ElementType::float16), "half"},
                                         {static_cast<int>(ElementType::int8), "int8"}}};

template <class Words>
const char* word_of(const Words& words, int value) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const Word& word) { return word.value == value; });
  return found == words.end() ? "?" : found->text;
}

template <class Value, class Words>
std::optional<Value> value_of(const Words& words, std::string_view text) {
  for (const Word& word : words)
    if (text == word.text) return static_cast<Value>(word.value);
  return std::nullopt;
}

bool is_cut(FabricOperation operation) {
  return operation == FabricOperation::all_gather || operation == FabricOperation::reduce_scatter ||
         operation == FabricOperation::all_to_all;
}

}  // namespace

const char* to_string(FabricOperation operation) { return word_of(kOperations, static_cast<int>(operation)); }
const char* to_string(ElementType type) { return word_of(kTypes, static_cast<int>(type)); }

std::optional<FabricOperation> fabric_operation(std::string_view word) {
  return value_of<FabricOperation>(kOperations, word);
}

std::optional<ElementType> element_type(std::string_view word) { return value_of<ElementType>(kTypes, word); }

std::int64_t size_of(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return 4;
    case ElementType::float16:
      return 2;
    case ElementType::int8:
      return 1;
  }
  return 1;
}

std::int64_t elements_of(FabricOperation operation, ElementType type, std::int64_t bytes, int ranks) {
  const std::int64_t step = is_cut(operation) ? std::max(ranks, 1) : 1;
  const std::int64_t size = size_of(type);
  const std::int64_t wanted = std::max<std::int64_t>(bytes / size + (bytes % size != 0 ? 1 : 0), 1);
  return (wanted / step + (wanted % step != 0 ? 1 : 0)) * step;
}

}  // namespace gradsync
