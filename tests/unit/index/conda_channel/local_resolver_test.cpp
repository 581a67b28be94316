// Which packages of our own channel a build uses.

#include "index/conda_channel/local_resolver.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/matchers.h"

namespace ptpkg::index {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// "libx-1.0-h_0" and what it depends on.
Candidate Pack(const std::string& stem, std::vector<std::string> depends = {}) {
  const std::size_t build = stem.rfind('-');
  const std::size_t version = stem.rfind('-', build - 1);
  Candidate candidate;
  candidate.name = stem.substr(0, version);
  candidate.version = stem.substr(version + 1, build - version - 1);
  candidate.build = stem.substr(build + 1);
  candidate.subdir = "linux-64";
  candidate.depends = std::move(depends);
  candidate.file_name = stem + ".conda";
  return candidate;
}

std::vector<versions::MatchSpec> Specs(const std::vector<std::string>& texts) {
  std::vector<versions::MatchSpec> specs;
  for (const std::string& text : texts) {
    auto spec = versions::MatchSpec::Parse(text);
    EXPECT_OK(spec);
    specs.push_back(*spec);
  }
  return specs;
}

Request Host(const std::vector<std::string>& host, const std::vector<std::string>& build = {}) {
  return {.host = Specs(host),
          .build = Specs(build),
          .ignore_by_name = {},
          .ignore_from_package = {},
          .subdir = "linux-64"};
}

std::vector<std::string> Stems(const Result<Resolution>& resolution) {
  EXPECT_THAT(resolution, IsOk());
  std::vector<std::string> stems;
  if (!resolution) return stems;
  for (const Candidate& candidate : resolution->packages) stems.push_back(candidate.Stem());
  return stems;
}

TEST(Resolve, TakesTheNewestThatFitsAndWhatItNeeds) {
  const std::vector<Candidate> channel = {Pack("magma-2.9.0-1"), Pack("magma-2.10.0-1", {"blas", "libc >=2"}),
                                          Pack("magma-3.0-1"), Pack("blas-1.0-h_0"), Pack("other-1-0")};
  EXPECT_THAT(Stems(Resolve(channel, Host({"magma <3", "cmake"}))),
              ElementsAre("magma-2.10.0-1", "blas-1.0-h_0"));
}

TEST(Resolve, NewerIsVersionThenBuildNumberThenBuild) {
  Candidate first = Pack("magma-1-cpu_9");
  first.build_number = 9;
  Candidate second = Pack("magma-1-cpu_10");
  second.build_number = 10;
  EXPECT_THAT(Stems(Resolve({first, second}, Host({"magma"}))), ElementsAre("magma-1-cpu_10"));
  EXPECT_THAT(Stems(Resolve({second, first}, Host({"magma"}))), ElementsAre("magma-1-cpu_10"));
  EXPECT_THAT(Stems(Resolve({Pack("a-1-b"), Pack("a-1-c"), Pack("a-1-a")}, Host({"a"}))),
              ElementsAre("a-1-c"));
}

TEST(Resolve, AConstraintOfTheRequestBindsWhatAnotherPackagePulledIn) {
  // mid comes first and would take libx 2.0.
  const std::vector<Candidate> channel = {Pack("mid-1-0", {"libx"}), Pack("libx-1.0-0"), Pack("libx-2.0-0")};
  EXPECT_THAT(Stems(Resolve(channel, Host({"mid", "libx ==1.0"}))), ElementsAre("mid-1-0", "libx-1.0-0"));
  EXPECT_THAT(Stems(Resolve(channel, Host({"mid"}, {"libx ==1.0"}))), ElementsAre("mid-1-0", "libx-1.0-0"));
  EXPECT_THAT(Stems(Resolve(channel, Host({"mid"}))), ElementsAre("mid-1-0", "libx-2.0-0"));
}

TEST(Resolve, TakesAnOlderPackageWhereTheNewestCollides) {
  const std::vector<Candidate> channel = {Pack("mid-2-0", {"libx >=2"}), Pack("mid-1-0", {"libx <2"}),
                                          Pack("libx-1.0-0"), Pack("libx-2.0-0")};
  EXPECT_THAT(Stems(Resolve(channel, Host({"mid", "libx <2"}))), ElementsAre("mid-1-0", "libx-1.0-0"));
}

TEST(Resolve, TriesAgainFarBack) {
  // top 2 leads to a 2, whose need of c ==1 shows only after c was taken for b.
  const std::vector<Candidate> channel = {
      Pack("top-2-0", {"b", "a"}), Pack("top-1-0", {"b"}), Pack("a-2-0", {"d"}),
      Pack("d-1-0", {"c ==1"}),    Pack("b-1-0", {"c"}),   Pack("c-2-0", {"e ==2"}),
      Pack("c-1-0", {"e"}),        Pack("e-1-0"),          Pack("e-2-0"),
  };
  EXPECT_THAT(Stems(Resolve(channel, Host({"top"}))),
              ElementsAre("top-2-0", "b-1-0", "a-2-0", "c-1-0", "d-1-0", "e-2-0"));
}

TEST(Resolve, NamesTheTwoThatCollideAndWhoAsks) {
  const std::vector<Candidate> channel = {Pack("mid-1-0", {"libx >=2"}), Pack("libx-1.0-0"),
                                          Pack("libx-2.0-0")};
  const auto failed = Resolve(channel, Host({"mid", "libx ==1.0"}));
  ASSERT_THAT(failed,
              FailsWith(ErrorCode::kNotFound,
                        "'libx ==1.0' (required by requirements.host) and 'libx >=2' (required by mid-1-0) "
                        "exclude each other: no package of the output channel satisfies both"));
  EXPECT_EQ(failed.error().hint(), "the channel has libx-2.0-0, libx-1.0-0");
  EXPECT_THAT(
      Resolve(channel, Host({"libx <2"}, {"libx >=2"})),
      FailsWith(ErrorCode::kNotFound, AllOf(HasSubstr("'libx <2' (required by requirements.host)"),
                                            HasSubstr("'libx >=2' (required by requirements.build)"))));
}

TEST(Resolve, NamesAConstraintThatNothingSatisfies) {
  const std::vector<Candidate> channel = {Pack("magma-2.9.0-1"), Pack("top-1-0", {"magma >=4"})};
  const auto failed = Resolve(channel, Host({"magma >=3"}));
  ASSERT_THAT(
      failed,
      FailsWith(ErrorCode::kNotFound,
                "no package of the output channel satisfies 'magma >=3' (required by requirements.host)"));
  EXPECT_EQ(failed.error().hint(), "the channel has magma-2.9.0-1");
  EXPECT_THAT(Resolve(channel, Host({"top"})),
              FailsWith(ErrorCode::kNotFound, HasSubstr("'magma >=4' (required by top-1-0)")));
}

TEST(Resolve, ThreeCanExcludeEachOther) {
  const std::vector<Candidate> channel = {Pack("x-1-0"), Pack("x-2-0"), Pack("x-3-0"),
                                          Pack("a-1-0", {"x 1|3"})};
  EXPECT_THAT(Resolve(channel, Host({"x 1|2", "x 2|3", "a"})),
              FailsWith(ErrorCode::kNotFound, AllOf(HasSubstr("'x 1|2'"), HasSubstr("'x 2|3'"),
                                                    HasSubstr("'x 1|3' (required by a-1-0)"))));
}

TEST(Resolve, NamesAChoiceThatIsExcludedWhenNoTwoConstraintsCollide) {
  // c 2 leads to q, which wants c 1; c 1 leads to r, which wants c 2.
  const std::vector<Candidate> channel = {Pack("c-2-0", {"q"}), Pack("c-1-0", {"r"}), Pack("q-1-0", {"c 1"}),
                                          Pack("r-1-0", {"c 2"})};
  EXPECT_THAT(
      Resolve(channel, Host({"c"})),
      FailsWith(
          ErrorCode::kNotFound,
          "'c 1' (required by q-1-0) excludes c-2-0, which 'c' (required by requirements.host) requires"));
}

TEST(Resolve, ConstrainsHoldOnlyForWhatIsDemanded) {
  Candidate mid = Pack("mid-1-0");
  mid.constrains = {"libx <2"};
  const std::vector<Candidate> channel = {mid, Pack("libx-1.0-0"), Pack("libx-2.0-0"),
                                          Pack("user-1-0", {"libx"})};
  EXPECT_THAT(Stems(Resolve(channel, Host({"mid"}))), ElementsAre("mid-1-0"));
  EXPECT_THAT(Stems(Resolve(channel, Host({"mid", "user"}))),
              ElementsAre("mid-1-0", "user-1-0", "libx-1.0-0"));
  EXPECT_THAT(Stems(Resolve(channel, Host({"user", "mid"}))),
              ElementsAre("user-1-0", "mid-1-0", "libx-1.0-0"));
  EXPECT_THAT(Resolve(channel, Host({"mid", "libx 2.*"})),
              FailsWith(ErrorCode::kNotFound, HasSubstr("'libx <2' (required by mid-1-0)")));
}

TEST(Resolve, WhatTheChannelLacksIsTheMachines) {
  EXPECT_THAT(Stems(Resolve({}, Host({"cmake", "numpy >=1"}, {"gcc_linux-64 12.*"}))), IsEmpty());
  // Of a name elsewhere nobody can say what there is, but what excludes itself is nowhere.
  const std::vector<Candidate> channel = {Pack("ext-1-py311_0", {"python >=3.11,<3.12.0a0"}),
                                          Pack("ext-1-py312_0", {"python >=3.12,<3.13.0a0"})};
  EXPECT_THAT(Stems(Resolve(channel, Host({"python 3.11.*", "ext"}))), ElementsAre("ext-1-py311_0"));
  EXPECT_THAT(Stems(Resolve(channel, Host({"ext", "python 3.12.*"}))), ElementsAre("ext-1-py312_0"));
  const auto failed = Resolve(channel, Host({"python 3.13.*", "ext"}));
  ASSERT_THAT(failed, FailsWith(ErrorCode::kNotFound,
                                "'python 3.13.*' (required by requirements.host) and 'python "
                                ">=3.12,<3.13.0a0' (required by ext-1-py312_0) exclude each other"));
  // A client makes the build prefix, with another Python if need be.
  EXPECT_THAT(Stems(Resolve(channel, Host({"ext"}, {"python 3.13.*"}))), ElementsAre("ext-1-py312_0"));
}

TEST(Resolve, ADependencyThatIsNoMatchSpecCountsOnlyInTheChannel) {
  const std::vector<Candidate> channel = {Pack("mid-1-0", {"libx[build_number='>=2']", "far[build=x]"}),
                                          Pack("libx-1.0-0")};
  const auto failed = Resolve(channel, Host({"mid"}));
  ASSERT_THAT(failed, FailsWith(ErrorCode::kUnsupported, HasSubstr("asks for 'build_number'")));
  EXPECT_THAT(FormatError(failed.error()), HasSubstr("mid-1-0"));
  EXPECT_THAT(Stems(Resolve({channel[0]}, Host({"mid"}))), ElementsAre("mid-1-0"));
  EXPECT_THAT(Stems(Resolve(channel, Host({"libx"}))), ElementsAre("libx-1.0-0"));
}

TEST(Resolve, ANoarchPackageMayUsePackagesOfThePlatform) {
  Candidate pure = Pack("pure-1-0");
  pure.subdir = "noarch";
  Candidate other = Pack("lib-2-0");
  other.subdir = "linux-aarch64";
  Request request = Host({"lib", "pure"});
  EXPECT_THAT(Stems(Resolve({pure, Pack("lib-1-0"), other}, request)), ElementsAre("lib-1-0", "pure-1-0"));
  request.subdir = "noarch";
  EXPECT_THAT(Stems(Resolve({pure, Pack("lib-1-0")}, request)), ElementsAre("lib-1-0", "pure-1-0"));
}

TEST(Resolve, APlannedPackageTakesThePlaceOfTheOldOne) {
  Candidate planned = Pack("lib-1-0", {"dep"});
  planned.planned_by = "node-7";
  planned.build_number = 1;
  for (const auto& channel : {std::vector<Candidate>{Pack("lib-1-0"), planned, Pack("dep-1-0")},
                              std::vector<Candidate>{planned, Pack("dep-1-0"), Pack("lib-1-0")}}) {
    const auto resolved = Resolve(channel, Host({"lib"}));
    EXPECT_THAT(Stems(resolved), ElementsAre("lib-1-0", "dep-1-0"));
    EXPECT_EQ(resolved->packages[0].planned_by, "node-7");
  }
}

TEST(Resolve, OfTwoFormatsTakesConda) {
  Candidate old = Pack("lib-1-0");
  old.format = ArtifactFormat::kTarBz2;
  for (const auto& channel :
       {std::vector<Candidate>{Pack("lib-1-0"), old}, std::vector<Candidate>{old, Pack("lib-1-0")}}) {
    const auto resolved = Resolve(channel, Host({"lib"}));
    ASSERT_THAT(resolved, IsOk());
    ASSERT_EQ(resolved->packages.size(), 1U);
    EXPECT_EQ(resolved->packages[0].format, ArtifactFormat::kConda);
  }
}

TEST(Resolve, TakesThePackageForAllGpusBeforeItsSlices) {
  Candidate slice = Pack("lib-1-h_0_sm90", {"__cuda_arch 9.0.*"});
  slice.build_number = 90;
  const Candidate whole = Pack("lib-1-h_0");
  for (const auto& channel : {std::vector<Candidate>{slice, whole}, std::vector<Candidate>{whole, slice}})
    EXPECT_THAT(Stems(Resolve(channel, Host({"lib"}))), ElementsAre("lib-1-h_0"));
  EXPECT_THAT(Stems(Resolve({slice, whole}, Host({"lib 1 h_0_sm90"}))), ElementsAre("lib-1-h_0_sm90"))
      << "who names it gets it";
  Candidate other = Pack("lib-1-h_sm90");  // only its name is like one
  other.build_number = 1;
  EXPECT_THAT(Stems(Resolve({other, whole}, Host({"lib"}))), ElementsAre("lib-1-h_sm90"));
}

TEST(Resolve, ADamagedPackageIsAnErrorWhereItWouldBeTaken) {
  Candidate damaged = Pack("lib-2-0");
  damaged.damage = "its index.json is missing";
  const std::vector<Candidate> channel = {damaged, Pack("lib-1-0"), Pack("other-1-0")};
  const auto failed = Resolve(channel, Host({"lib"}));
  ASSERT_THAT(failed,
              FailsWith(ErrorCode::kCorrupt, AllOf(HasSubstr("'lib-2-0.conda'"), HasSubstr("index.json"))));
  EXPECT_THAT(failed.error().hint(), HasSubstr("build the package again"));
  EXPECT_THAT(Stems(Resolve(channel, Host({"lib <2", "other"}))), ElementsAre("lib-1-0", "other-1-0"));
}

/// A channel in which `lib` exports every kind, and depends on `deep`, which exports too.
std::vector<Candidate> Exporting() {
  Candidate lib = Pack("lib-1-0", {"deep"});
  Candidate deep = Pack("deep-1-0");
  for (const char* kind : {"weak", "strong", "noarch", "weak_constrains", "strong_constrains"}) {
    lib.run_exports[kind] = {fmt::format("lib-{} >=1", kind)};
    deep.run_exports[kind] = {"deep >=1"};
  }
  return {lib, deep};
}

TEST(Resolve, TakesRunExportsOverByConda) {
  const auto channel = Exporting();
  const auto host = Resolve(channel, Host({"lib"}));
  ASSERT_THAT(host, IsOk());
  EXPECT_THAT(host->run_exports, ElementsAre("lib-weak >=1", "lib-strong >=1"));
  EXPECT_THAT(host->run_constrains, ElementsAre("lib-weak_constrains >=1", "lib-strong_constrains >=1"));
  const auto build = Resolve(channel, Host({}, {"lib"}));
  ASSERT_THAT(build, IsOk());
  EXPECT_THAT(build->run_exports, ElementsAre("lib-strong >=1"));
  EXPECT_THAT(build->run_constrains, ElementsAre("lib-strong_constrains >=1"));
  Request noarch = Host({"lib"}, {"deep"});
  noarch.subdir = "noarch";
  const auto pure = Resolve(channel, noarch);
  ASSERT_THAT(pure, IsOk());
  EXPECT_THAT(pure->run_exports, ElementsAre("lib-noarch >=1"));
  EXPECT_THAT(pure->run_constrains, IsEmpty());
}

TEST(Resolve, IgnoresRunExportsByNameAndByPackage) {
  Request by_name = Host({"lib", "deep"});
  by_name.ignore_by_name = {"lib-strong", "lib-weak_constrains"};
  const auto named = Resolve(Exporting(), by_name);
  ASSERT_THAT(named, IsOk());
  EXPECT_THAT(named->run_exports, ElementsAre("lib-weak >=1", "deep >=1"));
  EXPECT_THAT(named->run_constrains, ElementsAre("lib-strong_constrains >=1", "deep >=1"));
  Request from_package = Host({"lib", "deep"});
  from_package.ignore_from_package = {"lib"};
  const auto from = Resolve(Exporting(), from_package);
  ASSERT_THAT(from, IsOk());
  EXPECT_THAT(from->run_exports, ElementsAre("deep >=1"));
}

TEST(Resolve, StrongRunExportsOfBuildAreRequirementsOfHost) {
  Candidate compiler = Pack("compiler-1-0");
  compiler.run_exports["strong"] = {"libgcc <2"};
  const std::vector<Candidate> channel = {compiler, Pack("libgcc-1-0"), Pack("libgcc-2-0")};
  const auto resolved = Resolve(channel, Host({}, {"compiler"}));
  EXPECT_THAT(Stems(resolved), ElementsAre("compiler-1-0", "libgcc-1-0"));
  EXPECT_THAT(resolved->run_exports, ElementsAre("libgcc <2"));
  EXPECT_THAT(
      Resolve(channel, Host({"libgcc >=2"}, {"compiler"})),
      FailsWith(ErrorCode::kNotFound, HasSubstr("(required by the strong run exports of compiler-1-0)")));
  Request ignoring = Host({"libgcc >=2"}, {"compiler"});
  ignoring.ignore_from_package = {"compiler"};
  EXPECT_THAT(Stems(Resolve(channel, ignoring)), ElementsAre("libgcc-2-0", "compiler-1-0"));
}

TEST(Resolve, GivesUpAfterManyChoices) {
  // Ten names with ten versions each, and a last one that none of the combinations suits.
  std::vector<Candidate> channel = {
      Pack("end-1-0", {"z 1"}), Pack("end-2-0", {"z 2"}), Pack("z-3-0"),
      Pack("z-1-0", {"y"}),     Pack("z-2-0", {"y"}),     Pack("y-1-0", {"z 3"})};
  std::vector<std::string> host;
  for (char name = 'a'; name < 'k'; ++name) {
    for (int version = 0; version < 10; ++version)
      channel.push_back(Pack(fmt::format("{}-{}-0", name, version)));
    host.emplace_back(1, name);
  }
  host.emplace_back("end");
  EXPECT_THAT(Resolve(channel, Host(host)),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("after 10000 choices")));
}

TEST(Resolve, TheOrderOfTheCandidatesDoesNotMatter) {
  std::vector<Candidate> channel = {Pack("mid-2-0", {"libx >=2"}), Pack("mid-1-0", {"libx <2"}),
                                    Pack("libx-1.0-0"), Pack("libx-2.0-0"), Pack("libx-2.0.0-0")};
  const auto less = [](const Candidate& left, const Candidate& right) { return left.Stem() < right.Stem(); };
  std::sort(channel.begin(), channel.end(), less);
  const std::vector<std::string> expected = Stems(Resolve(channel, Host({"mid"})));
  EXPECT_THAT(expected, Not(IsEmpty()));
  while (std::next_permutation(channel.begin(), channel.end(), less)) {
    EXPECT_EQ(Stems(Resolve(channel, Host({"mid"}))), expected);
  }
}

TEST(Resolve, CyclesOfDependenciesEnd) {
  const std::vector<Candidate> channel = {Pack("a-1-0", {"b"}), Pack("b-1-0", {"a", "b"})};
  EXPECT_THAT(Stems(Resolve(channel, Host({"a"}))), ElementsAre("a-1-0", "b-1-0"));
}

}  // namespace
}  // namespace ptpkg::index
