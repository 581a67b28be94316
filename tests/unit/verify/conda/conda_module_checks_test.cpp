// Places and suffixes of modules that the Pythons of a conda package do not find.

#include "verify/conda/conda_module_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/text/json.h"

namespace ptpkg::verify {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kSite = "lib/python3.11/site-packages/";
const std::string kEnd = "-x86_64-linux-gnu.so";

class CondaModuleChecksTest : public ::testing::Test {
 protected:
  std::vector<Finding> Check(const std::vector<std::string>& depends, const std::vector<std::string>& files) {
    index_["depends"] = depends;
    StagedTree tree{.root = AbsPath::Literal("/tree")};
    for (const std::string& path : files) tree.entries.push_back({.path = RelPath::Literal(path)});
    std::vector<Finding> findings;
    CheckCondaModules(PythonsOfIndex(index_), tree, symbols_, findings);
    for (const Finding& finding : findings) EXPECT_EQ(finding.id, "conda-python-module");
    return findings;
  }
  /// The severities alone.
  std::vector<Severity> Severities(const std::vector<std::string>& depends,
                                   const std::vector<std::string>& files) {
    std::vector<Severity> severities;
    for (const Finding& finding : Check(depends, files)) severities.push_back(finding.severity);
    return severities;
  }

  Json index_ = {{"name", "toy"}, {"subdir", "linux-64"}};
  SymbolsByPath symbols_;
};

const std::vector<std::string> kFor311 = {"libzlib", "python >=3.11,<3.12.0a0", "python_abi 3.11.* *_cp311"};

TEST_F(CondaModuleChecksTest, RightOnesPass) {
  for (const std::string& end : {".cpython-311" + kEnd, std::string(".abi3.so"), std::string(".so"),
                                 std::string(".py"), std::string(".foo.so")})
    EXPECT_THAT(Check(kFor311, {kSite + "x" + end}), IsEmpty()) << end;
  EXPECT_THAT(Check(kFor311, {kSite + "x.cpython-312" + kEnd, kSite + "x.py"}), IsEmpty());
  EXPECT_THAT(Check({"python_abi 3.11.* *_cp311"}, {kSite + "x.cpython-311" + kEnd}), IsEmpty());
  EXPECT_THAT(Check({"python 3.7.*", "python_abi 3.7.* *_cp37m"},
                    {"lib/python3.7/site-packages/x.cpython-37m" + kEnd}),
              IsEmpty());
  EXPECT_THAT(Check({"python_abi 3.13.* *_cp313t", "python >=3.13,<3.14.0a0"},
                    {"lib/python3.13t/site-packages/x.cpython-313t" + kEnd}),
              IsEmpty());
  EXPECT_THAT(Check({"python 2.7.*"}, {"lib/python2.7/site-packages/x.so"}), IsEmpty());
  EXPECT_THAT(Check({}, {kSite + "x.cpython-311" + kEnd}), IsEmpty());
}

TEST_F(CondaModuleChecksTest, ASuffixIsForThePythonAndThePlatform) {
  for (const std::string& end : {"312" + kEnd, "311d" + kEnd, std::string("311-aarch64-linux-gnu.so"),
                                 std::string("311-x86_64-linux-musl.so"), std::string("311.so")}) {
    const std::string file = kSite + "x.cpython-" + end;
    EXPECT_THAT(
        Check(kFor311, {file}),
        ElementsAre(AllOf(
            Field(&Finding::severity, Severity::kError), Field(&Finding::file, file),
            Field(&Finding::message, HasSubstr("but in 'lib/python3.11/site-packages' Python 3.11 looks")))))
        << end;
    EXPECT_THAT(Severities({"libzlib"}, {file}), ElementsAre(Severity::kWarning)) << end;
  }
  EXPECT_THAT(Severities(kFor311, {kSite + "x.abi3t.so"}), ElementsAre(Severity::kError));
  index_["subdir"] = "linux-ppc64le";
  EXPECT_THAT(Check(kFor311, {kSite + "x.cpython-311-powerpc64le-linux-gnu.so"}), IsEmpty());
  index_["subdir"] = "osx-arm64";
  EXPECT_THAT(Check(kFor311, {kSite + "x.cpython-311-darwin.so"}), IsEmpty());
  index_["subdir"] = "win-64";
  EXPECT_THAT(Check(kFor311, {"Lib/site-packages/x.cp311-win_amd64.pyd"}), IsEmpty());
  for (const char* file : {"Lib/site-packages/x.cp312-win_amd64.pyd",
                           "lib/site-packages/x.cp312-win_amd64.pyd", "Lib/site-packages/x.abi3.pyd"})
    EXPECT_THAT(Severities(kFor311, {file}), ElementsAre(Severity::kError)) << file;
}

TEST_F(CondaModuleChecksTest, TheDirectoryIsOfAPythonOfTheDependencies) {
  const std::string other = "lib/python3.12/site-packages/x.py";
  EXPECT_THAT(
      Check(kFor311, {other}),
      ElementsAre(AllOf(Field(&Finding::severity, Severity::kError), Field(&Finding::file, other),
                        Field(&Finding::message,
                              "is in 'lib/python3.12/site-packages', but the package depends on Python 3.11, "
                              "which looks elsewhere"))));
  EXPECT_THAT(Severities(kFor311, {kSite + "x.py", other}), ElementsAre(Severity::kWarning));
  EXPECT_THAT(Severities({"python >=3.11"}, {kSite + "x.py"}), ElementsAre(Severity::kWarning));
  EXPECT_THAT(Severities({"python >=3.11,<3.13.0a0"}, {kSite + "x.py", other}), IsEmpty());
  const std::vector<std::string> threaded = {"python >=3.13,<3.14.0a0", "python_abi 3.13.* *_cp313t"};
  EXPECT_THAT(Check(threaded, {"lib/python3.13/site-packages/x.py"}),
              ElementsAre(AllOf(Field(&Finding::severity, Severity::kError),
                                Field(&Finding::message, HasSubstr("depends on Python 3.13t")))));
  EXPECT_THAT(Severities(threaded, {"lib/python3.13t/site-packages/x.cpython-313" + kEnd}),
              ElementsAre(Severity::kError));
  EXPECT_THAT(Severities({"python 3.13.*", "python-freethreading"}, {"lib/python3.13/site-packages/x.py"}),
              ElementsAre(Severity::kError));
  EXPECT_THAT(Severities({"python 3.13.*", "python-gil"}, {"lib/python3.13t/site-packages/x.py"}),
              ElementsAre(Severity::kError));
}

TEST_F(CondaModuleChecksTest, NoPythonLooksIntoSomeDirectories) {
  const auto is_lost = ElementsAre(AllOf(Field(&Finding::severity, Severity::kError),
                                         Field(&Finding::fix, HasSubstr("set 'noarch: python'"))));
  for (const char* folder : {"site-packages/", "Lib/site-packages/", "lib/site-packages/",
                             "lib64/python3.11/site-packages/", "local/lib/python3.11/dist-packages/",
                             "lib/python3.11/dist-packages/", "lib/python3/dist-packages/"}) {
    const std::string file = std::string(folder) + "x.cpython-311" + kEnd;
    EXPECT_THAT(Check(kFor311, {file}), is_lost) << folder;
    EXPECT_THAT(Severities(kFor311, {file, kSite + "x.py"}), ElementsAre(Severity::kWarning)) << folder;
    EXPECT_THAT(Check({}, {file}), IsEmpty()) << folder;
  }
  index_["subdir"] = "win-64";
  for (const std::string& folder : {std::string("site-packages/"), std::string("Site-Packages/"), kSite,
                                    std::string("LIB/PYTHON3.11/site-packages/")})
    EXPECT_THAT(Check(kFor311, {folder + "x.py"}), is_lost) << folder;
  EXPECT_THAT(Check(kFor311, {"lib/site-packages/x.py"}), IsEmpty());
  index_["subdir"] = "noarch";
  index_["noarch"] = "generic";
  EXPECT_THAT(Check({"python >=3.8"}, {"site-packages/x.py"}), is_lost);
}

TEST_F(CondaModuleChecksTest, MessagesNameThePythonsOfTheDependencies) {
  const auto message = [&](const std::string& dependency) {
    const std::vector<Finding> findings = Check({dependency}, {kSite + "x.py"});
    return findings.size() == 1 ? findings.front().message : "";
  };
  EXPECT_THAT(message("python !=3.11.*"),
              HasSubstr("depends on Python 2.7, 3.0 to 3.10, 3.12 or later, which"));
  EXPECT_THAT(message("python >=3.11"), HasSubstr("also admit Python 3.12 or later, which"));
  EXPECT_THAT(message("python >=3.9,<3.13"), HasSubstr("also admit Python 3.9 to 3.10, 3.12, which"));
}

TEST_F(CondaModuleChecksTest, NoarchPackagesAreForEachPython) {
  index_["noarch"] = "python";
  index_["subdir"] = "noarch";
  EXPECT_THAT(Check({"python >=3.8"}, {"site-packages/x.py", "site-packages/y.abi3.so"}), IsEmpty());
  EXPECT_THAT(Severities({"python >=3.8"}, {kSite + "x.py"}), ElementsAre(Severity::kError));
  EXPECT_THAT(Severities({"python 3.11.*"}, {kSite + "x.py"}), IsEmpty());
  EXPECT_THAT(Check({"python >=3.8"}, {"site-packages/x.cpython-311" + kEnd}),
              ElementsAre(AllOf(Field(&Finding::severity, Severity::kError),
                                Field(&Finding::message,
                                      HasSubstr("but in 'site-packages' Python 3.8 looks for others")))));
  EXPECT_THAT(
      Check({"python >=3.8"}, {"site-packages/x.cpython-311" + kEnd, "site-packages/x.cpython-312" + kEnd}),
      IsEmpty())
      << "its maker knows which";
  EXPECT_THAT(Check({"cpython >=3.10", "_python_abi3_support 1.*"}, {"site-packages/x.abi3.so"}), IsEmpty());
  EXPECT_THAT(Check({}, {"site-packages/x.cpython-311" + kEnd}), IsEmpty());
}

TEST_F(CondaModuleChecksTest, OlderPythonsDoNotKnowPyModExport) {
  const std::string file = kSite + "x.abi3.so";
  symbols_ = {{file, {.imported = {}, .defined = {"PyModExport_x"}}}};
  EXPECT_THAT(Check(kFor311, {file}),
              ElementsAre(AllOf(
                  Field(&Finding::severity, Severity::kError),
                  Field(&Finding::message,
                        "exports 'PyModExport_x' without 'PyInit_x', so Python 3.11 cannot import it"))));
  EXPECT_THAT(Severities({}, {file}), ElementsAre(Severity::kWarning));
  symbols_ = {{"lib/python3.15/site-packages/x.so", {.imported = {}, .defined = {"PyModExport_x"}}}};
  EXPECT_THAT(Check({"python 3.15.*"}, {"lib/python3.15/site-packages/x.so"}), IsEmpty());
}

TEST_F(CondaModuleChecksTest, OtherInterpretersAreNotJudged) {
  const std::string wrong = "lib/python3.12/site-packages/x.py";
  EXPECT_THAT(Check({"python 3.9.* *_73_pypy", "python_abi 3.9.* *_pypy39_pp73"}, {wrong}), IsEmpty());
  EXPECT_THAT(Check({"python 3.11.* *[build_number=1]"}, {wrong}), IsEmpty())
      << "a dependency that cannot be read";
  EXPECT_THAT(Check({"python 2.5.*"}, {wrong}), IsEmpty());
  EXPECT_THAT(Check(kFor311, {"lib/python3.12/os.py", wrong}), IsEmpty()) << "brings an interpreter";
  EXPECT_THAT(Check(kFor311, {"bin/python3.12", wrong}), IsEmpty());
  EXPECT_THAT(Check(kFor311, {"share/tool/lib/python3.12/site-packages/x.py"}), IsEmpty());
  EXPECT_THAT(Check(kFor311, {"lib/python3.x/site-packages/x.py", "lib/python3.12/x.py"}), IsEmpty());
  index_["name"] = "python";
  EXPECT_THAT(Check(kFor311, {wrong}), IsEmpty());
}

}  // namespace
}  // namespace ptpkg::verify
