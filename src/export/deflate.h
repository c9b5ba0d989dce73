// Streaming gzip with bounded memory. Two implementations, deflate_isal.cpp and deflate_zlib.cpp; CMake links the one
// whose library inflates imported files. One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace gradsync {

class Deflater {
 public:
  using Put = std::function<void(std::string_view)>;

  // Compressed bytes are handed to `put` as they come.
  explicit Deflater(Put put);
  ~Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void write(std::string_view bytes);
  void finish();  // the member's end; once, last

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace gradsync
