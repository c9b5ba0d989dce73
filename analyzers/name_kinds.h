// What the names of a rank's operators and kernels stand for in a compressed exchange (rules/kernels.toml). Each name is
// looked at once; a pattern is tried only on names that hold one of the texts it cannot match without, because regular
// expressions over the long names of kernels would cost more than the rest of the analysis.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/model/inputs.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {

enum class WorkKind : std::uint8_t {
  none,
  error_feedback,
  low_rank,
  select,
  compact,
  quantise,
  host_pack,
  reconstruct,
};
inline constexpr std::size_t kWorkKinds = 8;
std::string_view to_string(WorkKind kind);

enum class Evidence : std::uint8_t { beside, pair, chain, codec };

struct NameKind {
  bool known = false;  // some row knows the name
  WorkKind kind = WorkKind::none;
  Evidence evidence = Evidence::chain;
  std::string_view wire;     // of the row; lives as long as the rows
  std::string_view meaning;  // likewise
  bool encodes() const { return kind != WorkKind::none && kind != WorkKind::reconstruct; }
};

// What a match must hold, for each alternative of the pattern: all of these texts. An alternative without any may match
// whatever it likes.
struct RequiredTexts {
  std::vector<std::vector<std::string>> alternatives;
  bool anchored = false;  // every alternative begins where the name begins
  bool may_match(std::string_view name) const;
};
RequiredTexts required_texts(std::string_view pattern);

class NameKinds {
 public:
  // `rows` and `rank` must outlive it.
  NameKinds(const std::vector<NameClass>& rows, const RankTimeline& rank);
  // Stays where it is, as the next.
  const NameKind& of(NameId name);
  const NameKind& with_wire(const NameKind& kind, std::string_view wire);
  NameKind work_out(std::string_view name);

 private:
  struct Row {
    const std::string* text;
    std::optional<std::regex> pattern;  // once a name may match it: most rows meet none
    RequiredTexts required;
    NameKind kind;
  };
  std::vector<Row> rows_;
  const RankTimeline& rank_;
  std::deque<NameKind> seen_;  // by NameId
  std::vector<bool> looked_;
  std::map<std::pair<const NameKind*, std::string_view>, NameKind> rewired_;
};

}  // namespace gradsync
