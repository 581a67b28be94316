#pragma once
// Plans and runs for the tests of src/matrix.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matrix/run_folder.h"
#include "support/matchers.h"
#include "support/must.h"
#include "support/test_env.h"

namespace ptpkg::matrix {

inline graph::Node NodeOf(const std::string& stage, const std::string& subject,
                          std::map<std::string, std::string> needs = {}, std::set<std::string> after = {}) {
  graph::Node node{.id = stage + "/" + subject, .stage = stage, .subject = subject};
  node.needs = std::move(needs);
  node.after = std::move(after);
  return node;
}

/// Build, pack, check and publish one package, as plans of recipes do.
inline void AddPackage(graph::Plan& plan, const std::string& subject,
                       std::map<std::string, std::string> needs = {}, std::set<std::string> after = {}) {
  plan.nodes.push_back(NodeOf("build", subject, std::move(needs), std::move(after)));
  plan.nodes.push_back(NodeOf("conda", subject, {{"staged tree", "build/" + subject}}));
  plan.nodes.push_back(NodeOf("check", subject, {{"artifacts", "conda/" + subject}}));
  plan.nodes.push_back(
      NodeOf("publish", subject, {{"conda", "conda/" + subject}, {"passed", "check/" + subject}}));
}

/// magma → two torches, and the index.
inline graph::Plan TorchPlan() {
  graph::Plan plan;
  AddPackage(plan, "magma");
  for (const char* torch : {"torch-a", "torch-b"})
    AddPackage(plan, torch, {{"package magma", "conda/magma"}}, {"check/magma"});
  plan.nodes.push_back(
      NodeOf("index", "dist", {{"1", "publish/magma"}, {"2", "publish/torch-a"}, {"3", "publish/torch-b"}}));
  return plan;
}

class MatrixTest : public ::testing::Test {
 protected:
  matrix::Run NewRun(const graph::Plan& plan = TorchPlan()) {
    matrix::Run run{.folder = env_.dir().path() / "run"};
    run.settings = {.key = "abc",
                    .version = "1 (c)",
                    .engine = "local",
                    .cache = env_->cache_dir,
                    .output = env_.dir().path() / "dist",
                    .lease_seconds = 10,
                    .remote_cache = "s3://bucket/team",
                    .remote_cache_read_only = true};
    run.graph = GroupNodes(plan, Publishing::kInEachJob);
    test::Must(CreateRun(env_, run, plan));
    return run;
  }

  test::TestEnv env_;
};

}  // namespace ptpkg::matrix
