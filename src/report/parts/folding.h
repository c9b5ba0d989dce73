// Which fired findings are shown below others, as what those explain.
#pragma once

#include <map>
#include <vector>

#include "src/model/report.h"

namespace gradsync {

// Which fired finding each fired finding is shown below; nothing: it gets a number of its own.
class Folding {
 public:
  explicit Folding(const Report& report);

  std::vector<const Finding*> numbered() const { return below(nullptr); }
  std::vector<const Finding*> below(const Finding* top) const;

 private:
  const Finding* cause_of(const Finding& finding) const;
  const Finding* root_of(const Finding& finding) const;

  std::vector<const Finding*> fired_;
  std::map<const Finding*, const Finding*> top_;
};

}  // namespace gradsync
