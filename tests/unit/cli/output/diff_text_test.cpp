// The text of `ptpkg diff`: every list is bounded by --rows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/output/inspect_text.h"
#include "support/text/json.h"

namespace ptpkg::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

Json FileItem(const std::string& path, const std::string& change) {
  return {{"path", path},        {"change", change}, {"old_path", nullptr}, {"old_size_bytes", 1},
          {"new_size_bytes", 2}, {"elf", nullptr},   {"text", nullptr}};
}

Json Document(Json files) {
  return {
      {"identical", false},
      {"metadata", Json::array()},
      {"files", std::move(files)},
      {"unchanged_files", 4},
      {"packing", Json::array()},
      {"sizes", {{"folders", Json::array()}, {"sections", Json::array()}, {"device_code", Json::array()}}}};
}

TEST(DiffText, FilesAreBoundedAndChangedOnesComeFirst) {
  Json files = Json::array();
  for (const char* name : {"a", "b", "c"}) files.push_back(FileItem(name, "added"));
  files.push_back(FileItem("d", "changed"));
  EXPECT_THAT(DiffLines(Document(files), {.rows = 2}),
              ElementsAre("files: 3 added, 1 changed, 4 equal", "  changed  d (+1 B)", "  added    a (2 B)",
                          "  … and 2 more", "--rows 4 shows all rows, --json more details"));
  EXPECT_THAT(DiffLines(Document(files), {.rows = 4}), Not(Contains(testing::HasSubstr("--rows"))));
}

TEST(DiffText, TheHintCountsListsOfHiddenFilesToo) {
  Json files = {FileItem("a", "changed"), FileItem("b.so", "changed")};
  for (const char* name : {"code", "data", "debug"}) {
    files[1]["elf"].push_back(
        {{"part", name}, {"old_bytes", 5}, {"new_bytes", 5}, {"old", nullptr}, {"new", nullptr}});
  }
  EXPECT_THAT(DiffLines(Document(files), {.rows = 1}),
              ElementsAre("files: 2 changed, 4 equal", "  changed  a (+1 B)", "  … and 1 more",
                          "--rows 3 shows all rows, --json more details"));
}

TEST(DiffText, MetadataIsBoundedFieldByField) {
  Json document = Document(Json::array());
  document["metadata"] = {{{"field", "requires"}, {"old", {"a", "b", "c"}}, {"new", {"c", "d"}}},
                          {{"field", "version"}, {"old", "1"}, {"new", "2"}},
                          {{"field", "summary"}, {"old", "x"}, {"new", nullptr}}};
  EXPECT_THAT(
      DiffLines(document, {.rows = 2}),
      ElementsAre("metadata", "  requires: - a", "  requires: - b", "    … and 1 more", "  version: 1 -> 2",
                  "  … and 1 more", "--rows 3 shows all rows, --json more details"));
}

TEST(DiffText, PackingIsSpelledOut) {
  Json document = Document(Json::array());
  document["packing"] = {"order", "compression"};
  EXPECT_THAT(DiffLines(document, {.rows = 2}),
              ElementsAre("only packaging differs: member order, compressed sizes"));
  document["packing"] = {"other"};
  EXPECT_THAT(DiffLines(document, {.rows = 2}),
              ElementsAre("only packaging differs: times, comments or archive fields"));
}

TEST(DiffText, SizesAreBounded) {
  Json document = Document(Json::array());
  for (const auto& [name, bytes] : {std::pair("b", 1), std::pair("c", 2), std::pair(".", 3)}) {
    document["sizes"]["folders"].push_back({{"name", name}, {"old_bytes", 0}, {"new_bytes", bytes}});
  }
  EXPECT_THAT(DiffLines(document, {.rows = 1}),
              ElementsAre("size by directory (old, new, difference)", "  0 B  3 B  +3 B  total",
                          "  … and 2 more", "--rows 3 shows all rows, --json more details"));
}

TEST(DiffText, PartsOfAnElfFileAreBounded) {
  Json document = Document({FileItem("x.so", "changed")});
  for (const char* name : {"code", "data", "debug"}) {
    document["files"][0]["elf"].push_back(
        {{"part", name}, {"old_bytes", 5}, {"new_bytes", 5}, {"old", nullptr}, {"new", nullptr}});
  }
  EXPECT_THAT(
      DiffLines(document, {.rows = 1}),
      ElementsAre("files: 1 changed, 4 equal", "  changed  x.so (+1 B)", "    code: content differs, 5 B",
                  "    … and 2 more", "--rows 3 shows all rows, --json more details"));
}

TEST(DiffText, SymbolsAreBoundedRows) {
  Json document = Document({FileItem("x.so", "changed")});
  document["files"][0]["elf"] = {{{"part", "needed symbols"},
                                  {"old_bytes", nullptr},
                                  {"new_bytes", nullptr},
                                  {"old", {"a"}},
                                  {"new", {"b", "c"}},
                                  {"old_more", 0},
                                  {"new_more", 20}}};
  EXPECT_THAT(DiffLines(document, {.rows = 2}),
              ElementsAre("files: 1 changed, 4 equal", "  changed  x.so (+1 B)",
                          "    needed symbols: 1 removed, 22 added", "      - a", "      + b",
                          "      … and 21 more", "--rows 3 shows all rows, --json more details"));
}

TEST(DiffText, NeededLibrariesThatChangedAreRows) {
  Json document = Document({FileItem("x.so", "changed")});
  Json part = {{"part", "needed"},       {"old_bytes", nullptr}, {"new_bytes", nullptr}, {"old", {"a", "b"}},
               {"new", {"b", "c", "d"}}, {"old_more", 0},        {"new_more", 0}};
  document["files"][0]["elf"] = Json::array({part});
  const auto lines = DiffLines(document, {.rows = 5});
  EXPECT_THAT(std::vector<std::string>(lines.begin() + 2, lines.end()),
              ElementsAre("    needed: 1 removed, 2 added", "      - a", "      + c", "      + d"));
}

TEST(DiffText, LinesOfTextFilesAreAUnifiedDiff) {
  Json document = Document({FileItem("x.py", "changed")});
  const auto line = [](const char* mark, const char* text) { return Json{{"mark", mark}, {"text", text}}; };
  document["files"][0]["text"] = {
      {"removed", 1},
      {"added", 2},
      {"hunks",
       {{{"old_line", 4},
         {"new_line", 5},
         {"lines", {line(" ", "a"), line("-", "b"), line("+", "c"), line("\\", " x")}}},
        {{"old_line", 9}, {"new_line", 9}, {"lines", {line("+", "d")}}}}},
      {"more_lines", 7}};
  EXPECT_THAT(
      DiffLines(document, {.rows = 7}),
      ElementsAre("files: 1 changed, 4 equal", "  changed  x.py (+1 B)", "    @@ -4,2 +5,2 @@", "     a",
                  "    -b", "    +c", "    \\ x", "    @@ -8,0 +9,1 @@", "    +d", "    … and 7 more"));
  EXPECT_THAT(DiffLines(document, {.rows = 2}),
              ElementsAre("files: 1 changed, 4 equal", "  changed  x.py (+1 B)", "    @@ -4,2 +5,2 @@",
                          "     a", "    … and 12 more", "--rows 7 shows all rows, --json more details"));
}

}  // namespace
}  // namespace ptpkg::cli
