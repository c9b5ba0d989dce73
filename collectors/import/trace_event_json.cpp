#include "collectors/import/trace_event_json.h"

#include <algorithm>
#include <cstring>

#include "collectors/import/decimal.h"
#include "collectors/import/json_scan.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

using simdjson::ondemand::array;
using simdjson::ondemand::object;
using simdjson::ondemand::value;

// Keys are compared as they stand, up to and including the closing quote. The text is padded: reading on is safe.
template <std::size_t size>
bool is_key(const char* key, const char (&literal)[size]) {
  return std::memcmp(key, literal, size - 1) == 0 && key[size - 1] == '"';
}

[[gnu::noinline]] std::string_view unescaped(value content, std::string_view as_it_stands) {
  std::string_view text;
  return content.get_string().get(text) ? as_it_stands : text;
}

// Inlined, and so is everything between a field and its use: as soon as one of simdjson's iterators has to lie in
// memory, GCC copies it with loads wider than the stores before them, and each field waits for that (a third of the time).
[[gnu::always_inline]] inline std::string_view text_of(value content) {
  std::string_view token = content.raw_json_token();
  while (!token.empty() && is_json_space(token.back())) token.remove_suffix(1);  // white space before the next token
  if (token.empty() || token.front() != '"') return token;
  const std::string_view inner = token.substr(1, token.size() >= 2 ? token.size() - 2 : 0);
  if (inner.find('\\') == std::string_view::npos) return inner;
  return unescaped(content, inner);
}

TraceCategory category_from(std::string_view text) {
  using C = TraceCategory;
  static constexpr struct {
    std::string_view text;
    C category;
  } known[] = {
      {"cpu_op", C::operation},
      {"ac2g", C::flow},
      {"python_function", C::python_function},
      {"cuda_runtime", C::runtime},
      {"kernel", C::kernel},
      {"fwdbwd", C::flow},
      {"user_annotation", C::user_annotation},
      {"gpu_memcpy", C::copy},
      {"gpu_memset", C::memset},
      {"gpu_user_annotation", C::device_annotation},
      {"async_cpu_to_gpu", C::flow},
      {"async_gpu", C::flow},
      {"forward_backward", C::flow},
      {"cuda_sync", C::device_sync},
      {"Trace", C::span},
      {"Operator", C::operation},
      {"Kernel", C::kernel},
      {"Memcpy", C::copy},
      {"Memset", C::memset},
  };
  for (const auto& entry : known)
    if (text == entry.text) return entry.category;
  const bool calls = text.ends_with("_runtime") || text.ends_with("_driver") || text == "Runtime";
  return calls ? C::runtime : C::other;
}

// These carry nothing in their args that becomes part of an event, and they are the most.
bool has_useful_args(TraceCategory category) {
  return category != TraceCategory::operation && category != TraceCategory::python_function &&
         category != TraceCategory::flow;
}

// [[321271], [4, 8]] → 321303. Lists of lists of tensors add up likewise; [] is a scalar or not a tensor: 0.
std::optional<std::int64_t> elements_of(array dimensions, int depth = 0) {
  std::int64_t sum = 0, product = 1;
  bool numbers = false;
  for (auto item : dimensions) {
    value element;
    if (item.get(element)) return std::nullopt;
    array nested;
    if (depth < 4 && !element.get_array().get(nested)) {
      const std::optional<std::int64_t> part = elements_of(nested, depth + 1);
      if (!part || __builtin_add_overflow(sum, *part, &sum)) return std::nullopt;
    } else {
      const std::optional<std::int64_t> size = integer_from(scalar_text(element));
      if (!size || *size < 0 || __builtin_mul_overflow(product, *size, &product)) return std::nullopt;
      numbers = true;
    }
  }
  return numbers ? product : sum;
}

void read_input_dimensions(value dimensions, TraceEvent& event) {
  array list;
  if (!dimensions.get_array().get(list)) event.input_elements = elements_of(list);
}

// [524288, 1, 1] → 524288. Read beside the parser: stepping into the array would change how a damaged event is left.
std::optional<std::int64_t> product_of(value sizes) {
  constexpr std::size_t most = simdjson::SIMDJSON_PADDING;  // behind the text is as much
  std::string_view text(sizes.raw_json_token().data(), most);
  const std::size_t end = text.find(']');
  if (text.front() != '[' || end == std::string_view::npos || end == 1) return std::nullopt;
  text = text.substr(1, end - 1);
  std::int64_t product = 1;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::optional<std::int64_t> size = integer_from(trim(text.substr(0, comma)));
    if (!size || *size < 0 || __builtin_mul_overflow(product, *size, &product)) return std::nullopt;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return product;
}

void read_input_types(value types, TraceEvent& event) {
  array list;
  if (types.get_array().get(list)) return;
  for (auto item : list) {
    value first;
    if (!item.get(first)) event.input_dtype = scalar_text(first);
    return;
  }
}

bool read_args(object args, TraceEvent& event) {
  for (auto member : args) {
    if (member.error()) return false;
    const char* const key = member.key().value_unsafe().raw();
    value content = member.value().value_unsafe();
    const auto integer = [](value number) { return integer_from(text_of(number)); };
    switch (key[0]) {
      case 's':
        if (is_key(key, "stream")) event.stream = integer(content);
        break;
      case 'd':
        if (is_key(key, "device")) event.device = integer(content);
        if (is_key(key, "dtype")) event.dtype = text_of(content);
        break;
      case 'c':
        if (is_key(key, "correlation")) event.correlation = integer(content);
        break;
      case 'b':
        if (is_key(key, "bytes")) event.bytes = integer(content);
        if (is_key(key, "block")) event.block_threads = product_of(content);
        break;
      case 'g':
        if (is_key(key, "grid")) event.blocks = product_of(content);
        break;
      case 'n':
        if (is_key(key, "name")) event.label = text_of(content);
        break;
      case 'C':
        if (is_key(key, "Collective name")) event.collective = text_of(content);
        break;
      case 'I':
        if (is_key(key, "In msg nelems")) event.in_elements = integer(content);
        if (is_key(key, "Input Dims")) read_input_dimensions(content, event);
        if (is_key(key, "Input type")) read_input_types(content, event);
        break;
      case 'O':
        if (is_key(key, "Out msg nelems")) event.out_elements = integer(content);
        break;
      case 'G':
        if (is_key(key, "Group size")) event.group_size = integer(content);
        break;
      case 'P':
        if (is_key(key, "Process Group Name")) event.group = text_of(content);
        break;
      case 'S':
        if (is_key(key, "Seq")) event.sequence = integer(content);
        break;
      default:
        break;
    }
  }
  return true;
}

}  // namespace

std::string_view scalar_text(value content) { return text_of(content); }

bool read_trace_event(object event_object, TraceEvent& event) {
  event = TraceEvent{};
  for (auto member : event_object) {
    if (member.error()) return false;
    const char* const key = member.key().value_unsafe().raw();
    value content = member.value().value_unsafe();
    switch (key[0]) {
      case 'p':
        if (is_key(key, "ph")) {
          const std::string_view phase = text_of(content);
          event.phase = phase.size() == 1 ? phase.front() : '?';
          if (event.phase == 's' || event.phase == 'f') return true;  // an arrow: nobody asks for the rest
        } else if (is_key(key, "pid")) {
          event.pid = text_of(content);
        }
        break;
      case 'c':
        if (is_key(key, "cat")) event.category = category_from(text_of(content));
        break;
      case 'n':
        if (is_key(key, "name")) event.name = text_of(content);
        break;
      case 't':
        if (is_key(key, "ts"))
          event.start = nanoseconds_from_us(text_of(content));
        else if (is_key(key, "tid"))
          event.tid = text_of(content);
        break;
      case 'd':
        if (is_key(key, "dur")) event.duration = nanoseconds_from_us(text_of(content));
        break;
      case 'a':
        if (is_key(key, "args") && has_useful_args(event.category)) {
          object args;
          if (content.get_object().get(args)) break;  // not an object: nothing in it for us
          if (!read_args(std::move(args), event)) return false;
        }
        break;
      default:
        break;
    }
  }
  return true;
}

}  // namespace gradsync
