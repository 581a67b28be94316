// Every id that a check can report has its page, and no page explains an id that no check reports.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <regex>
#include <set>

#include "support/files/fs.h"
#include "support/matchers.h"
#include "support/paths.h"

namespace ptpkg::verify {
namespace {

const AbsPath kRepository = test::Repository();

std::vector<std::string> Files(Fs& fs, const std::string& folder, const std::string& suffix) {
  std::vector<std::string> found;
  const Result<std::vector<std::string>> names = fs.ListDir(kRepository / folder);
  EXPECT_THAT(names, test::IsOk());
  if (!names) return found;
  for (const std::string& name : *names) {
    if (name.ends_with(suffix)) found.push_back(name);
  }
  return found;
}

/// Of all sources below `folder`.
void AddIds(Fs& fs, const std::string& folder, const std::regex& pattern, std::set<std::string>& ids) {
  for (const std::string& name : Files(fs, folder, "")) {
    const Result<FileStat> stat = fs.Stat(kRepository / (folder + "/" + name));
    EXPECT_THAT(stat, test::IsOk());
    if (stat && stat->kind == FileKind::kDirectory) AddIds(fs, folder + "/" + name, pattern, ids);
  }
  for (const std::string& name : Files(fs, folder, ".cpp")) {
    const Result<std::string> text = ReadFile(fs, kRepository / (folder + "/" + name));
    EXPECT_THAT(text, test::IsOk());
    if (!text) continue;
    for (std::sregex_iterator it(text->begin(), text->end(), pattern); it != std::sregex_iterator(); ++it) {
      ids.insert((*it)[1].str());
    }
  }
}

std::set<std::string> IdsInSources(Fs& fs) {
  static const std::regex kCheck("\"((?:artifact|conda|device|elf|provenance|wheel|zip)-[a-z0-9-]+)\"");
  static const std::regex kTest("\\.id = \"(package-[a-z0-9-]+)\"");
  std::set<std::string> ids;
  AddIds(fs, "src/verify", kCheck, ids);
  AddIds(fs, "src/builder", kTest, ids);
  return ids;
}

TEST(FindingPages, AreThoseOfTheFindings) {
  const std::unique_ptr<Fs> fs = MakeOsFs();
  const std::set<std::string> ids = IdsInSources(*fs);
  std::set<std::string> pages;
  for (const std::string& name : Files(*fs, "docs/findings", ".md"))
    pages.insert(name.substr(0, name.size() - 3));
  EXPECT_GT(ids.size(), 30U);
  EXPECT_THAT(pages, testing::ContainerEq(ids));
}

TEST(FindingPages, BeginWithTheirIdAndSayWhatToDo) {
  const std::unique_ptr<Fs> fs = MakeOsFs();
  for (const std::string& name : Files(*fs, "docs/findings", ".md")) {
    ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(*fs, kRepository / ("docs/findings/" + name)));
    EXPECT_TRUE(text.starts_with("# " + name.substr(0, name.size() - 3) + "\n")) << name;
    EXPECT_THAT(text, testing::HasSubstr("## What to do")) << name;
  }
}

}  // namespace
}  // namespace ptpkg::verify
