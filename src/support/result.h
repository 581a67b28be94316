#pragma once
// Result<T>: a value or an Error. Layer: support.
// The API is a subset of std::expected<T, Error>, so that an alias can replace it once the
// supported compilers have it (libstdc++ 12 offers it only in C++23, docs/decisions/0001).

#include <type_traits>
#include <utility>
#include <variant>

#include "support/assert.h"
#include "support/error.h"

namespace ptpkg {

template <class T>
class [[nodiscard]] Result {
  static_assert(!std::is_same_v<std::remove_cvref_t<T>, Error>);

 public:
  using value_type = T;

  // Implicit on purpose: `return value;` and `return Error(...);` are the two ways out.
  // NOLINTNEXTLINE(google-explicit-constructor): see above
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): see above
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  /// REQUIRES: has_value().
  T& operator*() & { return Value(); }
  const T& operator*() const& { return const_cast<Result*>(this)->Value(); }
  T&& operator*() && { return std::move(Value()); }
  T* operator->() { return &Value(); }
  const T* operator->() const { return &const_cast<Result*>(this)->Value(); }

  /// REQUIRES: !has_value().
  [[nodiscard]] const Error& error() const& { return const_cast<Result*>(this)->Failure(); }
  [[nodiscard]] Error&& error() && { return std::move(Failure()); }

 private:
  T& Value() {
    PTPKG_ASSERT(has_value());
    return *std::get_if<0>(&state_);
  }
  Error& Failure() {
    PTPKG_ASSERT(!has_value());
    return *std::get_if<1>(&state_);
  }

  std::variant<T, Error> state_;
};

/// A command: success carries nothing.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): `return Error(...);`
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }

  /// REQUIRES: !has_value().
  [[nodiscard]] const Error& error() const& {
    PTPKG_ASSERT(error_.has_value());
    return *error_;
  }
  [[nodiscard]] Error&& error() && {
    PTPKG_ASSERT(error_.has_value());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

inline Result<void> Ok() { return {}; }

}  // namespace ptpkg

#define PTPKG_CONCAT_(a, b) a##b
#define PTPKG_CONCAT(a, b) PTPKG_CONCAT_(a, b)

/// - PTPKG_TRY(auto x, Expr()): declares x, or returns the error of Expr().
/// - PTPKG_TRY(auto x, Expr(), "while ..."): the same, with a context frame added.
#define PTPKG_TRY(decl, ...) PTPKG_TRY_IMPL_(PTPKG_CONCAT(ptpkg_try_, __COUNTER__), decl, __VA_ARGS__)
#define PTPKG_TRY_IMPL_(tmp, decl, expr, ...)                            \
  auto tmp = (expr);                                                     \
  if (!tmp.has_value()) {                                                \
    return std::move(tmp).error() __VA_OPT__(.WithContext(__VA_ARGS__)); \
  }                                                                      \
  decl = *std::move(tmp)

/// PTPKG_CHECK(Expr()) and PTPKG_CHECK(Expr(), "while ..."): for Result<void>. The name is unique because
/// Expr() may hold a lambda that checks something itself, which -Wshadow would refuse.
#define PTPKG_CHECK(...) PTPKG_CHECK_IMPL_(PTPKG_CONCAT(ptpkg_check_, __COUNTER__), __VA_ARGS__)
#define PTPKG_CHECK_IMPL_(tmp, expr, ...)                                  \
  do {                                                                     \
    if (auto tmp = (expr); !tmp.has_value()) {                             \
      return std::move(tmp).error() __VA_OPT__(.WithContext(__VA_ARGS__)); \
    }                                                                      \
  } while (false)
