#include "src/diagnosis/toml_text.h"

#include <fmt/format.h>

#include <charconv>

namespace gradsync {
namespace {

constexpr std::string_view kLetters = "tasirbo";  // in the order of TomlNode::Kind
constexpr int kDeepest = 256;

void write_bytes(std::string_view bytes, std::string& out) { out += fmt::format("{}:{}", bytes.size(), bytes); }

void write(const TomlNode& node, std::string& out) {
  out += fmt::format("{}{} ", kLetters[static_cast<std::size_t>(node.kind)], node.line);
  switch (node.kind) {
    case TomlNode::Kind::table:
    case TomlNode::Kind::array:
      out += fmt::format("{}\n", node.items.size());
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        if (node.kind == TomlNode::Kind::table) write_bytes(node.keys[i], out);
        write(node.items[i], out);
      }
      break;
    case TomlNode::Kind::text:
      write_bytes(node.text, out);
      break;
    case TomlNode::Kind::truth:
      out += node.truth ? "1\n" : "0\n";
      break;
    default:
      out += fmt::format("{}\n", node.number);  // the shortest that reads back as the same
      break;
  }
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool at_end() const { return text_.empty(); }

  bool node(TomlNode& node, int depth) {
    if (text_.empty() || depth > kDeepest) return false;
    const std::size_t kind = kLetters.find(text_.front());
    if (kind == std::string_view::npos) return false;
    node.kind = static_cast<TomlNode::Kind>(kind);
    text_.remove_prefix(1);
    if (!number(node.line, ' ')) return false;
    if (node.kind == TomlNode::Kind::text) return bytes(node.text);
    if (node.kind == TomlNode::Kind::table || node.kind == TomlNode::Kind::array) return items(node, depth);
    if (!number(node.number, '\n')) return false;
    node.truth = node.kind == TomlNode::Kind::truth && node.number != 0;
    if (node.kind == TomlNode::Kind::truth) node.number = 0;
    return true;
  }

 private:
  bool items(TomlNode& node, int depth) {
    std::size_t count = 0;
    if (!number(count, '\n') || count > text_.size()) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (node.kind == TomlNode::Kind::table && !bytes(node.keys.emplace_back())) return false;
      if (!this->node(node.items.emplace_back(), depth + 1)) return false;
    }
    return true;
  }

  bool bytes(std::string& out) {
    std::size_t size = 0;
    if (!number(size, ':') || size > text_.size()) return false;
    out = text_.substr(0, size);
    text_.remove_prefix(size);
    return true;
  }

  template <class Number>
  bool number(Number& out, char behind) {
    const char* const end = text_.data() + text_.size();
    const auto read = std::from_chars(text_.data(), end, out);
    if (read.ec != std::errc{} || read.ptr == end || *read.ptr != behind) return false;
    text_.remove_prefix(static_cast<std::size_t>(read.ptr + 1 - text_.data()));
    return true;
  }

  std::string_view text_;
};

}  // namespace

std::string write_toml_tree(const TomlNode& root) {
  std::string out;
  write(root, out);
  return out;
}

std::optional<TomlNode> read_toml_tree(std::string_view text) {
  TomlNode root;
  Reader reader(text);
  if (!reader.node(root, 0) || !reader.at_end()) return std::nullopt;
  return root;
}

}  // namespace gradsync
