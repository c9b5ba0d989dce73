// Which fired finding each fired finding is shown below: one that another explains stands under it.
#pragma once

#include <map>
#include <vector>

#include "src/model/report.h"

namespace gradsync {

class Folding {
 public:
  explicit Folding(const Report& report);
  std::vector<const Finding*> numbered() const;  // those with a number of their own, in the report's order
  std::vector<const Finding*> below(const Finding* top) const;

 private:
  const Finding* cause_of(const Finding& finding) const;
  const Finding* root_of(const Finding& finding) const;

  std::vector<const Finding*> fired_;
  std::map<const Finding*, const Finding*> top_;  // null: it has a number of its own
};

}  // namespace gradsync
