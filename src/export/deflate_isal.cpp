#include <isa-l/igzip_lib.h>

#include <vector>

#include "src/export/deflate.h"

namespace gradsync {

struct Deflater::Stream {
  Put put;
  isal_zstream state{};
  std::vector<std::uint8_t> level = std::vector<std::uint8_t>(ISAL_DEF_LVL1_DEFAULT);
  std::vector<char> room = std::vector<char>(std::size_t{64} << 10);

  void run() {
    do {
      state.next_out = reinterpret_cast<std::uint8_t*>(room.data());
      state.avail_out = static_cast<std::uint32_t>(room.size());
      isal_deflate(&state);
      put({room.data(), room.size() - state.avail_out});
    } while (state.avail_out == 0);
  }
};

Deflater::Deflater(Put put) : stream_(std::make_unique<Stream>()) {
  stream_->put = std::move(put);
  isal_zstream& state = stream_->state;
  isal_deflate_init(&state);
  state.gzip_flag = IGZIP_GZIP;
  state.level = 1;
  state.level_buf = stream_->level.data();
  state.level_buf_size = static_cast<std::uint32_t>(stream_->level.size());
}

Deflater::~Deflater() = default;

void Deflater::write(std::string_view bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 30;  // lengths of ISA-L are 32 bits
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kMost);
    stream_->state.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(part.data()));
    stream_->state.avail_in = static_cast<std::uint32_t>(part.size());
    stream_->run();
    bytes.remove_prefix(part.size());
  }
}

void Deflater::finish() {
  stream_->state.avail_in = 0;
  stream_->state.end_of_stream = 1;
  stream_->run();
}

}  // namespace gradsync
