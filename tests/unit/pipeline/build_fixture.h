#pragma once
// Small recipes with real scripts, built by the whole pipeline in a scratch folder.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/build.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::pipeline {

class BuildFixture : public ::testing::Test {
 protected:
  /// A recipe "name" 1.0 whose script is `script`; `rest` is further YAML, as lines of the top level.
  void WriteRecipe(const std::string& name, const std::string& script, const std::string& rest = "") {
    const std::string text = "schema_version: 1\npackage: {name: " + name + ", version: \"1.0\"}\n" +
                             "build: {number: 0, string: \"0\", script: {content: [" + Json(script).dump() +
                             "]}}\n" + rest;
    Put(name + "/recipe.yaml", text);
  }
  void Put(const std::string& path, const std::string& text) {
    const AbsPath place = env_.dir().path() / path;
    ASSERT_THAT(env_->fs.MakeDirs(place.Parent()), test::IsOk());
    ASSERT_THAT(WriteFile(env_->fs, place, text), test::IsOk());
  }
  BuildRequest Request(const std::vector<std::string>& recipes) {
    BuildRequest request{.output = output_, .host_env = build::HostEnv::kSystem};
    for (const std::string& recipe : recipes) request.recipes.push_back(env_.dir().path() / recipe);
    return request;
  }
  /// A node's failure is an error here.
  Result<BuildSummary> Run(const BuildRequest& request) {
    PTPKG_TRY(BuildSummary summary, Build(env_, request));
    if (summary.failure) return *std::move(summary.failure);
    return summary;
  }

  /// "build toy-1.0-0" for each node that ran.
  static std::vector<std::string> Ran(const BuildSummary& summary) {
    std::vector<std::string> names;
    for (const StageTime& stage : summary.stages) {
      if (stage.ran) names.push_back(stage.stage + " " + stage.subject);
    }
    return names;
  }
  std::vector<std::string> Artifacts() {
    std::vector<std::string> found;
    for (const char* folder : {"conda/linux-64", "conda/noarch", "wheels", "zip"}) {
      const auto names = env_->fs.ListDir(output_ / folder);
      if (!names) continue;
      for (const std::string& name : *names) {
        for (const char* ending : {".conda", ".tar.bz2", ".whl", ".zip"}) {
          if (name.ends_with(ending)) found.push_back(name);
        }
      }
    }
    return found;
  }

  test::TestEnv env_;
  AbsPath output_ = env_.dir().path() / "dist";
};

inline constexpr const char* kCondaOnly = "about: {license: MIT}\nextra: {ptpkg: {formats: [conda]}}\n";

}  // namespace ptpkg::pipeline
