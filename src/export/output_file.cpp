#include "src/export/output_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>

#include "src/base/write_bytes.h"

namespace gradsync {
namespace fs = std::filesystem;

struct OutputFile::State {
  fs::path path;
  std::string sibling;  // empty: written to directly
  FileDescriptor file;
  std::string buffer;
  std::unique_ptr<Deflater> gzip;
  int error = 0;
  std::uint64_t bytes = 0;

  Error failure(int number) const { return {"cannot write", path.string(), errno_text(number), "", 125}; }

  void put(std::string_view text) {
    bytes += text.size();
    buffer += text;
    if (buffer.size() >= std::size_t{256} << 10) flush();
  }

  void flush() {
    if (error == 0) error = write_bytes(file.get(), buffer);
    buffer.clear();
  }
};

OutputFile::OutputFile(std::unique_ptr<State> state) : state_(std::move(state)) {}

OutputFile::OutputFile(OutputFile&&) noexcept = default;

OutputFile::~OutputFile() {
  if (state_ && !state_->sibling.empty()) ::unlink(state_->sibling.c_str());
}

Result<OutputFile> OutputFile::open(const fs::path& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  if (path == "-") {
    state->file = FileDescriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  } else if (!is_replaced(path)) {
    state->file = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  } else {
    std::string name = path.string() + ".XXXXXX";
    state->file = FileDescriptor(::mkostemp(name.data(), O_CLOEXEC));
    if (state->file) state->sibling = name;
  }
  if (!state->file) return state->failure(errno);
  if (path.extension() == ".gz")
    state->gzip = std::make_unique<Deflater>([into = state.get()](std::string_view bytes) { into->put(bytes); });
  return OutputFile(std::move(state));
}

void OutputFile::write(std::string_view bytes) {
  if (state_->gzip)
    state_->gzip->write(bytes);
  else
    state_->put(bytes);
}

Result<void> OutputFile::finish() {
  if (state_->gzip) state_->gzip->finish();
  state_->flush();
  if (state_->error == 0 && !state_->sibling.empty() && ::rename(state_->sibling.c_str(), state_->path.c_str()) != 0)
    state_->error = errno;
  if (state_->error != 0) return state_->failure(state_->error);
  state_->sibling.clear();
  return {};
}

std::uint64_t OutputFile::bytes() const { return state_->bytes; }

}  // namespace gradsync
