#include "src/spool_writer/spool_file.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "src/spool_writer/kernel.h"

namespace gradsync::spool {
namespace {

constexpr int kMaxSpoolsOfOnePid = 64;
constexpr int kOpenExisting = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
constexpr int kOpenNew = kOpenExisting | O_CREAT | O_EXCL;
static_assert(sizeof(off_t) == 8, "offsets of a spool need 64 bits");

// Appends and keeps the terminator; configure() has checked that the recording's path leaves room for our names.
char* append(char* to, const char* text) {
  while (*text != 0) *to++ = *text++;
  *to = 0;
  return to;
}

char* append(char* to, uint32_t number) {
  char digits[11];
  char* first = digits + sizeof digits - 1;
  *first = 0;
  do {
    *--first = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return append(to, first);
}

void read_host_name(char* host, size_t bytes) {
  if (gethostname(host, bytes) != 0) strcpy(host, "unknown");
  host[bytes - 1] = 0;
  for (char* c = host; *c != 0; ++c) {
    if (*c == '/') *c = '_';
  }
}

// argv joined by blanks.
void read_command(char* command, size_t bytes) {
  const int fd = open_file("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const long length = read_file(fd, command, bytes - 1);
  close_file(fd);
  for (long i = 0; i + 1 < length; ++i) {
    if (command[i] == 0) command[i] = ' ';
  }
}

void fill_header(SpoolHeader* header, const char* host, uint32_t pid) {
  header->byte_order = kByteOrder;
  header->format_version = kFormatVersion;
  header->header_bytes = kHeaderBytes;
  header->record_bytes = kRecordBytes;
  header->chunk_bytes = kChunkBytes;
  header->pid = pid;
  header->parent_pid = parent_process_id();
  struct timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  header->monotonic_ns = now();
  header->realtime_ns = int64_t{wall.tv_sec} * 1000000000 + wall.tv_nsec;
  strcpy(header->host, host);
  read_command(header->command, sizeof header->command);
  header->next_string = 1;
  memcpy(header->magic, kMagic, sizeof kMagic);  // last: a reader that finds it finds the rest
}

int open_new(const char* recording, const char* host, uint32_t pid, char* path) {
  char* folder_end = append(append(path, recording), "/events");
  for (uint32_t k = 1; k <= kMaxSpoolsOfOnePid; ++k) {
    char* end = append(append(append(append(folder_end, "/"), host), "-"), pid);
    if (k > 1) end = append(append(end, "-"), k);
    append(end, ".spool");
    int fd = open_file(path, kOpenNew, 0600);
    if (fd < 0 && errno == ENOENT && k == 1) {
      *folder_end = 0;
      syscall(SYS_mkdirat, AT_FDCWD, path, 0700);
      *folder_end = '/';
      fd = open_file(path, kOpenNew, 0600);
    }
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

// One call for many pages: the kernel then fills its cache with large pages, and a first touch costs a small fault
// instead of a page read (measured on ext4, 256 KiB at a time: 17 µs per chunk in all, against 60 µs without;
// MADV_POPULATE_WRITE afterwards makes it 20).
bool write_zeros(int fd, int64_t offset, uint32_t bytes) {
  static char zeros[4096];
  constexpr uint32_t kPieces = 64;
  struct iovec pieces[kPieces];
  for (uint32_t done = 0; done < bytes;) {
    const uint32_t rest = bytes - done;
    const uint32_t now_bytes = rest < kPieces * sizeof zeros ? rest : kPieces * sizeof zeros;
    uint32_t count = 0;
    for (uint32_t at = 0; at < now_bytes; at += sizeof zeros, ++count) {
      pieces[count] = {zeros, now_bytes - at < sizeof zeros ? now_bytes - at : sizeof zeros};
    }
    const long written = write_pieces_at(fd, pieces, count, offset + done);
    if (written > 0) done += static_cast<uint32_t>(written);
    if (written == 0 || (written < 0 && errno != EINTR)) return false;
  }
  return true;
}

// Allocating first makes a full disk answer before pages are filled, and makes the promise on file systems that decide
// where data goes only later. Those that cannot allocate (NFS 3) refuse at the writing.
bool reserve(int fd, const PageRange& pages, int64_t offset, uint32_t bytes) {
  int refused;
  do {
    refused = allocate_file(fd, pages.offset, pages.bytes);
  } while (refused != 0 && errno == EINTR);
  if (refused != 0 && errno != EOPNOTSUPP && errno != ENOSYS) return false;
  return write_zeros(fd, offset, bytes);
}

}  // namespace

uint32_t g_page_bytes = 4096;

PageRange pages_of(int64_t offset, uint32_t bytes) {
  const int64_t page = g_page_bytes;
  const int64_t first = offset / page * page;
  return {first, (offset + bytes + page - 1) / page * page - first};
}

void* reserve_and_map(int fd, int64_t offset, uint32_t bytes) {
  const PageRange pages = pages_of(offset, bytes);
  if (!reserve(fd, pages, offset, bytes)) return nullptr;
  void* memory = mmap(nullptr, static_cast<size_t>(pages.bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, pages.offset);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory) + (offset - pages.offset);
}

void give_memory_back(void* memory, int64_t offset, uint32_t bytes) {
  const PageRange pages = pages_of(offset, bytes);
  madvise(static_cast<char*>(memory) - (offset - pages.offset), static_cast<size_t>(pages.bytes), MADV_DONTNEED);
}

int create_spool(const char* recording, ProcessState& process, SpoolHeader** header) {
  char host[sizeof SpoolHeader::host];
  read_host_name(host, sizeof host);
  const uint32_t pid = process_id();
  const int fd = open_new(recording, host, pid, process.path);
  if (fd < 0) return errno;
  avoid_copy_on_write(fd);
  struct stat status;
  auto* mapped = static_cast<SpoolHeader*>(reserve_and_map(fd, 0, kHeaderBytes));
  if (mapped == nullptr || !file_status(fd, &status)) {
    const int error = errno;
    syscall(SYS_unlinkat, AT_FDCWD, process.path, 0);  // an empty file would tell the reader nothing
    close_file(fd);
    return error;
  }
  close_file(fd);
  process.device = status.st_dev;
  process.inode = status.st_ino;
  fill_header(mapped, host, pid);
  *header = mapped;
  return 0;
}

int reopen_spool(const ProcessState& process) {
  const int fd = open_file(process.path, kOpenExisting);
  if (fd < 0) return -1;
  struct stat status;
  if (file_status(fd, &status) && status.st_dev == process.device && status.st_ino == process.inode) return fd;
  close_file(fd);
  errno = ENOENT;
  return -1;
}

}  // namespace gradsync::spool
