// Where the writer must stop: its own bound, a full disk, a folder that is not there.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "src/spool_writer/gsd.h"
#include "tests/support/folder.h"
#include "tests/unit/spool_writer/spool_probe.h"

using namespace gradsync;
using spool::Kind;
using test::Recording;
using test::run_writer;

namespace {

void write_marks(int count) {
  for (int i = 0; i < count; ++i) gsd_event(GSD_WHAT(Kind::mark, 0, 0, 0, 0), 0, 0, 1, 1);
}

// A file system of a few pages, for the time of a test.
class SmallDisk {
 public:
  explicit SmallDisk(const char* size) {
    const std::string options = std::string("size=") + size;
    mounted_ = ::mount("tmpfs", folder().c_str(), "tmpfs", 0, options.c_str()) == 0;
    if (!mounted_) reason_ = std::string("cannot mount a tmpfs: ") + std::strerror(errno);
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(folder().c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  const std::string& reason() const { return reason_; }
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  test::Folder folder_;
  std::string reason_;
  bool mounted_ = false;
};

}  // namespace

TEST_CASE("the bound: what does not fit is counted") {
  for (const int chunks : {1, 2, 5, 9}) {
    const Recording recording;
    constexpr int kEvents = 20000;
    REQUIRE(run_writer(&recording,
                       [] {
                         write_marks(kEvents);
                         return 0;
                       },
                       {.max_chunks = chunks}) == 0);
    const test::Spool spool = recording.only();
    CHECK(spool.header.max_chunks == static_cast<std::uint32_t>(chunks));
    CHECK(spool.header.chunks_used == static_cast<std::uint32_t>(chunks));
    CHECK(spool.events.size() == static_cast<std::size_t>(chunks) * (spool::kRecordsPerChunk - 1));
    CHECK(spool.events.size() + spool.header.dropped_full == kEvents);
    CHECK(std::filesystem::file_size(recording.files()[0]) ==
          spool::kHeaderBytes + static_cast<std::uintmax_t>(chunks) * spool::kChunkBytes);
  }
}

TEST_CASE("the bound with several threads") {
  const Recording recording;
  REQUIRE(run_writer(&recording,
                     [] {
                       std::thread first(write_marks, 5000), second(write_marks, 5000), third(write_marks, 5000);
                       first.join();
                       second.join();
                       third.join();
                       return 0;
                     },
                     {.max_chunks = 4}) == 0);
  const test::Spool spool = recording.only();
  CHECK(spool.header.dropped_full > 0);
  // Whoever comes while another thread opens the spool drops some of its first events on a busy machine.
  CHECK(spool.events.size() + spool.header.dropped_full + spool.header.dropped_no_space == 15000);
}

TEST_CASE("a full disk is counted and never kills; room that comes back is used") {
  const SmallDisk disk("400k");
  if (!disk.mounted()) {
    MESSAGE("skipped: ", disk.reason());
    return;
  }
  const Recording recording(disk.folder());
  const std::string filler = (disk.folder() / "filler").string();
  REQUIRE(run_writer(&recording, [&] {
            std::ofstream(filler) << std::string(200 * 1024, 'x');
            write_marks(10000);
            const std::uint32_t name = gsd_string("named while the disk was full", -1);
            write_marks(10);
            std::filesystem::remove(filler);
            ::usleep(150'000);  // the disk is not asked more often than every 100 ms
            gsd_event(GSD_WHAT(Kind::mark, 0, 0, 0, name), 7, 0, 1, 1);
            return 0;
          }) == 0);
  const test::Spool spool = recording.only();
  CHECK(spool.header.dropped_no_space > 0);
  CHECK(spool.header.dropped_full == 0);
  CHECK(spool.events.size() + spool.header.dropped_no_space == 10011);
  CHECK(spool.events.back().record.bytes == 7);
  CHECK(spool.text(spool.events.back().record.name) == "named while the disk was full");
}

TEST_CASE("a disk that is full from the start: no file, and what was lost is counted once there is one") {
  const SmallDisk disk("64k");
  if (!disk.mounted()) {
    MESSAGE("skipped: ", disk.reason());
    return;
  }
  const Recording recording(disk.folder());
  const std::string filler = (disk.folder() / "filler").string();
  REQUIRE(run_writer(&recording, [&] {
            std::ofstream(filler) << std::string(64 * 1024, 'x');
            write_marks(100);
            if (gsd_enabled() == 0) return 1;
            if (!recording.files().empty()) return 2;
            std::filesystem::remove(filler);
            ::usleep(150'000);
            write_marks(1);  // room for the header, not for a chunk
            return 0;
          }) == 0);
  const test::Spool spool = recording.only();
  CHECK(spool.events.empty());
  CHECK(spool.header.dropped_no_space == 101);
}

TEST_CASE("pages larger than the header: chunks share them and nothing is overwritten") {
  const Recording recording;
  static constexpr int kEvents = 30000;
  REQUIRE(run_writer(&recording,
                     [] {
                       const std::uint64_t open =
                           gsd_begin(GSD_WHAT(Kind::range, 0, 0, 0, gsd_string("open", -1)), 0, 0);
                       std::thread other(write_marks, kEvents);
                       write_marks(kEvents);
                       other.join();
                       gsd_end(open);
                       return 0;
                     },
                     {.page_bytes = 65536}) == 0);
  const test::Spool spool = recording.only();
  CHECK(spool.events.size() == 2 * kEvents + 1);
  CHECK(spool.header.exited_cleanly == 1);
  REQUIRE(spool.of_kind(Kind::range).size() == 1);
  CHECK(spool.of_kind(Kind::range)[0].end_ns > 0);
}

TEST_CASE("no recording folder, no right to write: off, without a word") {
  const Recording recording;
  std::filesystem::remove_all(recording.folder());
  CHECK(run_writer(&recording, [] {
          if (gsd_enabled() == 0) return 1;  // not tried yet
          write_marks(10);
          return gsd_enabled();
        }) == 0);
  CHECK(!std::filesystem::exists(recording.folder()));
}

TEST_CASE("a job that closes every descriptor is still recorded, and ours is none of them") {
  const Recording recording;
  REQUIRE(run_writer(&recording, [] {
            write_marks(1);
            for (int fd = 3; fd < 256; ++fd) ::close(fd);
            const int probe = ::open("/dev/null", O_RDONLY);
            write_marks(3000);
            return probe == 3 && ::fcntl(4, F_GETFD) == -1 ? 0 : 1;
          }) == 0);
  CHECK(recording.only().events.size() == 3001);
}

TEST_CASE("no descriptor to be had: counted, and tried again") {
  const Recording recording;
  REQUIRE(run_writer(&recording, [] {
            write_marks(1);
            const rlimit none = {3, 64};
            ::setrlimit(RLIMIT_NOFILE, &none);
            write_marks(3000);
            const rlimit some = {64, 64};
            ::setrlimit(RLIMIT_NOFILE, &some);
            ::usleep(150'000);
            write_marks(1);
            return 0;
          }) == 0);
  const test::Spool spool = recording.only();
  CHECK(spool.events.size() > 1000);
  CHECK(spool.events.size() + spool.header.dropped_no_space == 3002);
}
