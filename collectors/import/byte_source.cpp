#include "collectors/import/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace gradsync {
namespace {

constexpr std::size_t kRawBytes = std::size_t{256} << 10;

}  // namespace

const char* to_string(Damage damage) {
  switch (damage) {
    case Damage::none:
      return "";
    case Damage::cut:
      return "its compressed bytes end too early";
    case Damage::corrupt:
      return "its compressed bytes are damaged";
    case Damage::unreadable:
      return "it could not be read to its end";
  }
  return "";
}

ByteSource::ByteSource(FileDescriptor file) : file_(std::move(file)), raw_(kRawBytes) {}

Result<ByteSource> ByteSource::open(const std::filesystem::path& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Error{"cannot open", path.string(), errno_text(errno), "", 3};
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return Error{"cannot read", path.string(), errno_text(errno), "", 3};
  if (S_ISDIR(info.st_mode)) return Error{"cannot read", path.string(), "it is a folder", "", 3};
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  ByteSource source(std::move(file));
  source.refill();
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(source.raw_[i]); };
  if (source.available_ >= 2 && byte(0) == 0x1f && byte(1) == 0x8b) source.inflater_ = std::make_unique<Inflater>();
  return source;
}

std::size_t ByteSource::read_raw(char* into, std::size_t capacity) {
  std::size_t filled = 0;
  while (filled < capacity) {
    const ssize_t count = ::read(file_.get(), into + filled, capacity - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) damage_ = Damage::unreadable;
    if (count <= 0) break;
    filled += static_cast<std::size_t>(count);
  }
  return filled;
}

bool ByteSource::refill() {
  next_ = 0;
  available_ = read_raw(raw_.data(), raw_.size());
  return available_ > 0;
}

std::size_t ByteSource::read(char* into, std::size_t capacity) {
  if (ended_) return 0;
  const std::size_t count = is_gzip() ? read_inflated(into, capacity) : read_stored(into, capacity);
  if (count < capacity) ended_ = true;
  return count;
}

std::size_t ByteSource::read_stored(char* into, std::size_t capacity) {
  const std::size_t held = std::min(capacity, available_);
  std::memcpy(into, raw_.data() + next_, held);
  next_ += held;
  available_ -= held;
  return held + read_raw(into + held, capacity - held);
}

// What follows a member and does not look like another one is padding, as for gzip itself.
bool ByteSource::begin_member() {
  if (available_ == 0 && !refill()) return false;
  if (static_cast<unsigned char>(raw_[next_]) != 0x1f) return false;
  inflater_->restart();
  between_members_ = false;
  first_member_ = false;
  member_bytes_ = 0;
  return true;
}

std::size_t ByteSource::read_inflated(char* into, std::size_t capacity) {
  std::size_t filled = 0;
  bool input_left = true;
  while (filled < capacity) {
    if (between_members_ && !begin_member()) return filled;
    if (available_ == 0 && input_left) input_left = refill();
    const InflateStep step = inflater_->step(raw_.data() + next_, available_, into + filled, capacity - filled);
    next_ += step.consumed;
    available_ -= step.consumed;
    filled += step.produced;
    member_bytes_ += step.produced;
    if (step.state == InflateState::member_end) {
      between_members_ = true;
    } else if (step.state == InflateState::damaged) {
      if (first_member_ || member_bytes_ > 0) damage_ = Damage::corrupt;
      ended_ = true;
      return filled;
    } else if (step.consumed == 0 && step.produced == 0 && !input_left) {
      if (damage_ == Damage::none) damage_ = Damage::cut;
      return filled;
    }
  }
  return filled;
}

}  // namespace gradsync
