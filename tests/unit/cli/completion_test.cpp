#include "cli/completion.h"

#include <gmock/gmock.h>

#include "cli/man_page.h"
#include "cli/verbs/verbs.h"

namespace ptpkg::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A program with everything that a shell could trip over.
class Described : public testing::Test {
 protected:
  Program program_ = {
      .name = "ptpkg",
      .summary = "Does things",
      .common = {{.names = "-q,--quiet", .help = "Less; it's 'quiet' [really]", .target = &flag_}},
      .verbs =
          {{.name = "build",
            .summary = "Builds: all of it",
            .options = {{.names = "RECIPE", .help = "a recipe", .target = &words_},
                        {.names = "-o,--output", .value = "DIR", .help = "Where", .target = &word_},
                        {.names = "--select", .value = "K=V", .help = "Only", .target = &words_},
                        {.names = "--env", .help = "Which", .target = &word_, .choices = {"auto", "conda"}}},
            .notes = ".hidden\n'quoted",
            .examples = {"ptpkg build x --env auto"},
            .run = {}},
           {.name = "diff",
            .summary = "Compares",
            .options = {{.names = "OLD", .help = "First", .target = &word_},
                        {.names = "NEW", .help = "Second", .target = &word_}},
            .examples = {},
            .run = {}}},
      .examples = {}};
  bool flag_ = false;
  std::string word_;
  std::vector<std::string> words_;
};

TEST_F(Described, BashKnowsValuesFilesAndFolders) {
  const std::string script = BashCompletion(program_);
  EXPECT_THAT(script, HasSubstr("build:-o|build:--output) _ptpkg_files -d; return ;;"));
  EXPECT_THAT(script, HasSubstr("build:--env) _ptpkg_words 'auto conda'; return ;;"));
  EXPECT_THAT(script, HasSubstr("build:--select) :; return ;;"));
  EXPECT_THAT(script, HasSubstr("then _ptpkg_words '-o --output --select --env -q --quiet --help'; "
                                "else _ptpkg_files -f; fi ;;"));
}

TEST_F(Described, ZshQuotesWhatItWouldRead) {
  const std::string script = ZshCompletion(program_);
  EXPECT_THAT(script, HasSubstr("'build:Builds\\: all of it'"));
  EXPECT_THAT(script, HasSubstr("'(-q --quiet)--quiet[Less; it'\\''s '\\''quiet'\\'' \\[really\\]]'"));
  EXPECT_THAT(script, HasSubstr("'*--select[Only]:K=V: '")) << "may be repeated";
  EXPECT_THAT(script, HasSubstr("'(-o --output)--output[Where]:DIR:_files -/'"));
}

TEST_F(Described, ZshCountsArguments) {
  const std::string script = ZshCompletion(program_);
  EXPECT_THAT(script, HasSubstr("'1:OLD:_files'"));
  EXPECT_THAT(script, HasSubstr("'2:NEW:_files'"));
  EXPECT_THAT(script, HasSubstr("'*:RECIPE:_files'"));
}

TEST_F(Described, FishQuotesWhatItWouldRead) {
  const std::string script = FishCompletion(program_);
  EXPECT_THAT(script, HasSubstr("-d 'Less; it\\'s \\'quiet\\' [really]'"));
  EXPECT_THAT(script, HasSubstr("-s o -l output -x -a '(__fish_complete_directories)' -d 'Where'"));
  EXPECT_THAT(script, HasSubstr("-l env -x -a 'auto conda' -d 'Which'"));
}

TEST_F(Described, ManPagesHoldNoRequestOfTheirText) {
  const std::string page = ManPage(program_, &program_.verbs[0], "1.2");
  EXPECT_THAT(page, testing::StartsWith(".TH \"ptpkg-build\" 1 \"\" \"ptpkg 1.2\"\n"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-o, \\-\\-output DIR\\fR\nWhere\n"));
  EXPECT_THAT(page, HasSubstr("\n\\&.hidden\n\\&'quoted\n"));
  EXPECT_THAT(page, Not(HasSubstr("\n.hidden")));
  EXPECT_THAT(ManPage(program_, nullptr, "1.2"), HasSubstr(".BR ptpkg\\-build (1)"));
}

}  // namespace
}  // namespace ptpkg::cli
