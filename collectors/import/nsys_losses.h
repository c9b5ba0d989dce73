// What of an export could not be imported, counted by reason. One import's; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "collectors/import/nsys_database.h"

namespace gradsync {

class NsysLosses {
 public:
  // "CUPTI_ACTIVITY_KIND_KERNEL: 3 rows without a valid time"
  void rows(std::string_view table, std::string_view without, std::uint64_t count = 1) {
    rows_[{std::string(table), std::string(without)}] += count;
  }
  // A table is read once for each rank; its damage is the same each time, and how much is behind it nobody knows.
  void ended(std::string_view table, const NsysRows& rows) {
    if (!rows.damage().empty()) file(std::string(table) + ": the rest cannot be read: " + rows.damage());
    if (rows.oversized() > 0) rows_[{std::string(table), "of more than 16 MB"}] = rows.oversized();
  }
  void file(const std::string& why) { once_.insert(why); }

  // Reason in words → how many.
  std::map<std::string, std::uint64_t> told() const {
    std::map<std::string, std::uint64_t> all;
    for (const std::string& why : once_) all[why] = 1;
    for (const auto& [what, count] : rows_)
      all[what.first + ": " + std::to_string(count) + (count == 1 ? " row " : " rows ") + what.second] = count;
    return all;
  }

 private:
  std::map<std::pair<std::string, std::string>, std::uint64_t> rows_;
  std::set<std::string> once_;
};

}  // namespace gradsync
