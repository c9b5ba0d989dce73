#include "tests/unit/spool_reader/written_spool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "src/spool_writer/process_state.h"

namespace gradsync::test {
namespace fs = std::filesystem;

WrittenSpool::WrittenSpool(const std::function<void()>& write) {
  fs::create_directory(folder() / "events");
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("GSD_RECORDING", folder().c_str(), 1);
    spool::configure(spool::ForkGuard::kernel_or_handler);
    write();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error("the writing child failed");
}

fs::path WrittenSpool::spool() const {
  for (const auto& entry : fs::directory_iterator(folder() / "events")) return entry.path();
  throw std::runtime_error("no spool was written");
}

std::string WrittenSpool::bytes() const {
  std::ifstream file(spool(), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WrittenSpool::replace(const std::string& bytes) const {
  std::ofstream(spool(), std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace gradsync::test
