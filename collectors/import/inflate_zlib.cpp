#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "collectors/import/inflate.h"

namespace gradsync {

struct Inflater::Stream {
  z_stream zlib{};
};

namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest window, gzip header expected

}  // namespace

Inflater::Inflater() : stream_(std::make_unique<Stream>()) {
  if (inflateInit2(&stream_->zlib, kGzipWindow) != Z_OK) throw std::bad_alloc();
}

Inflater::~Inflater() { inflateEnd(&stream_->zlib); }

void Inflater::restart() { inflateReset2(&stream_->zlib, kGzipWindow); }

InflateStep Inflater::step(const char* input, std::size_t input_bytes, char* output, std::size_t output_bytes) {
  constexpr std::size_t most = std::numeric_limits<uInt>::max();
  z_stream& zlib = stream_->zlib;
  const auto in = static_cast<uInt>(std::min(input_bytes, most));
  const auto out = static_cast<uInt>(std::min(output_bytes, most));
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input));  // never written to
  zlib.avail_in = in;
  zlib.next_out = reinterpret_cast<Bytef*>(output);
  zlib.avail_out = out;
  const int status = inflate(&zlib, Z_NO_FLUSH);
  InflateStep step{in - zlib.avail_in, out - zlib.avail_out, InflateState::running};
  if (status == Z_STREAM_END)
    step.state = InflateState::member_end;
  else if (status != Z_OK && status != Z_BUF_ERROR)
    step.state = InflateState::damaged;
  return step;
}

}  // namespace gradsync
