// An SQLite file that somebody else wrote, read row by row. It is opened read-only and immutable: nothing is written
// beside it, and no SQL text of the file is executed (views, triggers, virtual tables, generated columns). Damage ends
// the rows of one table, not the reading.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "src/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace gradsync {

// The rows of one table in the order they are stored. Columns are numbered as they were asked for.
class NsysRows {
 public:
  NsysRows(sqlite3* database, std::string table, std::string select, std::uint64_t most_rows);

  bool next();
  // A whole number; nothing when it is NULL, of another type, or the table has no such column.
  std::optional<std::int64_t> integer(int column) const;
  std::optional<double> real(int column) const;
  // Valid until next(). Empty when it is neither text nor a blob.
  std::string_view text(int column) const;

  // Why the rows ended too early; empty when they did not.
  const std::string& damage() const { return damage_; }
  std::uint64_t oversized() const { return oversized_; }  // rows with a value of more than 16 MB: skipped

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  void prepare(const std::string& sql);
  bool skip_oversized();

  sqlite3* database_;
  std::string table_, select_;
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  std::uint64_t rows_ = 0, most_rows_, oversized_ = 0;
  std::string damage_;
};

class NsysDatabase {
 public:
  // Errors: not readable, not SQLite, or so damaged that its list of tables cannot be read.
  static Result<NsysDatabase> open(const std::filesystem::path& path);

  bool has(std::string_view table) const { return tables_.find(table) != tables_.end(); }
  bool has(std::string_view table, std::string_view column) const;
  // `id` is the key by which SQLite finds a row at once.
  bool is_key(std::string_view table, std::string_view column) const;

  // Columns that the table does not have are NULL in every row; a table that is missing has no rows. "a|b": the first
  // of several columns that is not NULL.
  NsysRows rows(std::string_view table, std::span<const std::string_view> columns) const;
  // The text of one row, by its key.
  std::optional<std::string> text_of(std::string_view table, std::string_view key, std::string_view column,
                                     std::int64_t id) const;

  bool cut() const { return cut_; }  // the file is shorter than its first page says

 private:
  struct Closer {
    void operator()(sqlite3* database) const;
  };
  struct Table {
    std::set<std::string, std::less<>> columns;
    std::string key;  // INTEGER PRIMARY KEY; empty = none
  };
  NsysDatabase() = default;
  Result<void> find_tables(const std::filesystem::path& path);
  Table columns_of(const std::string& table) const;
  std::string expression_of(std::string_view table, std::string_view columns) const;

  std::unique_ptr<sqlite3, Closer> database_;
  std::map<std::string, Table, std::less<>> tables_;
  mutable std::unique_ptr<sqlite3_stmt, void (*)(sqlite3_stmt*)> lookup_{nullptr, nullptr};
  mutable std::string lookup_sql_;
  std::uint64_t bytes_ = 0;
  bool cut_ = false;
};

}  // namespace gradsync
