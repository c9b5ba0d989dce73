#include "collectors/fabric/nccl_library.h"

#include <doctest/doctest.h>

#include "collectors/fabric/cuda_library.h"

using namespace gradsync;

TEST_CASE("versions as text") {
  CHECK(nccl_version_text(22809) == "2.28.9");
  CHECK(nccl_version_text(21003) == "2.10.3");
  CHECK(nccl_version_text(2708) == "2.7.8");
  CHECK(cuda_version_text(13000) == "13.0");
  CHECK(cuda_version_text(11040) == "11.4");
}
