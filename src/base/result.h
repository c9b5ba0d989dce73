// Result<T>: a value, or an Error that says what failed, on what, why, and the command that helps.
// Functions that can fail return it; only main prints an Error.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace gradsync {

struct Error {
  std::string what;  // "cannot read recording"
  std::string on;    // the path, pid or event
  std::string why;   // errno text or parser position
  std::string hint;  // the command or change that helps; may be empty
  int exit_status = 3;

  // "cannot read recording /tmp/x: No such file or directory" (the hint is printed on its own line)
  std::string message() const {
    std::string text = what;
    if (!on.empty()) text += " " + on;
    if (!why.empty()) text += ": " + why;
    return text;
  }
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return std::holds_alternative<T>(state_); }
  T& value() { return std::get<T>(state_); }
  const T& value() const { return std::get<T>(state_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<Error>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return !error_.has_value(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace gradsync
