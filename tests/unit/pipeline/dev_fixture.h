#pragma once
// A recipe with a local source folder, built again and again by `ptpkg dev`.

#include <algorithm>
#include <string>
#include <vector>

#include "build/work_state.h"
#include "pipeline/dev.h"
#include "unit/pipeline/build_fixture.h"

namespace ptpkg::pipeline {

inline constexpr const char* kDevSource = "source: {path: src}\n";
inline constexpr const char* kDevTests =
    "tests: [{script: ['test -e $PREFIX/share/a.c']}, {package_contents: {files: [share/a.c]}}]\n";

class DevTest : public BuildFixture {
 protected:
  /// A build that counts its runs and installs what it was given.
  [[nodiscard]] std::string Script(const std::string& more = "true") const {
    return "echo whole >> " + env_.dir().path().str() + "/count\n" + more +
           "\nmkdir -p $PREFIX/share\ncp *.c $PREFIX/share/";
  }
  void WriteToy(const std::string& rest = "", const std::string& more = "true") {
    WriteRecipe("toy", Script(more), kDevSource + std::string(kDevTests) + rest);
  }
  void PutSource(const std::string& name, const std::string& text) { Put("toy/src/" + name, text); }

  NativeRequest DevRequest(const std::string& name = "") { return {.build = Request({"toy"}), .name = name}; }
  Result<DevSummary> RunDev() { return Dev(env_, DevRequest()); }

  static std::vector<std::string> Names(const std::vector<RelPath>& paths) {
    std::vector<std::string> names;
    for (const RelPath& path : paths) names.push_back(path.str());
    return names;
  }
  int Runs() {
    const auto text = ReadFile(env_->fs, env_.dir() / "count");
    return text ? static_cast<int>(std::count(text->begin(), text->end(), '\n')) : 0;
  }
  AbsPath Root() {
    const auto names = env_->fs.ListDir(env_->cache_dir / "dev");
    EXPECT_TRUE(names && names->size() == 1);
    return env_->cache_dir / "dev" / names->front();
  }
  /// The folder looks as if the last run had been ended there, with kScript: killed in its script.
  void Leave(build::WorkPhase phase, const std::string& boot_id) {
    ASSERT_OK_AND_ASSIGN(build::WorkState state, build::ReadWorkState(env_->fs, Root()));
    state.phase = phase;
    state.boot_id = boot_id;
    ASSERT_OK(build::WriteWorkState(env_->fs, Root(), state));
  }
  std::vector<std::string> Notes() { return env_.reporter.notes(); }
};

}  // namespace ptpkg::pipeline
