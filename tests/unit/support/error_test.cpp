#include "support/error.h"

#include <cerrno>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "model/finding.h"

namespace ptpkg::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Error, CarriesWhatWasAdded) {
  const SourceSpan span{
      .file = "recipe.yaml", .line = 3, .column = 3, .length = 7, .excerpt = "  versoin: 1"};
  const Error error = Error(ErrorCode::kInvalidInput, "unknown key 'versoin'")
                          .WithContext("while reading the recipe")
                          .WithContext("while building")
                          .WithHint("first")
                          .WithHint("did you mean 'version'?")
                          .At(span)
                          .WithErrno(ENOENT);
  EXPECT_EQ(error.code(), ErrorCode::kInvalidInput);
  EXPECT_THAT(error.context(), ElementsAre("while reading the recipe", "while building"));
  EXPECT_EQ(error.hint(), "did you mean 'version'?");
  EXPECT_EQ(error.span(), span);
  EXPECT_EQ(error.sys_errno(), ENOENT);
}

TEST(FormatError, ShowsExcerptCaretNotesAndHint) {
  const Error error =
      Error(ErrorCode::kInvalidInput, "unknown key 'versoin'")
          .At({.file = "recipe.yaml", .line = 3, .column = 3, .length = 7, .excerpt = "  versoin: 1"})
          .WithContext("while reading the recipe")
          .WithHint("did you mean 'version'?");
  EXPECT_EQ(FormatError(error),
            "recipe.yaml:3:3: error: unknown key 'versoin'\n"
            "    3 |   versoin: 1\n"
            "      |   ^~~~~~~\n"
            "  note: while reading the recipe\n"
            "  hint: did you mean 'version'?");
}

TEST(FormatError, WithoutSpanOrExcerpt) {
  EXPECT_EQ(FormatError({ErrorCode::kIo, "disk on fire"}), "error: disk on fire");
  EXPECT_EQ(
      FormatError(Error(ErrorCode::kIo, "bad").At({.file = "f", .line = 12, .column = 1, .excerpt = ""})),
      "f:12:1: error: bad");
}

TEST(FormatError, TabsBeforeTheCaretStay) {
  EXPECT_THAT(
      FormatError(Error(ErrorCode::kIo, "bad").At({.file = "f", .line = 1, .column = 3, .excerpt = "\ta b"})),
      HasSubstr("| \t ^"));
}

TEST(FormatError, NoPasswordsOfUrls) {
  const std::string line = "git: 'https://user:secretpw@example/x' tag: v1";
  const auto at = [&](std::string_view part) {
    return FormatError(Error(ErrorCode::kIo, "cannot reach 'https://user:secretpw@example/x'")
                           .At({.file = "f",
                                .line = 1,
                                .column = static_cast<int>(line.find(part)) + 1,
                                .length = static_cast<int>(part.size()),
                                .excerpt = line})
                           .WithContext("while asking https://user:secretpw@example")
                           .WithHint("git ls-remote https://user:secretpw@example/x"));
  };
  EXPECT_EQ(at("tag"),
            "f:1:40: error: cannot reach 'https://****@example/x'\n"
            "    1 | git: 'https://****@example/x' tag: v1\n"
            "      |                               ^~~\n"
            "  note: while asking https://****@example\n"
            "  hint: git ls-remote https://****@example/x");
  EXPECT_THAT(at("'https://user:secretpw@example/x'"),
              HasSubstr("\n      |      ^~~~~~~~~~~~~~~~~~~~~~~~\n"));
  EXPECT_THAT(at("secretpw"), HasSubstr("\n      |               ^~~~\n"));
}

TEST(FormatError, OfALongLineShowsWhatIsAroundThePlace) {
  const std::string line = std::string(5000, 'a') + "é<bad>é" + std::string(5000, 'z');
  const auto formatted = [&](int column) {
    return FormatError(Error(ErrorCode::kIo, "bad")
                           .At({.file = "f", .line = 1, .column = column, .length = 5, .excerpt = line}));
  };
  const std::string middle = formatted(5003);
  EXPECT_LT(middle.size(), 450U);
  const std::string before = "…" + std::string(58, 'a') + "é";
  EXPECT_THAT(middle, HasSubstr("| " + before + "<bad>é" + std::string(93, 'z') + "…\n"));
  // The caret stands below the '<': one column for the mark, two for the bytes of 'é'.
  EXPECT_THAT(middle, HasSubstr("| " + std::string(61, ' ') + "^~~~~"));
  EXPECT_THAT(formatted(1), HasSubstr("| aaaa"));
  EXPECT_THAT(formatted(1), HasSubstr("| ^~~~~"));
  EXPECT_LT(formatted(10013).size(), 450U);
  EXPECT_LT(formatted(999999).size(), 450U);
  // Bytes that are no text do not lead out of the line.
  EXPECT_LT(
      FormatError(Error(ErrorCode::kIo, "bad").At({.file = "f", .excerpt = std::string(500, '\x80')})).size(),
      450U);
}

TEST(SharedText, CopiesShareTheirBytes) {
  const SharedText text(std::string(1000, 'x'));
  const SharedText copy = text;  // NOLINT(performance-unnecessary-copy-initialization): that is the point
  EXPECT_EQ(copy.view().data(), text.view().data());
  EXPECT_EQ(copy, text);
  EXPECT_EQ(SharedText("x"), SharedText(std::string("x")));
  EXPECT_EQ(SharedText(""), SharedText());
  EXPECT_FALSE(SharedText("x") == SharedText("y"));
}

TEST(ErrnoError, MapsTheCodesThatCallersBranchOn) {
  EXPECT_EQ(ErrnoError(ENOENT, "cannot open 'x'").code(), ErrorCode::kNotFound);
  EXPECT_EQ(ErrnoError(ENOENT, "cannot open 'x'").message(), "cannot open 'x': No such file or directory");
  EXPECT_EQ(ErrnoError(EEXIST, "x").code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(ErrnoError(EISDIR, "x").code(), ErrorCode::kIo);
  EXPECT_THAT(ErrnoError(EIO, "x").hint(), IsEmpty());
  for (const int number : {ENOSPC, EDQUOT, EACCES, EPERM, EROFS}) {
    const Error error = ErrnoError(number, "x");
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_EQ(error.sys_errno(), number);
    EXPECT_THAT(error.hint(), Not(IsEmpty())) << number;
  }
}

TEST(ErrorCodeName, IsUniqueSnakeCase) {
  EXPECT_EQ(ErrorCodeName(ErrorCode::kHashMismatch), "hash_mismatch");
  EXPECT_EQ(ErrorCodeName(ErrorCode::kIo), "io");
  EXPECT_EQ(ErrorCodeName(ErrorCode::kCheckFailed), "check_failed");
  EXPECT_EQ(ErrorCodeName(ErrorCode::kCancelled), "cancelled");
  EXPECT_EQ(ErrorCodeName(ErrorCode::kInternal), "internal");
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i) {
    const std::string_view name = ErrorCodeName(static_cast<ErrorCode>(i));
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << name;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

TEST(Report, HasErrorsOnlyForErrors) {
  Report report;
  EXPECT_FALSE(report.HasErrors());
  report.findings.push_back(
      {.id = "a", .severity = Severity::kWarning, .file = "", .message = "", .fix = ""});
  EXPECT_FALSE(report.HasErrors());
  report.findings.push_back({.id = "b", .severity = Severity::kError, .file = "", .message = "", .fix = ""});
  EXPECT_TRUE(report.HasErrors());
}

}  // namespace
}  // namespace ptpkg::test
