#pragma once
// A tree of synthetic ELF files in memory, and its findings.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"
#include "unit/elf/synthetic_elf.h"
#include "verify/check.h"

namespace ptpkg {

/// Failed expectations show findings as text, not as bytes.
inline void PrintTo(const Finding& finding, std::ostream* out) {
  *out << fmt::format("{} {} '{}': {}", SeverityName(finding.severity), finding.id, finding.file,
                      finding.message);
}

}  // namespace ptpkg

namespace ptpkg::test {

inline constexpr std::string_view kRoot = "/tree";

class MemoryTree {
 public:
  MemoryTree() : env_({.fs = &fs_}) { fs_.AddDir(kRoot); }

  void Add(const std::string& path, elf::test::SyntheticElf elf) { AddText(path, elf.Build()); }
  void AddText(const std::string& path, const std::string& text) {
    fs_.AddFile(fmt::format("{}/{}", kRoot, path), text);
  }
  /// Makes the tree that of an unpacked wheel.
  void AddWheel(const std::vector<std::string>& tags) {
    std::string text = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\n";
    for (const std::string& tag : tags) text += fmt::format("Tag: {}\n", tag);
    AddText("pkg-1.dist-info/WHEEL", text);
  }
  /// Makes the tree that of an unpacked conda package; `depends`: JSON strings, "\"a\", \"b >=1\"".
  void AddIndex(const std::string& depends, const std::string& subdir = "linux-64") {
    AddText("info/index.json", fmt::format(R"({{"depends": [{}], "subdir": "{}"}})", depends, subdir));
  }
  MemFs& fs() { return fs_; }
  TestEnv& env() { return env_; }

  verify::Examination Examine(const verify::CheckOptions& options = {}) {
    auto examination = verify::ExamineTree(env_, AbsPath::Literal(kRoot), options);
    EXPECT_OK(examination);
    return examination ? *std::move(examination) : verify::Examination();
  }
  std::vector<Finding> Check(const verify::CheckOptions& options = {}) {
    return Examine(options).report.findings;
  }

 private:
  MemFs fs_;
  TestEnv env_;
};

/// A library without version requirements and SONAME.
inline elf::test::SyntheticElf Library(std::vector<std::string> needed,
                                       std::optional<std::string> runpath = {}) {
  elf::test::SyntheticElf elf;
  elf.needed = std::move(needed);
  elf.runpath = std::move(runpath);
  elf.version = "";
  elf.soname.reset();
  return elf;
}

/// One that requires `version` of `library` for `symbols`.
inline elf::test::SyntheticElf Requiring(const std::string& library, const std::string& version,
                                         std::vector<std::string> symbols = {"used"}) {
  elf::test::SyntheticElf elf = Library({library});
  elf.version = version;
  elf.symbols = std::move(symbols);
  return elf;
}

inline auto Is(std::string id, Severity severity, std::string file, std::string text) {
  using testing::AllOf;
  using testing::Field;
  return AllOf(Field(&Finding::id, id), Field(&Finding::severity, severity), Field(&Finding::file, file),
               Field(&Finding::message, testing::HasSubstr(text)),
               Field(&Finding::fix, testing::Not(testing::IsEmpty())));
}

}  // namespace ptpkg::test
