#include "collectors/fabric/store_protocol.h"

#include <charconv>
#include <system_error>

namespace gradsync {
namespace {

constexpr std::size_t kLengthBytes = 4;

void put_length(std::string& out, std::size_t length) {
  for (std::size_t byte = 0; byte < kLengthBytes; ++byte)
    out.push_back(static_cast<char>((length >> (8 * byte)) & 0xff));
}

std::size_t get_length(std::string_view bytes) {
  std::size_t length = 0;
  for (std::size_t byte = 0; byte < kLengthBytes; ++byte)
    length |= std::size_t{static_cast<unsigned char>(bytes[byte])} << (8 * byte);
  return length;
}

Error not_ours(std::string why) {
  return Error{"cannot understand", "what came over the network", std::move(why), "", 3};
}

Result<Frame> fields_of(std::string_view body) {
  Frame frame;
  while (!body.empty()) {
    if (body.size() < kLengthBytes) return not_ours("a field without its length");
    const std::size_t length = get_length(body);
    body.remove_prefix(kLengthBytes);
    if (length > body.size()) return not_ours("a field that is longer than its frame");
    frame.emplace_back(body.substr(0, length));
    body.remove_prefix(length);
  }
  if (frame.empty()) return not_ours("an empty frame");
  return frame;
}

}  // namespace

std::string encode_frame(const Frame& frame) {
  std::string out;
  std::size_t length = 0;
  for (const std::string& field : frame) length += kLengthBytes + field.size();
  put_length(out, length);
  for (const std::string& field : frame) {
    put_length(out, field.size());
    out += field;
  }
  return out;
}

Result<std::optional<Frame>> FrameReader::next() {
  if (bytes_.size() < kLengthBytes) return std::optional<Frame>();
  const std::size_t length = get_length(bytes_);
  if (length > limit_) return not_ours("a frame of " + std::to_string(length) + " bytes");
  if (bytes_.size() < kLengthBytes + length) return std::optional<Frame>();
  Result<Frame> frame = fields_of(std::string_view(bytes_).substr(kLengthBytes, length));
  if (!frame) return frame.error();
  bytes_.erase(0, kLengthBytes + length);
  return std::optional<Frame>(std::move(*frame));
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

}  // namespace gradsync
