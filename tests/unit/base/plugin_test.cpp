#include "src/base/plugin.h"

#include <doctest/doctest.h>

namespace gradsync {
namespace {

using Function = int (*)();

TEST_CASE("a plug-in of this version gives its function") {
  const Result<void*> entry = open_plugin(GSD_TEST_PLUGINS "/libtest_plugin.so", "nothing", "answer");

  REQUIRE(entry);
  CHECK(reinterpret_cast<Function>(*entry)() == 42);
}

TEST_CASE("what is no plug-in of this program is refused with the reason") {
  const auto error_of = [](const std::string& library, const std::string& entry) {
    const Result<void*> opened = open_plugin(library, "libhwy1", entry);
    return opened ? std::string() : opened.error().message() + " | " + opened.error().hint;
  };
  const std::string folder = GSD_TEST_PLUGINS "/";

  CHECK(error_of("/nowhere/x.so", "answer") ==
        "cannot load /nowhere/x.so: it is not there: this program was built without it | install libhwy1 and build "
        "again");
  CHECK(error_of(folder + "libtest_plugin.so", "question") ==
        "cannot load " + folder + "libtest_plugin.so: it is no plug-in of this program | ");
  CHECK(error_of(folder + "libtest_old_plugin.so", "answer") ==
        "cannot load " + folder +
            "libtest_old_plugin.so: it is of version 0.0.1, this program is " GSD_VERSION " | install them together");
  CHECK(error_of("/proc/self/status", "answer").find("install libhwy1") !=
        std::string::npos);  // the loader's own words
}

}  // namespace
}  // namespace gradsync
