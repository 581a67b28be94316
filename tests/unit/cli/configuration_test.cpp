// Configuration files: keys, types, places, and which value counts.

#include "cli/configuration.h"

#include <gmock/gmock.h>

#include "cli/verbs/verbs.h"
#include "support/matchers.h"
#include "support/mem_fs.h"

namespace ptpkg::cli {
namespace {

using test::FailsWith;
using test::HasHint;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ConfigurationTest : public testing::Test {
 protected:
  Result<Configuration> Read(const std::string& text, const char* file = "/proj/ptpkg.toml") {
    return ParseConfiguration(program_, AbsPath::Literal(file), text);
  }
  std::vector<std::string> ValuesOf(const Configuration& configuration, const char* verb,
                                    const char* option) {
    const Verb* found = FindVerb(program_, verb);
    for (const Setting& setting : SettingsFor(configuration, program_, *found, variables_)) {
      if (setting.option == option) return setting.values;
    }
    return {};
  }

  CommonFlags flags_;
  Program program_ = MakeProgram(flags_);
  std::map<std::string, std::string> variables_;
};

TEST_F(ConfigurationTest, KeysAreLongOptionsAtTheTopAndInTablesOfVerbs) {
  const auto read = Read(R"(
jobs = 8
offline = true
env = "conda"
[build]
format = ["conda", "wheel"]
select = "python=3.11"
jobs = 4
[cache]
max-size = "20G"
)");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_THAT(ValuesOf(*read, "build", "--jobs"), ElementsAre("4"));
  EXPECT_THAT(ValuesOf(*read, "dev", "--jobs"), ElementsAre("8"));
  EXPECT_THAT(ValuesOf(*read, "dev", "--env"), ElementsAre("conda"));
  EXPECT_THAT(ValuesOf(*read, "run-node", "--offline"), ElementsAre("true"));
  EXPECT_THAT(ValuesOf(*read, "build", "--format"), ElementsAre("conda", "wheel"));
  EXPECT_THAT(ValuesOf(*read, "build", "--select"), ElementsAre("python=3.11"));
  EXPECT_THAT(ValuesOf(*read, "dev", "--select"), IsEmpty());
  EXPECT_THAT(ValuesOf(*read, "cache", "--max-size"), ElementsAre("20G"));
  EXPECT_EQ((*read)[3].line, 6);
  EXPECT_EQ((*read)[3].shown, R"(["conda", "wheel"])");
}

TEST_F(ConfigurationTest, AProjectSetsNoServerAndForcesNothing) {
  for (const char* text :
       {"[publish]\nserver = \"https://example.org\"\n", "[publish]\ncheck-url = \"https://example.org\"\n",
        "[build]\nforce = true\n", "[remove]\nyes = true\n"}) {
    EXPECT_THAT(Read(text), AllOf(FailsWith(ErrorCode::kUsage, HasSubstr("a project's file cannot set '")),
                                  HasHint(HasSubstr("config.toml"))));
    EXPECT_THAT(Read(text, "/home/.config/ptpkg/config.toml"), test::IsOk());
  }
  EXPECT_THAT(Read("[ci]\nserver = \"https://example.org\"\n"), test::IsOk());
}

TEST_F(ConfigurationTest, ErrorsNameTheLineAndTheNearestKey) {
  const auto unknown = Read("color = \"never\"\njbos = 3\n");
  EXPECT_THAT(unknown,
              AllOf(FailsWith(ErrorCode::kUsage, "unknown key 'jbos'"), HasHint("did you mean 'jobs'?")));
  EXPECT_EQ(unknown.error().span()->file.str(), "/proj/ptpkg.toml");
  EXPECT_EQ(unknown.error().span()->line, 2);
  EXPECT_EQ(unknown.error().span()->excerpt.str(), "jbos = 3");
  EXPECT_THAT(Read("[build]\nouptut = \"x\"\n"),
              AllOf(FailsWith(ErrorCode::kUsage, "unknown key 'ouptut' in [build]"),
                    HasHint("did you mean 'output'?")));
  EXPECT_THAT(Read("[biuld]\nfresh = true\n"),
              AllOf(FailsWith(ErrorCode::kUsage, "unknown table 'biuld'"), HasHint("did you mean 'build'?")));
  EXPECT_THAT(Read("max-size = \"1G\"\n"), HasHint("move it to a table: [cache]"));
  EXPECT_THAT(Read("[build]\nmax-size = \"1G\"\n"), HasHint("[cache] has it"));
  EXPECT_THAT(Read("version = true\n"), HasHint(HasSubstr("command line only")));
  for (const char* secret : {"[publish]\nserver-Token = \"hunter22\"\n", "\npassword = hunter22\n"}) {
    const auto refused = Read(secret);
    ASSERT_THAT(refused, testing::Not(test::IsOk()));
    EXPECT_EQ(refused.error().span()->line, 2);
    EXPECT_EQ(refused.error().span()->excerpt.str(), "");
  }
  const auto broken = Read("jobs = 3\ncolor = \n");
  EXPECT_THAT(broken, FailsWith(ErrorCode::kUsage, HasSubstr("not TOML")));
  EXPECT_EQ(broken.error().span()->line, 2);
}

TEST_F(ConfigurationTest, ValuesHaveTheTypeAndTheBoundsOfTheOption) {
  EXPECT_THAT(Read("jobs = \"many\""), FailsWith(ErrorCode::kUsage, "'jobs' takes a whole number"));
  EXPECT_THAT(Read("jobs = 0"), FailsWith(ErrorCode::kUsage, HasSubstr("from 1 to 1024")));
  EXPECT_THAT(Read("quiet = 1"), FailsWith(ErrorCode::kUsage, "'quiet' takes true or false"));
  EXPECT_THAT(Read("color = \"alwys\""), HasHint("did you mean 'always'?"));
  EXPECT_THAT(Read("color = [\"always\"]"), FailsWith(ErrorCode::kUsage, "'color' takes a string"));
  EXPECT_THAT(Read("cache-dir = \"\""), FailsWith(ErrorCode::kUsage, HasSubstr("is empty")));
  EXPECT_THAT(Read("[build]\nselect = []"), FailsWith(ErrorCode::kUsage, "the list 'select' is empty"));
  EXPECT_THAT(Read("[build]\nselect = [1]"), FailsWith(ErrorCode::kUsage, HasSubstr("a list of strings")));
}

TEST_F(ConfigurationTest, SecretsAreRefused) {
  EXPECT_THAT(Read("[publish]\ntoken = \"abc\""),
              AllOf(FailsWith(ErrorCode::kUsage, HasSubstr("unknown key 'token'")),
                    HasHint(HasSubstr("environment variable"))));
  const auto url = Read("[publish]\nserver = \"https://me:hunter22@example.org/\"");
  EXPECT_THAT(url, AllOf(FailsWith(ErrorCode::kUsage, "the URL of 'server' holds a password"),
                         HasHint(HasSubstr("environment variable"))));
  EXPECT_EQ(FormatError(url.error()).find("hunter22"), std::string::npos);
}

TEST_F(ConfigurationTest, RelativePathsBeginAtTheFile) {
  const auto read = Read(R"(
cache-dir = "../cache"
python-exe = "python3.11:bin/python3.12"
cuda-home = "cuda:/opt/cuda"
[build]
output = "out"
source = ["toy=../toy", "other=https://host/x.tar.gz"]
[ci]
output = "-"
)");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_THAT(ValuesOf(*read, "build", "--cache-dir"), ElementsAre("/cache"));
  EXPECT_THAT(ValuesOf(*read, "build", "--python-exe"), ElementsAre("python3.11:/proj/bin/python3.12"));
  EXPECT_THAT(ValuesOf(*read, "build", "--cuda-home"), ElementsAre("/proj/cuda:/opt/cuda"));
  EXPECT_THAT(ValuesOf(*read, "build", "--output"), ElementsAre("/proj/out"));
  EXPECT_THAT(ValuesOf(*read, "build", "--source"), ElementsAre("toy=/toy", "other=https://host/x.tar.gz"));
  EXPECT_THAT(ValuesOf(*read, "ci", "--output"), ElementsAre("-"));
}

TEST_F(ConfigurationTest, LaterFilesWinAndVariablesWinOverThem) {
  auto all = Read("jobs = 2\noffline = true\n[build]\njobs = 3\noutput = \"/a\"\n");
  const auto user = Read("jobs = 4\n", "/home/me/.config/ptpkg/config.toml");
  ASSERT_TRUE(all && user);
  all->insert(all->end(), user->begin(), user->end());
  EXPECT_THAT(ValuesOf(*all, "build", "--jobs"), ElementsAre("4"));
  EXPECT_THAT(ValuesOf(*all, "build", "--output"), ElementsAre("/a"));
  variables_["PTPKG_OFFLINE"] = "0";
  EXPECT_THAT(ValuesOf(*all, "build", "--offline"), IsEmpty());
  variables_["PTPKG_OFFLINE"] = "";
  EXPECT_THAT(ValuesOf(*all, "build", "--offline"), ElementsAre("true")) << "empty counts as unset";
}

TEST_F(ConfigurationTest, FilesAreFoundBesideTheRecipeAboveItAndAtHome) {
  test::MemFs fs;
  const auto found = [&](const char* cwd, std::optional<AbsPath> recipe) {
    std::vector<std::string> names;
    for (const AbsPath& file : FindConfigurationFiles(
             fs, {.cwd = AbsPath::Literal(cwd), .variables = variables_, .recipe = std::move(recipe)}))
      names.push_back(file.str());
    return names;
  };
  variables_["HOME"] = "/home/me";
  fs.AddFile("/proj/recipes/toy/recipe.yaml", "");
  fs.AddFile("/here/ptpkg.toml", "");
  EXPECT_THAT(found("/here/sub", AbsPath::Literal("/proj/recipes/toy/recipe.yaml")),
              ElementsAre("/here/ptpkg.toml"));
  fs.AddFile("/proj/ptpkg.toml", "");
  fs.AddFile("/home/me/.config/ptpkg/config.toml", "");
  for (const char* recipe : {"/proj/recipes/toy/recipe.yaml", "/proj/recipes/toy", "/proj/missing"}) {
    EXPECT_THAT(found("/here/sub", AbsPath::Literal(recipe)),
                ElementsAre("/proj/ptpkg.toml", "/home/me/.config/ptpkg/config.toml"))
        << recipe;
  }
  EXPECT_THAT(found("/", std::nullopt), ElementsAre("/home/me/.config/ptpkg/config.toml"));
  variables_["XDG_CONFIG_HOME"] = "/etc/xdg";
  EXPECT_THAT(found("/", std::nullopt), IsEmpty());
}

TEST_F(ConfigurationTest, TheRecipeIsAmongTheArguments) {
  const auto recipe = [&](const char* verb, const std::vector<std::string>& words) {
    const auto path = RecipeOf(*FindVerb(program_, verb), words, AbsPath::Literal("/cwd"));
    return path && *path ? (**path).str() : "";
  };
  EXPECT_EQ(recipe("build", {"a", "b"}), "/cwd/a");
  EXPECT_EQ(recipe("ci", {"github", "/b"}), "/b");
  EXPECT_EQ(recipe("doctor", {}), "");
  EXPECT_EQ(recipe("publish", {"dist"}), "");
}

/// Every option with a value is reachable by one key of one type.
TEST_F(ConfigurationTest, EveryLongOptionIsAKey) {
  for (const Verb& verb : program_.verbs) {
    for (const Option& option : verb.options) {
      if (option.IsPositional()) continue;
      std::string value = "\"word\"";
      if (!option.choices.empty()) value = "\"" + option.choices.front() + "\"";
      if (option.IsFlag()) value = "true";
      if (std::holds_alternative<Number>(option.target)) value = "7";
      const std::string text = "[" + verb.name + "]\n" + option.LongName().substr(2) + " = " + value;
      EXPECT_TRUE(Read(text, "/home/.config/ptpkg/config.toml")) << text;
    }
  }
}

}  // namespace
}  // namespace ptpkg::cli
