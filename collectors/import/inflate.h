// Streaming inflate of gzip members with bounded memory. Two implementations, inflate_isal.cpp and inflate_zlib.cpp;
// CMake links one. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>

namespace gradsync {

enum class InflateState { running, member_end, damaged };  // after damaged: no further step

struct InflateStep {
  std::size_t consumed = 0;  // bytes of input used; some may still be buffered inside
  std::size_t produced = 0;  // bytes of output written
  InflateState state = InflateState::running;
};

class Inflater {
 public:
  Inflater();
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Neither consuming nor producing anything means: it needs more input (or more room).
  InflateStep step(const char* input, std::size_t input_bytes, char* output, std::size_t output_bytes);

  // Begins the next member of a concatenated file.
  void restart();

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace gradsync
