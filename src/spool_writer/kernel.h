// The few system calls of the writer. They go through syscall(2) because the libc wrappers are thread cancellation
// points (a cancelled thread would unwind out of the middle of a record) and because fstat has a young symbol version.
// They set errno as usual; the caller of the slow path restores it for the job.
#pragma once

#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

namespace gradsync::spool {

// CLOCK_MONOTONIC in nanoseconds; answered by the vDSO, without entering the kernel.
inline int64_t now() {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

inline int open_file(const char* path, int flags, int mode = 0) {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

inline void close_file(int fd) { syscall(SYS_close, fd); }

inline bool file_status(int fd, struct stat* status) { return syscall(SYS_fstat, fd, status) == 0; }

// Asks for writes in place. On btrfs a page that was written back is otherwise given new space at the next touch, and
// a full disk then is a SIGBUS. Only for an empty file; file systems without copy on write refuse, which is fine.
inline void avoid_copy_on_write(int fd) {
  unsigned long flags = 0;
  if (syscall(SYS_ioctl, fd, FS_IOC_GETFLAGS, &flags) != 0) return;
  flags |= FS_NOCOW_FL;
  syscall(SYS_ioctl, fd, FS_IOC_SETFLAGS, &flags);
}

inline long read_file(int fd, void* to, size_t bytes) { return syscall(SYS_read, fd, to, bytes); }

inline long write_pieces_at(int fd, const struct iovec* pieces, uint32_t count, int64_t offset) {
  return syscall(SYS_pwritev, fd, pieces, count, offset, 0);
}

inline int allocate_file(int fd, int64_t offset, int64_t bytes) {
  return static_cast<int>(syscall(SYS_fallocate, fd, 0, offset, bytes));
}

inline uint32_t process_id() { return static_cast<uint32_t>(syscall(SYS_getpid)); }
inline uint32_t parent_process_id() { return static_cast<uint32_t>(syscall(SYS_getppid)); }
inline uint32_t thread_id() { return static_cast<uint32_t>(syscall(SYS_gettid)); }

}  // namespace gradsync::spool
