#include "src/model/vocabulary.h"

#include <doctest/doctest.h>

using namespace gradsync;

TEST_CASE("words and values are each other's inverse") {
  for (int value = 0; value <= 18; ++value) {
    const Kind kind = static_cast<Kind>(value);
    if (to_string(kind) != "empty") CHECK(kind_from(to_string(kind)) == kind);
  }
  for (int value = 0; value <= 6; ++value)
    CHECK(phase_from(to_string(static_cast<Phase>(value))) == static_cast<Phase>(value));
  CHECK(kind_from("nonsense") == Kind::empty);
  CHECK(phase_from("nonsense") == Phase::none);
  CHECK(to_string(static_cast<Source>(200)) == "unknown");
}
