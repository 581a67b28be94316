#pragma once
// GoogleTest matchers for Result<T>. There is no bare "fails": a test says which error it expects.

#include <gmock/gmock.h>
#include <ostream>
#include <string>
#include <utility>

#include "support/result.h"

namespace ptpkg {

/// How GoogleTest prints an Error.
inline void PrintTo(const Error& error, std::ostream* out) {
  *out << ErrorCodeName(error.code()) << ": " << FormatError(error);
}

template <class T>
void PrintTo(const Result<T>& result, std::ostream* out) {
  if (!result.has_value()) {
    *out << "an error, ";
    PrintTo(result.error(), out);
  } else if constexpr (std::is_void_v<T>) {
    *out << "ok";
  } else {
    *out << "ok, holding " << ::testing::PrintToString(*result);
  }
}

namespace test {

MATCHER(IsOk, negation ? "is an error" : "is ok") { return arg.has_value(); }

template <class Inner>
class IsOkAndHoldsMatcher {
 public:
  explicit IsOkAndHoldsMatcher(Inner inner) : inner_(std::move(inner)) {}

  template <class R>
  operator ::testing::Matcher<R>()
      const {  // NOLINT(google-explicit-constructor): how gmock's polymorphic matchers work
    return ::testing::Matcher<R>(new Impl<R>(inner_));
  }

 private:
  template <class R>
  class Impl final : public ::testing::MatcherInterface<R> {
    using Value = typename std::remove_cvref_t<R>::value_type;

   public:
    explicit Impl(const Inner& inner) : inner_(::testing::SafeMatcherCast<const Value&>(inner)) {}
    bool MatchAndExplain(R result, ::testing::MatchResultListener* listener) const override {
      if (!result.has_value()) {
        *listener << "which is an error";
        return false;
      }
      return inner_.MatchAndExplain(*result, listener);
    }
    void DescribeTo(std::ostream* out) const override {
      *out << "is ok and holds a value that ";
      inner_.DescribeTo(out);
    }

   private:
    const ::testing::Matcher<const Value&> inner_;
  };

  Inner inner_;
};

/// A Result<T> that holds a value matching `inner` (a matcher or a plain value).
template <class Inner>
IsOkAndHoldsMatcher<std::decay_t<Inner>> IsOkAndHolds(Inner&& inner) {
  return IsOkAndHoldsMatcher<std::decay_t<Inner>>(std::forward<Inner>(inner));
}

/// A Result that failed with `code` and a message matching `message` (a matcher or the exact text).
MATCHER_P2(FailsWith, code, message,
           std::string(negation ? "does not fail" : "fails") + " with " + std::string(ErrorCodeName(code)) +
               " and a message that " + ::testing::DescribeMatcher<std::string>(message)) {
  if (arg.has_value()) {
    *result_listener << "which is ok";
    return false;
  }
  const Error& error = arg.error();
  *result_listener << "which failed with " << ErrorCodeName(error.code());
  if (error.code() != code) return false;
  return ::testing::ExplainMatchResult(::testing::Matcher<std::string>(message), error.message(),
                                       result_listener);
}

/// The hint of a failed Result.
MATCHER_P(HasHint, hint, "has a hint that " + ::testing::DescribeMatcher<std::string>(hint)) {
  if (arg.has_value()) {
    *result_listener << "which is ok";
    return false;
  }
  return ::testing::ExplainMatchResult(::testing::Matcher<std::string>(hint), arg.error().hint(),
                                       result_listener);
}

}  // namespace test
}  // namespace ptpkg

/// Fails the test, and leaves it, unless `expr` is ok. For preparations: ASSERT_OK(fs.MakeDirs(p)).
#define ASSERT_OK(expr) ASSERT_THAT((expr), ::ptpkg::test::IsOk())
#define EXPECT_OK(expr) EXPECT_THAT((expr), ::ptpkg::test::IsOk())

/// ASSERT_OK_AND_ASSIGN(const auto x, Expr()): declares x with the value, or leaves the test.
#define ASSERT_OK_AND_ASSIGN(decl, ...) \
  ASSERT_OK_AND_ASSIGN_IMPL_(PTPKG_CONCAT(assert_ok_, __COUNTER__), decl, __VA_ARGS__)
#define ASSERT_OK_AND_ASSIGN_IMPL_(tmp, decl, ...) \
  auto tmp = (__VA_ARGS__);                        \
  ASSERT_THAT(tmp, ::ptpkg::test::IsOk());         \
  decl = *std::move(tmp)
