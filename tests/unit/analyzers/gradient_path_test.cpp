#include "analyzers/gradient_path.h"

#include <doctest/doctest.h>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;

namespace {

GradientPath path_of(const std::string& facts, const std::string& body) {
  const auto ranks =
      test::timelines("process host=n pid=1\nfact rank=0 " + facts + "\n" + test::repeat_step(20, 100000, body));
  return find_gradient_path(ranks.at(0), Inputs{});
}

const std::string kBackward =
    "range forward @0..@20000\nrange backward @20000..@50000\nrange optimizer @80000..@100000\n";

}  // namespace

TEST_CASE("how gradients travel, by what is seen") {
  struct Case {
    const char *what, *facts, *body, *compression;
    Place place;
    bool framework_syncs;
  };
  for (const Case& c : {
           Case{"plain DDP", "framework=ddp hook.kind=none", "", "none", Place::none, true},
           Case{"manual dense all-reduce", "ddp.gradient_bytes=4000000",
                "collective all_reduce @60000..@70000 bytes=4000000 elements=1000000 dtype=float32", "none",
                Place::after_backward, false},
           Case{"half the bits", "ddp.gradient_bytes=4000000",
                "collective all_reduce @60000..@70000 bytes=2000000 elements=1000000 dtype=float16", "fp16",
                Place::after_backward, false},
           Case{"bfloat16 is not float16", "ddp.gradient_bytes=4000000",
                "collective all_reduce @60000..@70000 bytes=2000000 elements=1000000 dtype=bfloat16", "bf16",
                Place::after_backward, false},
           Case{"bytes of codes", "ddp.gradient_bytes=4000000",
                "collective all_gather @60000..@70000 bytes=1000000 elements=1000000 dtype=uint8", "quantized",
                Place::after_backward, false},
           Case{"few bytes of an unknown kind", "ddp.gradient_bytes=4000000",
                "collective all_gather @60000..@70000 bytes=80000 elements=20000 dtype=float32", "custom",
                Place::after_backward, false},
           Case{"few bytes, gradient size unknown: cannot tell", "",
                "collective all_gather @60000..@70000 bytes=80000 elements=20000 dtype=float32", "",
                Place::after_backward, false},
           Case{"torch's fp16 hook", "framework=ddp hook.kind=fp16_compress hook.name=fp16_compress_hook",
                "collective all_reduce @30000..@70000 hook=1 bytes=2000000 elements=1000000 dtype=float16", "fp16",
                Place::hook, false},
           Case{"torch's plain hook", "framework=ddp hook.kind=allreduce hook.name=allreduce_hook",
                "collective all_reduce @30000..@70000 hook=1 bytes=4000000 elements=1000000 dtype=float32", "none",
                Place::hook, false},
           Case{"the loss is averaged: no gradient", "framework=ddp hook.kind=none",
                "collective all_reduce @60000..@70000 bytes=4 elements=1 dtype=float32", "none", Place::none, true},
       }) {
    CAPTURE(c.what);
    const GradientPath path = path_of(c.facts, kBackward + c.body);
    CHECK(path.compression == c.compression);
    CHECK(path.place == c.place);
    CHECK(path.framework_syncs == c.framework_syncs);
  }
}

TEST_CASE("a hook that has not reached its start step does not compress yet") {
  const std::string body =
      kBackward + "collective all_reduce @30000..@70000 hook=1 bytes=4000000 dtype=float32 elements=1000000";
  const GradientPath early = path_of("framework=ddp hook.kind=powersgd hook.name=h hook.start_step=1000", body);
  CHECK(early.compression == "powersgd");
  CHECK_FALSE(early.started);
  CHECK_FALSE(early.compresses());
  CHECK(path_of("framework=ddp hook.kind=powersgd hook.name=h hook.start_step=5", body).compresses());
}

TEST_CASE("selection operators in the deep window name the compression when the wire does not") {
  const std::string wire = "collective all_reduce @60000..@70000 bytes=80000 elements=20000 dtype=float32\n";
  const std::string after = "range none @55000..@56000 source=profiler name=aten::topk";
  const std::string in_forward = "range none @5000..@6000 source=profiler name=aten::topk";
  CHECK(path_of("", kBackward + wire + after).compression == "topk");
  CHECK(path_of("", kBackward + wire + in_forward).compression == "");  // a model's own topk (routing, beam search)
}

TEST_CASE("a deep window that saw no all-reduce says that the framework does not synchronise") {
  const std::string facts = "process host=n pid=1\nfact rank=0 framework=ddp hook.kind=none\n";
  const std::string deep =
      "step 20 2000000..2100000 deep=1\nrange none 2000010..2000020 source=profiler name=aten::mm\n";
  const std::string reduced = "collective all_reduce 2050000..2060000 source=profiler\n";
  const std::string plain = facts + test::repeat_step(20, 100000, kBackward);
  const auto syncs = [](const std::string& text) {
    return find_gradient_path(test::timelines(text).at(0), Inputs{}).framework_syncs;
  };
  CHECK(syncs(plain));
  CHECK_FALSE(syncs(plain + deep));
  CHECK(syncs(plain + deep + reduced));
}
