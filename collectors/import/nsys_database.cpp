#include "collectors/import/nsys_database.h"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <vector>

#include "src/base/file.h"

namespace gradsync {
namespace {

constexpr int kMostValueBytes = 16 << 20;
constexpr std::uint64_t kFewestRowBytes = 4;  // of a file; pages that are linked in circles hold more rows than that
constexpr int kHeaderBytes = 100;
constexpr std::string_view kMagic{"SQLite format 3\0", 16};

std::string identifier(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

// Only what this file asks for; a schema cannot smuggle in a function or a write.
int allow(void*, int action, const char* first, const char* second, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return second != nullptr && std::string_view(second) == "coalesce" ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_PRAGMA:
      return first != nullptr && std::string_view(first) == "table_info" ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

// "?", "#" and "%" have a meaning in a URI, and so has a second slash at its beginning.
std::string immutable_uri(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).lexically_normal().string()) {
    const bool special = c == '?' || c == '#' || c == '%';
    constexpr std::string_view hex = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    uri += special ? std::string{'%', hex[byte >> 4], hex[byte & 15]} : std::string(1, c);
  }
  return uri + "?mode=ro&immutable=1";
}

struct Header {
  std::string bytes;
  std::uint64_t file_bytes = 0;

  std::uint64_t number(std::size_t at, std::size_t count) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
  }
  // Its size in pages counts only when the two change counters agree (SQLite before 3.7 did not write it).
  bool is_cut() const {
    const std::uint64_t page = number(16, 2) == 1 ? 65536 : number(16, 2);
    return number(24, 4) == number(92, 4) && page * number(28, 4) > file_bytes;
  }
};

Result<Header> read_header(const std::filesystem::path& path) {
  const auto because = [&](std::string why, std::string hint) {
    return Error{"cannot read", path.string(), std::move(why), std::move(hint), 3};
  };
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{"cannot open", path.string(), errno_text(errno), "", 3};
  Header header;
  header.bytes.resize(kHeaderBytes);
  file.read(header.bytes.data(), kHeaderBytes);
  header.bytes.resize(static_cast<std::size_t>(file.gcount()));
  if (header.bytes.starts_with("\x1f\x8b")) return because("it is compressed", "unpack it with gunzip");
  if (!header.bytes.starts_with(kMagic)) return because("it is not an SQLite database", "");
  if (header.bytes.size() < kHeaderBytes) return because("it ends in its first page", "");
  std::error_code ignored;
  header.file_bytes = std::filesystem::file_size(path, ignored);
  return header;
}

void harden(sqlite3* database) {
  for (const int option : {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_TRUSTED_SCHEMA,
                           SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION})
    sqlite3_db_config(database, option, 0, nullptr);
  // Nothing can be written to an immutable file; with this SQLite reads what is there of one that was cut, and leaves
  // out entries of its list of tables that it does not understand.
  sqlite3_db_config(database, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kMostValueBytes);
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_set_authorizer(database, allow, nullptr);
}

}  // namespace

void NsysRows::Finalizer::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

NsysRows::NsysRows(sqlite3* database, std::string table, std::string select, std::uint64_t most_rows)
    : database_(database), table_(std::move(table)), select_(std::move(select)), most_rows_(most_rows) {
  if (!table_.empty()) prepare("SELECT " + select_ + " FROM " + identifier(table_));
}

void NsysRows::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_, sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK)
    damage_ = sqlite3_errmsg(database_);
  statement_.reset(statement);
}

bool NsysRows::next() {
  while (statement_ != nullptr) {
    const int status = sqlite3_step(statement_.get());
    if (status == SQLITE_ROW && rows_++ < most_rows_) return true;
    if (status == SQLITE_TOOBIG && skip_oversized()) continue;
    if (status == SQLITE_ROW)
      damage_ = "its pages are linked in circles";
    else if (status != SQLITE_DONE)
      damage_ = sqlite3_errmsg(database_);
    statement_.reset();
  }
  return false;
}

// The row that could not be read is the one behind those that were; a table without rowids ends here.
bool NsysRows::skip_oversized() {
  prepare("SELECT rowid FROM " + identifier(table_) + " LIMIT 1 OFFSET " + std::to_string(rows_ + oversized_));
  if (statement_ == nullptr || sqlite3_step(statement_.get()) != SQLITE_ROW) return false;
  ++oversized_;
  const std::string behind = std::to_string(sqlite3_column_int64(statement_.get(), 0));
  prepare("SELECT " + select_ + " FROM " + identifier(table_) + " WHERE rowid > " + behind);
  return statement_ != nullptr;
}

// Asking for the value once is half the price of asking for type and number; one thread uses the connection.
std::optional<std::int64_t> NsysRows::integer(int column) const {
  sqlite3_value* value = sqlite3_column_value(statement_.get(), column);
  if (sqlite3_value_type(value) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_value_int64(value);
}

std::optional<double> NsysRows::real(int column) const {
  sqlite3_value* value = sqlite3_column_value(statement_.get(), column);
  if (sqlite3_value_type(value) != SQLITE_FLOAT) return std::nullopt;
  return sqlite3_value_double(value);
}

std::string_view NsysRows::text(int column) const {
  sqlite3_value* value = sqlite3_column_value(statement_.get(), column);
  const int type = sqlite3_value_type(value);
  if (type != SQLITE_TEXT && type != SQLITE_BLOB) return {};
  const void* bytes = sqlite3_value_blob(value);
  const int length = sqlite3_value_bytes(value);
  return bytes == nullptr ? std::string_view{}
                          : std::string_view(static_cast<const char*>(bytes), static_cast<std::size_t>(length));
}

void NsysDatabase::Closer::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<NsysDatabase> NsysDatabase::open(const std::filesystem::path& path) {
  const Result<Header> header = read_header(path);
  if (!header) return header.error();
  NsysDatabase opened;
  opened.bytes_ = header->file_bytes;
  opened.cut_ = header->is_cut();
  sqlite3* database = nullptr;
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  const int status = sqlite3_open_v2(immutable_uri(path).c_str(), &database, flags, nullptr);
  opened.database_.reset(database);
  if (status != SQLITE_OK)
    return Error{"cannot open", path.string(), database == nullptr ? "out of memory" : sqlite3_errmsg(database), "", 3};
  harden(database);
  if (const Result<void> found = opened.find_tables(path); !found) return found.error();
  return opened;
}

Result<void> NsysDatabase::find_tables(const std::filesystem::path& path) {
  constexpr std::size_t kMostTables = 4096;
  // A root page of 0 is a virtual table.
  NsysRows rows(database_.get(), "sqlite_schema", "type, name, rootpage", bytes_ / kFewestRowBytes);
  std::vector<std::string> names;
  while (rows.next() && names.size() < kMostTables)
    if (rows.text(0) == "table" && rows.integer(2).value_or(0) > 0) names.emplace_back(rows.text(1));
  if (names.empty() && !rows.damage().empty())
    return Error{"cannot read", path.string(), rows.damage(), "export it again with nsys export --type sqlite", 3};
  for (const std::string& name : names) tables_.try_emplace(name, columns_of(name));
  return {};
}

NsysDatabase::Table NsysDatabase::columns_of(const std::string& table) const {
  Table found;
  sqlite3_stmt* statement = nullptr;
  const std::string sql = "PRAGMA table_info(" + identifier(table) + ")";
  if (sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return found;
  int keys = 0;
  while (sqlite3_step(statement) == SQLITE_ROW) {  // cid, name, type, notnull, default, place in the primary key
    const auto text = [&](int column) {
      const auto* value = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      return std::string(value == nullptr ? "" : value);
    };
    found.columns.insert(text(1));
    if (sqlite3_column_int(statement, 5) == 0) continue;
    ++keys;
    found.key = text(2) == "INTEGER" ? text(1) : "";
  }
  if (keys != 1) found.key.clear();
  sqlite3_finalize(statement);
  return found;
}

bool NsysDatabase::has(std::string_view table, std::string_view column) const {
  const auto found = tables_.find(table);
  return found != tables_.end() && found->second.columns.contains(column);
}

bool NsysDatabase::is_key(std::string_view table, std::string_view column) const {
  const auto found = tables_.find(table);
  return found != tables_.end() && found->second.key == column;
}

std::string NsysDatabase::expression_of(std::string_view table, std::string_view columns) const {
  std::string found;
  int count = 0;
  while (!columns.empty()) {
    const std::string_view column = columns.substr(0, columns.find('|'));
    columns.remove_prefix(std::min(columns.size(), column.size() + 1));
    if (!has(table, column)) continue;
    found += (count++ == 0 ? "" : ", ") + identifier(column);
  }
  if (count == 0) return "NULL";
  return count == 1 ? found : "coalesce(" + found + ")";
}

NsysRows NsysDatabase::rows(std::string_view table, std::span<const std::string_view> columns) const {
  std::string select;
  for (const std::string_view column : columns) select += (select.empty() ? "" : ", ") + expression_of(table, column);
  return {database_.get(), has(table) ? std::string(table) : "", select, bytes_ / kFewestRowBytes};
}

std::optional<std::string> NsysDatabase::text_of(std::string_view table, std::string_view key, std::string_view column,
                                                 std::int64_t id) const {
  const std::string sql =
      "SELECT " + identifier(column) + " FROM " + identifier(table) + " WHERE " + identifier(key) + " = ?";
  if (sql != lookup_sql_) {
    sqlite3_stmt* prepared = nullptr;
    sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &prepared, nullptr);
    lookup_ = {prepared, [](sqlite3_stmt* statement) { sqlite3_finalize(statement); }};
    lookup_sql_ = sql;
  }
  if (lookup_ == nullptr) return std::nullopt;
  std::optional<std::string> found;
  sqlite3_bind_int64(lookup_.get(), 1, id);
  if (sqlite3_step(lookup_.get()) == SQLITE_ROW && sqlite3_column_type(lookup_.get(), 0) == SQLITE_TEXT)
    found.emplace(reinterpret_cast<const char*>(sqlite3_column_text(lookup_.get(), 0)),
                  static_cast<std::size_t>(sqlite3_column_bytes(lookup_.get(), 0)));
  sqlite3_reset(lookup_.get());
  return found;
}

}  // namespace gradsync
