#include "collectors/fabric/nccl_place.h"

#include <doctest/doctest.h>

using namespace gradsync;

namespace {

const std::vector<NcclHello> kTwoHosts = {{"a", 2, 22809}, {"b", 2, 22809}, {"a", 2, 22809}, {"b", 2, 22809}};

}  // namespace

TEST_CASE("place: the n-th rank of a host takes its n-th GPU, and begins again when they run out") {
  CHECK(device_of(kTwoHosts, 0) == 0);
  CHECK(device_of(kTwoHosts, 1) == 0);
  CHECK(device_of(kTwoHosts, 2) == 1);
  CHECK(device_of(kTwoHosts, 3) == 1);
  const std::vector<NcclHello> one_visible_each = {{"a", 1, 22809}, {"a", 1, 22809}};
  CHECK(device_of(one_visible_each, 1) == 0);
  CHECK(ranks_per_host(kTwoHosts) == std::vector<int>{2, 2});
  CHECK(ranks_per_host({{"a", 2, 1}, {"b", 2, 1}, {"a", 2, 1}}) == std::vector<int>{2, 1});
}

TEST_CASE("place: two ranks on one GPU are refused, the same bus id on two hosts is not") {
  CHECK(gpus_differ(kTwoHosts, {"01", "01", "02", "02"}));
  CHECK(gpus_differ(kTwoHosts, {"", "", "", ""}));  // CUDA did not tell: NCCL will see
  const auto refused = gpus_differ(kTwoHosts, {"01", "01", "01", "02"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message() ==
        "two ranks on one GPU (ranks 0 and 2 on 01): NCCL 2.28.9 gives each rank a GPU of its own, this host shows 2");
  CHECK(refused.error().hint.find("NCCL_MULTI_RANK_GPU_ENABLE=1") != std::string::npos);
}

TEST_CASE("place: one GPU for several ranks from NCCL 2.30 on, when asked for") {
  CHECK(shared_gpu(23007, "1") == SharedGpu::allowed);
  CHECK(shared_gpu(23007, "") == SharedGpu::refused);
  CHECK(shared_gpu(23007, "0") == SharedGpu::refused);
  CHECK(shared_gpu(22907, "1") == SharedGpu::refused);
}

TEST_CASE("place: ranks with different NCCL are refused by name") {
  CHECK(same_versions(kTwoHosts));
  const auto differ = same_versions({{"a", 1, 22809}, {"b", 1, 22809}, {"c", 1, 22705}});
  REQUIRE_FALSE(differ);
  CHECK(differ.error().message() == "ranks have different versions of NCCL: rank 0 has 2.28.9, rank 2 has 2.27.5");
}

TEST_CASE("place: what a rank says survives the way, and what is no such word is refused") {
  const auto back = hellos_of({to_words({"node-1/4f", 8, 23007}), to_words({"node-2/77", 4, 23007})});
  REQUIRE(back);
  CHECK((*back)[1].host == "node-2/77");
  CHECK((*back)[1].devices == 4);
  CHECK((*back)[1].nccl_version == 23007);
  for (const char* word : {"", "host", "host 1", "host x 2", "host 1 2x", "host 1 2 3"}) {
    const auto refused = hellos_of({to_words({"a", 1, 1}), word});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find("rank 1: it said: ") != std::string::npos);
  }
}
