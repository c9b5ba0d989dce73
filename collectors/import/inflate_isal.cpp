#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <limits>

#include "collectors/import/inflate.h"

namespace gradsync {

struct Inflater::Stream {
  inflate_state state;
};

Inflater::Inflater() : stream_(std::make_unique<Stream>()) {
  isal_inflate_init(&stream_->state);
  stream_->state.crc_flag = ISAL_GZIP;
}

Inflater::~Inflater() = default;

void Inflater::restart() {
  isal_inflate_reset(&stream_->state);
  stream_->state.crc_flag = ISAL_GZIP;
}

InflateStep Inflater::step(const char* input, std::size_t input_bytes, char* output, std::size_t output_bytes) {
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  inflate_state& state = stream_->state;
  const auto in = static_cast<std::uint32_t>(std::min(input_bytes, most));
  const auto out = static_cast<std::uint32_t>(std::min(output_bytes, most));
  state.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(input));  // never written to
  state.avail_in = in;
  state.next_out = reinterpret_cast<std::uint8_t*>(output);
  state.avail_out = out;
  const int status = isal_inflate(&state);
  InflateStep step{0, out - std::min(out, state.avail_out), InflateState::running};
  // Damaged input can leave avail_in below zero (seen with 2.30): the state is of no use after that.
  const bool underflow = state.avail_in > in;
  if (!underflow) step.consumed = in - state.avail_in;
  if (underflow || (status != ISAL_DECOMP_OK && status != ISAL_END_INPUT)) {
    step.state = InflateState::damaged;
  } else if (state.block_state == ISAL_BLOCK_FINISH) {
    step.state = InflateState::member_end;
  }
  return step;
}

}  // namespace gradsync
