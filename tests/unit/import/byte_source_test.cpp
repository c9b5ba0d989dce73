// Built once for each inflate library.
#include "collectors/import/byte_source.h"

#include <doctest/doctest.h>

#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

// Compresses to about a quarter, over several inflate blocks.
std::string varied_text(std::size_t bytes) {
  std::string text;
  std::uint32_t state = 1;
  while (text.size() < bytes) {
    state = state * 1664525 + 1013904223;
    text += "{\"ts\": " + std::to_string(state >> 8) + "}, ";
  }
  return text;
}

std::string read_all(ByteSource& source, std::size_t piece) {
  std::string text, buffer(piece, '\0');
  while (true) {
    const std::size_t count = source.read(buffer.data(), piece);
    text.append(buffer, 0, count);
    if (count < piece) return text;
  }
}

struct Read {
  std::string text, damage;
};

Read read_bytes(const std::string& bytes, std::size_t piece = 4096) {
  const test::TraceFile file(bytes);
  Result<ByteSource> source = ByteSource::open(file.path());
  REQUIRE(source);
  std::string text = read_all(*source, piece);
  return {text, to_string(source->damage())};
}

}  // namespace

TEST_CASE("plain and compressed bytes arrive the same, in pieces of any size") {
  const std::string text = varied_text(700'000);
  const std::string compressed = test::gzip(text);
  REQUIRE(compressed.size() < text.size());
  for (const std::size_t piece : {std::size_t{977}, std::size_t{65'536}, std::size_t{1} << 20}) {
    CAPTURE(piece);
    CHECK(read_bytes(text, piece).text == text);
    CHECK(read_bytes(compressed, piece).text == text);
    CHECK(read_bytes(compressed, piece).damage.empty());
  }
  CHECK(read_bytes(compressed.substr(0, 3'000), 1).text.size() > 1'000);
}

TEST_CASE("members of a concatenated file follow each other; padding behind them is none") {
  const std::string text = varied_text(300'000);
  const std::string two = test::gzip(text) + test::gzip("") + test::gzip("end");
  CHECK(read_bytes(two).text == text + "end");
  const Read padded = read_bytes(two + std::string(1'000, '\0'));
  CHECK(padded.text == text + "end");
  CHECK(padded.damage.empty());
  const Read junk = read_bytes(two + "\x1f\x8bjunk that is no member");
  CHECK(junk.text == text + "end");
  CHECK(junk.damage.empty());
}

TEST_CASE("a compressed file that is cut gives what was there") {
  const std::string text = varied_text(300'000);
  const std::string compressed = test::gzip(text);
  for (const std::size_t length :
       {compressed.size() - 1, compressed.size() - 9, compressed.size() / 2, std::size_t{12}}) {
    CAPTURE(length);
    const Read read = read_bytes(compressed.substr(0, length));
    CHECK(text.starts_with(read.text));
    CHECK(read.damage == "its compressed bytes end too early");
  }
  CHECK(read_bytes(compressed.substr(0, compressed.size() / 2)).text.size() > 100'000);
}

TEST_CASE("compressed bytes that are damaged end the text there") {
  const std::string text = varied_text(300'000);
  std::string compressed = test::gzip(text);
  for (std::size_t i = compressed.size() / 2; i < compressed.size() / 2 + 40; ++i) compressed[i] = '\xff';
  const Read read = read_bytes(compressed);
  CHECK(read.damage == "its compressed bytes are damaged");
  CHECK(read.text != text);
  CHECK(read_bytes("\x1f\x8b\x08 no header like this").damage.starts_with("its compressed bytes"));
}

TEST_CASE("damage anywhere ends the text once, whatever the size of the pieces") {
  const std::string compressed = test::gzip(varied_text(30'000));
  std::uint32_t state = 5;
  const auto random = [&state](std::size_t below) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
  };
  for (int round = 0; round < 300; ++round) {
    std::string damaged = compressed;
    for (std::size_t i = 0; i < 1 + random(6); ++i) damaged[random(damaged.size())] = static_cast<char>(random(256));
    if (round % 3 == 0) damaged.resize(random(damaged.size()));
    const test::TraceFile file(damaged);
    Result<ByteSource> source = ByteSource::open(file.path());
    REQUIRE(source);
    std::string piece(1 + random(3'000), '\0');
    std::size_t read = 0;
    for (int calls = 0; calls < 200'000; ++calls) {  // asks on after the end, too
      const std::size_t count = source->read(piece.data(), piece.size());
      read += count;
      if (count < piece.size() && calls > 3) break;
    }
    CHECK(source->read(piece.data(), piece.size()) == 0);
    CHECK(read < 30'000'000);
  }
}

TEST_CASE("a match that reaches before the beginning, told when the room is just used up") {
  // ISA-L 2.30 leaves its input count below zero here.
  const std::string bytes(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x02\x4e\x4c\x4a\x4a\x49\x4a\x4b\x4d\x4a\x4e\x4b\x4e\x4a\x4e\x4e", 26);
  Inflater inflater;
  char byte = 0;
  InflateStep step;
  for (std::size_t used = 0; step.state == InflateState::running; used += step.consumed) {
    step = inflater.step(bytes.data() + used, bytes.size() - used, &byte, 1);
    REQUIRE(step.consumed <= bytes.size() - used);
    REQUIRE(step.produced <= 1);
  }
  CHECK(step.state == InflateState::damaged);
}

TEST_CASE("empty files, missing files and folders") {
  CHECK(read_bytes("").text.empty());
  CHECK(read_bytes("\x1f").text == "\x1f");
  CHECK(ByteSource::open("/nowhere").error().message() == "cannot open /nowhere: No such file or directory");
  CHECK(ByteSource::open("/tmp").error().message() == "cannot read /tmp: it is a folder");
}

}  // namespace gradsync
