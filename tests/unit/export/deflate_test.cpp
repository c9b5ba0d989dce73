// What each library makes can be inflated by zlib, whatever the pieces were.
#include "src/export/deflate.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <string>

namespace gradsync {
namespace {

std::string inflated(const std::string& gzip) {
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  std::string text, room(1 << 16, '\0');
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = static_cast<uInt>(room.size());
    state = inflate(&stream, Z_NO_FLUSH);
    text.append(room, 0, room.size() - stream.avail_out);
  }
  CHECK(state == Z_STREAM_END);
  CHECK(stream.avail_in == 0);
  inflateEnd(&stream);
  return text;
}

// Does not repeat, so that the compressed bytes are many.
std::string noise(std::size_t bytes) {
  std::string text;
  std::uint64_t state = 1;
  while (text.size() < bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    text += static_cast<char>(state >> 56);
  }
  return text;
}

TEST_CASE("pieces of any size become one gzip member") {
  const std::string text = noise(300'000) + std::string(300'000, 'a');
  for (const std::size_t piece : {std::size_t{1} << 20, std::size_t{1000}, std::size_t{65'536}}) {
    CAPTURE(piece);
    std::string gzip;
    Deflater deflater([&](std::string_view bytes) { gzip += bytes; });
    for (std::size_t at = 0; at < text.size(); at += piece) deflater.write(std::string_view(text).substr(at, piece));
    deflater.finish();
    CHECK(gzip.size() < 400'000);
    CHECK(inflated(gzip) == text);
  }
}

TEST_CASE("nothing at all is a whole member, too") {
  std::string gzip;
  Deflater deflater([&](std::string_view bytes) { gzip += bytes; });
  deflater.finish();
  CHECK(inflated(gzip) == "");
}

}  // namespace
}  // namespace gradsync
