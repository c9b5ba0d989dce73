#include "collectors/fabric/backend.h"

#include <doctest/doctest.h>

namespace gradsync {

TEST_CASE("operations and types have the words of the command line, and nothing else has") {
  for (const char* word : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv"}) {
    REQUIRE(fabric_operation(word));
    CHECK(std::string(to_string(*fabric_operation(word))) == word);
  }
  for (const char* word : {"float", "half", "int8"}) {
    REQUIRE(element_type(word));
    CHECK(std::string(to_string(*element_type(word))) == word);
  }
  for (const char* word : {"", "allreduce", "ALL_REDUCE", "all_reduce "}) CHECK(!fabric_operation(word));
  CHECK(!element_type("double"));
}

TEST_CASE("a vector has at least its bytes, one element, and parts of one size where it is cut") {
  struct Row {
    FabricOperation operation;
    ElementType type;
    std::int64_t bytes;
    int ranks;
    std::int64_t elements;
  };
  const Row rows[] = {{FabricOperation::all_reduce, ElementType::float32, 1024, 3, 256},
                      {FabricOperation::all_reduce, ElementType::float32, 1, 2, 1},
                      {FabricOperation::all_reduce, ElementType::float32, 1025, 2, 257},
                      {FabricOperation::broadcast, ElementType::float16, 3, 8, 2},
                      {FabricOperation::send_recv, ElementType::int8, 7, 3, 7},
                      {FabricOperation::all_gather, ElementType::float32, 1024, 3, 258},
                      {FabricOperation::reduce_scatter, ElementType::int8, 1, 8, 8},
                      {FabricOperation::all_to_all, ElementType::float16, 1024, 2, 512},
                      {FabricOperation::all_reduce, ElementType::int8, INT64_MAX - 7, 2, INT64_MAX - 7}};
  for (const Row& row : rows) {
    CAPTURE(row.bytes);
    CHECK(elements_of(row.operation, row.type, row.bytes, row.ranks) == row.elements);
  }
}

}  // namespace gradsync
