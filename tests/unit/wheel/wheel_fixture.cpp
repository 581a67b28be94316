#include "unit/wheel/wheel_fixture.h"

#include "archive/entry_set.h"
#include "archive/zip/zip_writer.h"
#include "support/matchers.h"

namespace ptpkg::wheel {

ToyProject::ToyProject(Env& env, const test::TempDir& dir) : out_(dir / "out") {
  metadata = *ParseCoreMetadata(
      "Metadata-Version: 2.1\nName: Toy.Project\nVersion: 1.0+CPU\nSummary: a toy\n"
      "Requires-Dist: numpy>=1.26\n\n# Toy\n",
      "METADATA");
  dir.MakeDir("out");
  dir.WriteFile("stage/toy/__init__.py", "def main(): pass\n");
  // A linker script by its first bytes: the checks of ELF files have nothing to say about it.
  dir.WriteFile("stage/toy/lib/libtoy.so.1", "/*" + std::string(99'998, 'x'), 0755);
  dir.MakeSymlink("libtoy.so.1", "stage/toy/lib/libtoy.so");
  dir.WriteFile("stage/toy/odd, \"name\".txt", "odd\n");
  dir.WriteFile("stage/toy/__pycache__/x.pyc", "code");
  dir.WriteFile("stage/toy_project-1.0+cpu.data/scripts/run", "#!python\n", 0755);
  Result<StagedTree> scanned = ScanTree(env, dir / "stage");
  EXPECT_THAT(scanned, test::IsOk());
  if (scanned) tree = *std::move(scanned);
}

WheelInput ToyProject::Input() const {
  return {
      .metadata = metadata, .tag = tag, .entry_points = entry_points, .tree = tree, .dist_info = dist_info};
}

AbsPath WriteRawZip(Env& env, const AbsPath& path,
                    const std::vector<std::pair<std::string, std::string>>& members) {
  EXPECT_THAT(env.fs.MakeDirs(path.Parent()), test::IsOk());
  Result<std::unique_ptr<File>> file = env.fs.Open(path, OpenMode::kCreateNew);
  EXPECT_THAT(file, test::IsOk());
  archive::ZipWriter zip(**file, env.source_date_epoch);
  Task task(env.reporter, {"test", "", 0});
  for (const auto& [name, text] : members) {
    archive::EntrySet one;
    EXPECT_THAT(one.AddText(RelPath::Literal(name), text), test::IsOk());
    EXPECT_THAT(archive::WriteZipMembers(env, zip, one.Sorted(), {}, task), test::IsOk());
  }
  EXPECT_THAT(zip.Finish(), test::IsOk());
  task.Done();
  return path;
}

std::string RecordOf(const std::vector<std::pair<std::string, std::string>>& members,
                     const std::string& record_path) {
  std::vector<RecordRow> rows;
  for (const auto& [name, text] : members) {
    const Sha256 digest = HashText(text);
    rows.push_back({name, Base64UrlUnpadded(std::as_bytes(std::span(digest.bytes))), text.size()});
  }
  rows.push_back({record_path, "", 0});
  return FormatRecord(rows);
}

std::vector<std::pair<std::string, std::string>> MinimalMembers() {
  std::vector<std::pair<std::string, std::string>> members = {
      {"toy.py", "x = 1\n"},
      {"toy-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n"},
      {"toy-1.0.dist-info/WHEEL",
       "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}};
  members.emplace_back("toy-1.0.dist-info/RECORD", RecordOf(members, "toy-1.0.dist-info/RECORD"));
  return members;
}

}  // namespace ptpkg::wheel
