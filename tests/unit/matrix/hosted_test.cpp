#include "matrix/hosted.h"

#include "unit/matrix/matrix_fixture.h"

namespace ptpkg::matrix {
namespace {

using test::FailsWith;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Run RunOf(const graph::Plan& plan, Publishing publishing) {
  matrix::Run run{.folder = AbsPath::Literal("/shared/run")};
  run.settings.key = "abc";
  run.graph = GroupNodes(plan, publishing);
  return run;
}

const std::string& TextOf(const std::vector<HostedFile>& files, const std::string& name) {
  static const std::string kNone;
  for (const HostedFile& file : files) {
    if (file.name == name) return file.text;
  }
  ADD_FAILURE() << "no file " << name;
  return kNone;
}

TEST(HostedTest, AnEntryHasTheNamesOfPytorchsWorkflows) {
  Job job{.id = "torch-2.9-py312_cuda13"};
  job.nodes = {"build/torch-2.9-py312_cuda13", "wheel/torch-2.9-py312_cuda13"};
  job.variant = {{"python", "3.12"}, {"cuda_compiler_version", "13.0"}};
  EXPECT_EQ(IncludeEntry(job), (Json{{"id", job.id},
                                     {"build_name", job.id},
                                     {"DESIRED_PYTHON", "3.12"},
                                     {"DESIRED_CUDA", "cu130"},
                                     {"GPU_ARCH_TYPE", "cuda"},
                                     {"GPU_ARCH_VERSION", "13.0"},
                                     {"PACKAGE_TYPE", "manywheel"}}));
  job.variant = {{"cuda_compiler_version", "None"}, {"rocm_version", "6.4"}};
  job.nodes = {"build/x", "zip/x"};
  EXPECT_EQ(IncludeEntry(job)["DESIRED_CUDA"], "rocm6.4");
  EXPECT_EQ(IncludeEntry(job)["PACKAGE_TYPE"], "libtorch");
  job.variant = {};
  job.nodes = {"build/x", "conda/x"};
  EXPECT_EQ(IncludeEntry(job)["DESIRED_CUDA"], "cpu");
  EXPECT_EQ(IncludeEntry(job)["PACKAGE_TYPE"], "conda");
}

TEST(HostedTest, AMatrixOfGithubHas256JobsAtMost) {
  graph::Plan plan;
  for (int i = 0; i < 300; ++i) AddPackage(plan, "toy-" + std::to_string(i));
  ASSERT_OK_AND_ASSIGN(const auto files, GithubFiles(RunOf(plan, Publishing::kInLastJob),
                                                     {.arguments = {"recipes/toy", "--select=a=${{ b }}"}}));
  ASSERT_OK_AND_ASSIGN(const Json first, ParseJson(TextOf(files, "github/level-1-1.json"), "first"));
  ASSERT_OK_AND_ASSIGN(const Json second, ParseJson(TextOf(files, "github/level-1-2.json"), "second"));
  EXPECT_EQ(first["include"].size(), 256U);
  EXPECT_EQ(second["include"].size(), 44U);
  const std::string& workflow = TextOf(files, "github/matrix.yml");
  EXPECT_THAT(workflow, AllOf(HasSubstr("  level-2-1:\n"), HasSubstr("needs: [plan, level-1-1, level-1-2]"),
                              HasSubstr("level_1_2: ${{ steps.plan.outputs.level_1_2 }}"),
                              HasSubstr("PTPKG_JOB: ${{ matrix.id }}"),
                              HasSubstr("'%s\\n' level-1-1 level-1-2 level-2-1 |")));
  // Text of a recipe is no expression of the workflow.
  EXPECT_THAT(workflow, Not(HasSubstr("\\n--select=a=${{ b")));
}

TEST(HostedTest, AStageOfGitlabIsALevel) {
  ASSERT_OK_AND_ASSIGN(const auto files,
                       GitlabFiles(RunOf(TorchPlan(), Publishing::kInLastJob), {.labels = {"big"}}));
  const std::string& text = TextOf(files, "gitlab/child.yml");
  EXPECT_THAT(text, AllOf(HasSubstr("stages: [plan, level-1, level-2, level-3]"),
                          HasSubstr("\"torch-a\":\n  stage: level-2\n"), HasSubstr("tags: [\"big\"]"),
                          HasSubstr("image: $PTPKG_IMAGE"), HasSubstr("paths: [\"results/publish.tar\"]")));
}

TEST(HostedTest, AJobOfGitlabKeepsThePlacesOfThePlan) {
  ASSERT_OK_AND_ASSIGN(const auto files,
                       GitlabFiles(RunOf(TorchPlan(), Publishing::kInLastJob), {.arguments = {"recipes/toy"},
                                                                                .image = "i@sha256:0",
                                                                                .labels = {"big"},
                                                                                .run = "out/a run",
                                                                                .cache = "out/cache",
                                                                                .output = "out/dist"}));
  const std::string& text = TextOf(files, "gitlab/child.yml");
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("# Written by: ptpkg matrix recipes/toy --on gitlab '--run=out/a run' "
                      "--output=out/dist --cache-dir=out/cache --image=i@sha256:0 --runner=big\n"),
            HasSubstr("#   tar -cf run.tar 'out/a run'\n"), HasSubstr("artifact: out/a run/gitlab/child.yml"),
            HasSubstr("ptpkg run-node 'out/a run' \"$PTPKG_JOB\""),
            HasSubstr("find 'out/a run' out/cache/stages out/cache/waiting out/dist -cnewer "
                      "job.stamp ! -path 'out/cache/stages/results/build/*' -print0")));
}

TEST(HostedTest, AJobOfKubernetesHasTheJobsOfALevelThatAreAlike) {
  graph::Plan plan = TorchPlan();
  plan.nodes[4].options = {{"gpus", "2"}, {"minutes", "90"}};
  const auto files =
      KubernetesFiles(RunOf(plan, Publishing::kInEachJob), {.image = "i@sha256:0",
                                                            .claim = "shared",
                                                            .mount = AbsPath::Literal("/shared"),
                                                            .program = "/usr/bin/ptpkg"});
  EXPECT_EQ(TextOf(files, "kubernetes/ptpkg-abc-1-1.index"), "0 magma\n");
  EXPECT_EQ(TextOf(files, "kubernetes/ptpkg-abc-2-1.index"), "0 torch-b\n");
  EXPECT_EQ(TextOf(files, "kubernetes/ptpkg-abc-2-2.index"), "0 torch-a\n");
  EXPECT_THAT(TextOf(files, "kubernetes/ptpkg-abc-2-2.yaml"),
              AllOf(HasSubstr("nvidia.com/gpu: 2"), HasSubstr("activeDeadlineSeconds: 7200"),
                    // Kubernetes before 1.35 wants a status.
                    HasSubstr("[{type: DisruptionTarget, status: \"True\"}]"),
                    HasSubstr("claimName: \"shared\""), HasSubstr("memory: 7630Mi")));
  EXPECT_THAT(TextOf(files, "kubernetes/run.sh"),
              HasSubstr("level ptpkg-abc-2-1 ptpkg-abc-2-2\nlevel ptpkg-abc-3-1\n"));
  for (const HostedFile& file : files) {
    if (file.name.ends_with(".index")) continue;
    EXPECT_THAT(file.text, HasSubstr("for Kubernetes 1.29 or later"));
  }
}

TEST(HostedTest, AJobWithGpusNeedsARunnerThatTheUserChose) {
  graph::Plan plan = TorchPlan();
  plan.nodes[4].options = {{"gpus", "2"}};
  const matrix::Run run = RunOf(plan, Publishing::kInLastJob);
  const auto refused = FailsWith(ErrorCode::kUnsupported, HasSubstr("job 'torch-a' asks for 2 GPUs"));
  EXPECT_THAT(GithubFiles(run, {}), refused);
  EXPECT_THAT(GitlabFiles(run, {}), refused);
  EXPECT_OK(GithubFiles(run, {.labels = {"gpu"}}));
  EXPECT_OK(GitlabFiles(run, {.labels = {"gpu"}}));
}

TEST(HostedTest, FilesThatAServiceDoesNotTakeAreRefused) {
  graph::Plan plan;
  for (int i = 0; i < 4000; ++i) AddPackage(plan, "toy-" + std::to_string(i));
  EXPECT_THAT(GithubFiles(RunOf(plan, Publishing::kInLastJob), {}),
              FailsWith(ErrorCode::kUnsupported,
                        AllOf(HasSubstr("the lists of jobs have"), HasSubstr("but GitHub takes 1048576"))));
  EXPECT_THAT(GitlabFiles(RunOf(plan, Publishing::kInLastJob), {}),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("but GitLab takes 2000000")));
}

}  // namespace
}  // namespace ptpkg::matrix
