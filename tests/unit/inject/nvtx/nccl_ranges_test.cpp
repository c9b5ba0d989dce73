#include "collectors/inject/nvtx/nccl_ranges.h"

#include <doctest/doctest.h>

#include <string>

#include "collectors/inject/nccl/calls.h"
#include "src/spool_writer/strings.h"
#include "tests/unit/inject/nvtx/schemas.h"

using namespace gradsync;
using namespace gradsync::test;

TEST_CASE("NCCL's calls, by the layouts of its versions") {
  CHECK(recorded([] {
          const auto is = [](uint32_t id, const char* text) { return std::string(spool::text_of(id)) == text; };
          const uint64_t id = kStaticSchemaStart + 5;
          const std::vector<SchemaEntry> v216 = {entry(EntryType::size, "Message size [bytes]"),
                                                 entry(kStaticSchemaStart + 11, "Reduction operation"),
                                                 entry(0, nullptr)};
          const std::vector<SchemaEntry> v225 = {
              entry(EntryType::uint64, "NCCL communicator ID"), entry(EntryType::size, "Message size [bytes]"),
              entry(kStaticSchemaStart + 11, "Reduction operation"), entry(0, nullptr)};
          // Both NCCLs in one process, one domain name, one id: sizes tell them apart. payloadStaticSize is 0, masked.
          register_schema(1, described(v216, id, SchemaField::static_size), 0);
          register_schema(1, described(v225, id, SchemaField::static_size), 0);
          struct Old {
            size_t bytes;
            int op;
          } old = {1 << 20, 2};
          struct New {
            uint64_t communicator;
            size_t bytes;
            int op;
          } now = {0xabcdef0123456789u, 4096, 0};
          const uint32_t all_reduce = nccl::call_of("ncclAllReduce");
          const PayloadBlob old_blob = {id, sizeof old, &old};
          const PayloadBlob new_blob = {id, sizeof now, &now};

          const Collective without = read_nccl_range(all_reduce, 1, nullptr);
          if (!is(without.name, "all_reduce") || without.bytes != 0 || without.group != 0) return 1;
          const Collective a = read_nccl_range(all_reduce, 1, &old_blob);
          if (a.bytes != 1 << 20 || a.group != 0 || !is(a.reduction, "max")) return 2;
          const Collective b = read_nccl_range(all_reduce, 1, &new_blob);
          if (b.bytes != 4096 || !is(b.group, "abcdef0123456789") || !is(b.reduction, "sum")) return 3;
          if (b.sequence != 0 || read_nccl_range(all_reduce, 1, &new_blob).sequence != 1) return 4;
          now.communicator = 5;
          if (read_nccl_range(all_reduce, 1, &new_blob).sequence != 0) return 5;
          now.op = 17;
          if (!is(read_nccl_range(all_reduce, 1, &new_blob).reduction, "user")) return 6;

          // Broadcast, send and receive called it otherwise before 2.25.
          const std::vector<SchemaEntry> rooted = {entry(EntryType::size, "Bytes"), entry(EntryType::int_, "Root")};
          register_schema(1, described(rooted, kStaticSchemaStart + 6), 0);
          const PayloadBlob rooted_blob = {kStaticSchemaStart + 6, sizeof old, &old};
          if (read_nccl_range(nccl::call_of("ncclBroadcast"), 1, &rooted_blob).bytes != 1 << 20) return 8;

          // NCCL 2.16's all-gather is a bare size_t.
          const std::vector<SchemaEntry> bare = {entry(EntryType::size, "Message size [bytes]")};
          register_schema(1, described(bare, kStaticSchemaStart + 4), 0);
          const size_t bytes = 12345;
          const PayloadBlob bare_blob = {kStaticSchemaStart + 4, sizeof bytes, &bytes};
          if (read_nccl_range(nccl::call_of("ncclAllGather"), 1, &bare_blob).bytes != 12345) return 7;
          return 0;
        }) == 0);
}

TEST_CASE("names of NCCL's ranges") {
  CHECK(recorded([] {
          const struct {
            const char* range;
            const char* name;
          } cases[] = {{"ncclAllReduce", "all_reduce"},
                       {"ncclReduceScatter", "reduce_scatter"},
                       {"ncclAllGather", "all_gather"},
                       {"ncclBroadcast", "broadcast"},
                       {"ncclBcast", "broadcast"},
                       {"ncclReduce", "reduce"},
                       {"ncclAlltoAll", "all_to_all"},
                       {"ncclGather", "gather"},
                       {"ncclScatter", "scatter"},
                       {"ncclSend", "send"},
                       {"ncclRecv", "recv"}};
          for (const auto& c : cases) {
            const Collective collective = read_nccl_range(nccl::call_of(c.range), 1, nullptr);
            if (std::string(spool::text_of(collective.name)) != c.name) return 1;
          }
          return nccl::call_of("ncclGroupEnd") + nccl::call_of("ncclCommInitRank") + nccl::call_of(nullptr) == 0 ? 0
                                                                                                                 : 1;
        }) == 0);
}
