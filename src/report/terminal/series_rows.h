// Rows of a series by the names of their columns. What is not there is nothing.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "src/model/report.h"

namespace gradsync {

class SeriesRows {
 public:
  SeriesRows(const Report& report, std::string_view name) {
    const auto found = report.series.find(std::string(name));
    if (found != report.series.end()) series_ = &found->second;
  }
  std::size_t size() const { return series_ == nullptr ? 0 : series_->rows.size(); }

  std::string text(std::size_t row, std::string_view column) const {
    const Cell* found = cell(row, column);
    const auto* text = found == nullptr ? nullptr : std::get_if<std::string>(found);
    return text == nullptr ? std::string() : *text;
  }

  std::optional<double> number(std::size_t row, std::string_view column) const {
    const Cell* found = cell(row, column);
    if (found == nullptr) return std::nullopt;
    if (const auto* whole = std::get_if<std::int64_t>(found)) return static_cast<double>(*whole);
    const auto* number = std::get_if<double>(found);
    return number == nullptr || !std::isfinite(*number) ? std::nullopt : std::optional(*number);
  }

 private:
  const Cell* cell(std::size_t row, std::string_view column) const {
    for (std::size_t i = 0; series_ != nullptr && i < series_->columns.size(); ++i)
      if (series_->columns[i] == column && row < series_->rows.size() && i < series_->rows[row].size())
        return &series_->rows[row][i];
    return nullptr;
  }

  const Series* series_ = nullptr;
};

}  // namespace gradsync
