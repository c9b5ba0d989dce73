// The launcher's side of NCCL: which variables the job gets, and when ours stays away.
#include "collectors/attach/nccl_attach.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "collectors/attach/attach.h"
#include "tests/support/folder.h"

using namespace gradsync;

namespace {

CollectorContext context_of(const std::string& nccl, std::vector<std::string> command = {"/bin/true"}) {
  CollectorContext context;
  context.library = GSD_TEST_LIBRARY;
  context.command_line = std::move(command);
  context.options = {{"nccl", nccl}};
  return context;
}

Environment started(const std::unique_ptr<Collector>& collector, const std::string& nccl, Environment environment) {
  REQUIRE(collector->start(context_of(nccl), environment));
  return environment;
}

}  // namespace

TEST_CASE("--nccl: what is asked for") {
  CHECK_FALSE(nccl_wishes("auto")->calls);
  CHECK(nccl_wishes("off")->off);
  const Result<NcclWishes> all = nccl_wishes("calls,kernels,proxy");
  REQUIRE(all);
  CHECK((all->calls && all->kernels && all->proxy && !all->off));
  CHECK((nccl_wishes("times")->times && nccl_wishes("times")->calls));  // the wrappers record the events
  for (const char* wrong : {"everything", "calls,", "calls,auto", ",", " calls"})
    CHECK_MESSAGE(!nccl_wishes(wrong), wrong);
}

TEST_CASE("another plug-in is chained when it speaks whatever NCCL will choose of ours") {
  for (const std::set<int>& yes :
       {std::set<int>{5}, {4}, {4, 5}, {1, 2, 3, 4}, {1, 2, 3, 4, 5}, {5, 6}, {3, 4}, {6}, {4, 6}})
    CHECK(can_chain(yes));
  for (const std::set<int>& no : {std::set<int>{}, {3}, {1, 2}, {7}, {5, 7}, {2, 4}}) CHECK_FALSE(can_chain(no));
}

TEST_CASE("versions of a plug-in, asked in a process of its own") {
  CHECK(plugin_versions(GSD_TEST_PLUGIN_V45) == std::set<int>{4, 5});
  CHECK(plugin_versions(GSD_TEST_PLUGIN_V56) == std::set<int>{5, 6});
  CHECK(plugin_versions(GSD_TEST_LIBRARY) == std::set<int>{1, 2, 3, 4, 5, 6});
  CHECK(plugin_versions("/nowhere/libplugin.so").empty());
  CHECK(plugin_versions("STATIC_PLUGIN").empty());
}

TEST_CASE("the plug-in's variables") {
  const Environment plain = started(make_nccl_plugin_attach(), "auto", {});
  CHECK(plain.at("NCCL_PROFILER_PLUGIN") == GSD_TEST_LIBRARY);
  CHECK_FALSE(plain.contains("GSD_NCCL_EVENTS"));
  CHECK_FALSE(plain.contains("GSD_NEXT_NCCL_PROFILER"));
  CHECK(started(make_nccl_plugin_attach(), "kernels,proxy", {}).at("GSD_NCCL_EVENTS") == "kernels,proxy");
  const Environment timed = started(make_nccl_calls_attach(), "times", {{"GSD_NCCL_EVENTS", "kernels"}});
  CHECK(timed.at("GSD_NCCL_EVENTS") == "kernels,times");
  CHECK(timed.at("LD_PRELOAD") == GSD_TEST_LIBRARY);
  CHECK_FALSE(started(make_nccl_calls_attach(), "calls", {}).contains("GSD_NCCL_EVENTS"));
  const Environment chained =
      started(make_nccl_plugin_attach(), "auto", {{"NCCL_PROFILER_PLUGIN", GSD_TEST_PLUGIN_V45}});
  CHECK(chained.at("NCCL_PROFILER_PLUGIN") == GSD_TEST_LIBRARY);
  CHECK(chained.at("GSD_NEXT_NCCL_PROFILER") == GSD_TEST_PLUGIN_V45);
}

TEST_CASE("the plug-in stays away") {
  struct Case {
    std::string nccl, value, why;
  };
  for (const Case& entry :
       {Case{"auto", GSD_TEST_PLUGIN_V2, "speaks only v2"}, Case{"auto", "None", "forbids plug-ins"},
        Case{"off", "", "not asked for"}, Case{"wrong", "", "neither auto"}}) {
    const auto collector = make_nccl_plugin_attach();
    Environment environment{{"NCCL_PROFILER_PLUGIN", entry.value}};
    const Environment before = environment;
    const Result<void> refused = collector->start(context_of(entry.nccl), environment);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find(entry.why) != std::string::npos);
    CHECK(environment == before);
  }
}

TEST_CASE("wrappers are preloaded where NCCL's ranges tell too little, before what is preloaded already") {
  CHECK_FALSE(started(make_nccl_calls_attach(), "auto", {}).contains("LD_PRELOAD"));
  CHECK_FALSE(started(make_nccl_calls_attach(), "off", {{"NCCL_NVTX_DISABLE", "1"}}).contains("LD_PRELOAD"));
  CHECK_FALSE(started(make_nccl_calls_attach(), "auto", {{"NCCL_NVTX_DISABLE", "0"}}).contains("LD_PRELOAD"));
  CHECK(started(make_nccl_calls_attach(), "auto", {{"NCCL_NVTX_DISABLE", "1"}}).at("LD_PRELOAD") == GSD_TEST_LIBRARY);
  CHECK(started(make_nccl_calls_attach(), "calls", {{"LD_PRELOAD", "/lib/other.so"}}).at("LD_PRELOAD") ==
        GSD_TEST_LIBRARY ":/lib/other.so");
}

TEST_CASE("the interpreter says whether its NCCL is too old") {
  const test::Folder folder;
  for (const auto& [version, why] : {std::pair{"2.14.3", "its NCCL is older than 2.16"}, {"2.21.5", ""}}) {
    for (const char* name : {"nvidia_nccl_cu11", "nvidia_nccl_cu12", "nvidia_nccl_cu13"}) {
      folder.put(std::string(name) + "-0.dist-info/METADATA",
                 std::string("Metadata-Version: 2.1\nName: ") + name + "\nVersion: " + version + "\n");
    }
    const Environment environment{{"PYTHONPATH", folder.path().string()}, {"PATH", "/usr/bin:/bin"}};
    CHECK(why_ranges_lack_sizes(context_of("auto", {"python3", "train.py"}), environment) == why);
  }
}

TEST_CASE("a library that cannot be preloaded is not set") {
  for (const char* path : {"/nowhere/lib.so", "/with a blank/lib.so"}) {
    CollectorContext context = context_of("calls");
    context.library = path;
    Environment environment;
    CHECK_FALSE(make_nccl_calls_attach()->start(context, environment));
    CHECK(environment.empty());
  }
}

TEST_CASE("a preload of ours that kills programs is told, one of the user's is not blamed on us") {
  const std::string killer = GSD_TEST_KILLER;
  CHECK(try_environment("/bin/true", {{"GSD_LIBRARY", killer}, {"LD_PRELOAD", killer}}) == "the program exited with 3");
  CHECK(try_environment("/bin/true", {{"GSD_LIBRARY", killer}, {"LD_PRELOAD", killer + ":" GSD_TEST_LIBRARY}}) ==
        "the program exited with 3");
  CHECK(try_environment("/bin/true", {{"GSD_LIBRARY", GSD_TEST_LIBRARY}, {"LD_PRELOAD", GSD_TEST_LIBRARY ":" + killer}})
            .empty());
}
