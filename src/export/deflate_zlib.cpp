#include <zlib.h>

#include <vector>

#include "src/export/deflate.h"

namespace gradsync {

struct Deflater::Stream {
  Put put;
  z_stream state{};
  std::vector<char> room = std::vector<char>(std::size_t{64} << 10);

  void run(int flush) {
    do {
      state.next_out = reinterpret_cast<Bytef*>(room.data());
      state.avail_out = static_cast<uInt>(room.size());
      deflate(&state, flush);
      put({room.data(), room.size() - state.avail_out});
    } while (state.avail_out == 0);
  }
};

Deflater::Deflater(Put put) : stream_(std::make_unique<Stream>()) {
  stream_->put = std::move(put);
  constexpr int kGzip = 16 + MAX_WBITS;
  deflateInit2(&stream_->state, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY);
}

Deflater::~Deflater() { deflateEnd(&stream_->state); }

void Deflater::write(std::string_view bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 30;  // lengths of zlib are 32 bits
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kMost);
    stream_->state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    stream_->state.avail_in = static_cast<uInt>(part.size());
    stream_->run(Z_NO_FLUSH);
    bytes.remove_prefix(part.size());
  }
}

void Deflater::finish() {
  stream_->state.avail_in = 0;
  stream_->run(Z_FINISH);
}

}  // namespace gradsync
