// What the parts of the verifier share: inputs, one run of a load, norms in double.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "loads/verify.h"

namespace gradsync::verify_parts {

struct Subject {
  MakeLoad make;
  LoadOptions options;
  LoadTraits traits;
};

struct Input {
  std::string name;
  std::vector<float> values;
};

std::vector<float> normal_numbers(std::int64_t n, std::uint64_t seed);
// Normal, of widely different sizes, all of one size, zeros of both signs, denormals, one that is not zero.
std::vector<Input> inputs_of(std::int64_t n);
// 0, 1, around the widths of words, vectors and blocks, and large enough for samples.
std::vector<std::int64_t> sizes();

struct Run {
  Payload payload;
  std::vector<float> decoded;
  std::optional<HistogramCount> histogram;
  std::string error;  // prepare() failed
};
// First step of a fresh load.
Run run_once(const Subject& subject, const LoadOptions& options, std::span<const float> x);

double dot(std::span<const float> x, std::span<const float> y);
double squared_distance(std::span<const float> x, std::span<const float> y);
double largest_magnitude(std::span<const float> x);
bool same_payload(const Payload& a, const Payload& b);

bool selects(LoadKind kind);  // by magnitude

// A check that is made on many inputs: it holds when none contradicts, and names the first that does.
class Gathered {
 public:
  Gathered(std::string id, std::string what) : check_{std::move(id), std::move(what), true, ""} {}
  void expect(bool holds, const std::string& measured) {
    ++cases_;
    if (holds || !check_.passed) return;
    check_.passed = false;
    check_.measured = measured;
  }
  // Nothing was compared: no check.
  void add_to(std::vector<Check>& checks) const;

 private:
  Check check_;
  std::int64_t cases_ = 0;
};

void check_feedback(const Subject& subject, std::vector<Check>& checks);      // V1
void check_selection(const Subject& subject, std::vector<Check>& checks);     // V2 V8
void check_round_trips(const Subject& subject, std::vector<Check>& checks);   // V3
void check_not_finite(const Subject& subject, std::vector<Check>& checks);    // V3
void check_contraction(const Subject& subject, std::vector<Check>& checks);   // V4
void check_unbiased(const Subject& subject, std::vector<Check>& checks);      // V5
void check_closed_forms(const Subject& subject, std::vector<Check>& checks);  // V6
void check_low_rank(const Subject& subject, std::vector<Check>& checks);      // V7
void check_repeatable(const Subject& subject, std::vector<Check>& checks);    // V9

}  // namespace gradsync::verify_parts
