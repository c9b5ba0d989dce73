#include "src/report/html/markup.h"

#include <fmt/format.h>

#include <cmath>

#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr std::string_view kNotXml = "\xef\xbf";  // of U+FFFE and U+FFFF, which no document may hold

std::string_view escape_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

std::string escape_markup(std::string_view text) {
  const std::string harmless = escape_controls(text);
  std::string escaped;
  escaped.reserve(harmless.size());
  for (std::size_t i = 0; i < harmless.size(); ++i) {
    const std::string_view entity = escape_of(harmless[i]);
    const bool not_xml = harmless.compare(i, 2, kNotXml) == 0 && i + 2 < harmless.size() &&
                         static_cast<unsigned char>(harmless[i + 2]) >= 0xbe;
    if (not_xml) {
      escaped += "\xef\xbf\xbd";  // U+FFFD
      i += 2;
    } else if (entity.empty()) {
      escaped += harmless[i];
    } else {
      escaped += entity;
    }
  }
  return escaped;
}

std::string coordinate(double value) {
  const double tenth = std::isfinite(value) ? std::round(value * 10) / 10 + 0.0 : 0;  // never -0
  return tenth == std::round(tenth) ? fmt::format("{:.0f}", tenth) : fmt::format("{:.1f}", tenth);
}

void Markup::begin(std::string_view tag, const Attributes& attributes) {
  out_.append("<").append(tag);
  for (const auto& [name, value] : attributes)
    out_.append(" ").append(name).append("=\"").append(escape_markup(value)).append("\"");
}

void Markup::open(std::string_view tag, const Attributes& attributes) {
  begin(tag, attributes);
  out_ += ">";
  open_.emplace_back(tag);
}

void Markup::close() {
  if (open_.empty()) return;
  const std::string tag = std::move(open_.back());
  open_.pop_back();
  out_.append("</").append(tag).append(">");
  const bool inline_tag = tag == "span" || tag == "a" || tag == "b" || tag == "title" || tag == "text";
  if (!inline_tag) out_ += "\n";
}

void Markup::empty(std::string_view tag, const Attributes& attributes) {
  begin(tag, attributes);
  out_ += "/>";
}

void Markup::element(std::string_view tag, const Attributes& attributes, std::string_view content) {
  open(tag, attributes);
  text(content);
  close();
}

void Markup::text(std::string_view content) { out_ += escape_markup(content); }

void Markup::constant(std::string_view tag, std::string_view content) {
  open(tag);
  out_ += content;
  close();
}

std::string Markup::id(std::string_view wanted) {
  std::string safe;
  for (const char c : wanted) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    safe += plain ? c : '-';
  }
  if (safe.empty() || !((safe[0] >= 'a' && safe[0] <= 'z') || (safe[0] >= 'A' && safe[0] <= 'Z'))) safe = "x" + safe;
  for (;;) {
    const int times = ++ids_[safe];
    if (times == 1) return safe;
    std::string numbered = safe + "." + std::to_string(times);  // no wanted one has a point
    if (++ids_[numbered] == 1) return numbered;
  }
}

void Markup::close_to(std::size_t depth) {
  while (open_.size() > depth) close();
}

std::string Markup::take() {
  close_to(0);
  return std::move(out_);
}

}  // namespace gradsync
