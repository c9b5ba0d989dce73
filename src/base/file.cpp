#include "src/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "src/base/write_bytes.h"

namespace gradsync {

std::string errno_text(int error) { return std::generic_category().message(error); }

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int FileDescriptor::release() {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

void FileDescriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Error{"cannot read", path.string(), errno_text(errno), "", 3};
  std::string bytes;
  char block[65536];
  for (;;) {
    const ssize_t got = ::read(file.get(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{"cannot read", path.string(), errno_text(errno), "", 3};
    if (got == 0) return bytes;
    if (bytes.size() + static_cast<std::size_t>(got) > limit)
      return Error{"cannot read", path.string(), "larger than " + std::to_string(limit) + " bytes", "", 3};
    bytes.append(block, static_cast<std::size_t>(got));
  }
}

Result<void> write_file(const std::filesystem::path& path, std::string_view bytes) {
  const std::filesystem::path temporary = path.string() + ".part" + std::to_string(::getpid());
  ::unlink(temporary.c_str());
  FileDescriptor file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) return Error{"cannot write", path.string(), errno_text(errno), "", 125};
  if (const int error = write_bytes(file.get(), bytes); error != 0) {
    ::unlink(temporary.c_str());
    return Error{"cannot write", path.string(), errno_text(error), "", 125};
  }
  file.reset();
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return Error{"cannot write", path.string(), errno_text(error), "", 125};
  }
  return {};
}

Result<void> make_private_directory(const std::filesystem::path& path) {
  if (::mkdir(path.c_str(), S_IRWXU) == 0) return {};
  const int error = errno;
  std::error_code ignored;
  const bool ours = error == EEXIST && !std::filesystem::is_symlink(path, ignored) &&
                    std::filesystem::is_directory(path, ignored) && std::filesystem::is_empty(path, ignored);
  if (ours && ::chmod(path.c_str(), S_IRWXU) == 0) return {};
  return Error{"cannot make the folder", path.string(),
               error == EEXIST ? "it exists and is not an empty folder" : errno_text(error),
               "give another folder with -o DIR", 125};
}

}  // namespace gradsync
