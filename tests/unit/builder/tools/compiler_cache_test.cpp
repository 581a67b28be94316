#include "builder/tools/compiler_cache.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"
#include "support/text/text.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOk;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A compiler and a ccache that write down how they are called.
class CompilerCacheTest : public ::testing::Test {
 protected:
  CompilerCacheTest() {
    layout_.root = env_.dir() / "root";
    layout_.source = layout_.root / "source";
    layout_.prefix = layout_.root / "h";
    layout_.build_prefix = layout_.root / "b";
    EXPECT_THAT(env_->fs.MakeDirs(layout_.source), IsOk());
    WriteCompiler("bin/g++");
    env_.dir().WriteFile("parts/cc1plus", "12.2", 0755);
    env_.dir().WriteFile("parts/as", "2.40", 0755);
    env_.dir().WriteFile("root/source/a.cpp", "int a;");
    env_.dir().WriteFile(
        "bin/ccache",
        "#!/bin/sh\n{ echo \"ccache $*\"; env | grep ^CCACHE_ | sort; } >> " + Record() + "\nexec \"$@\"\n",
        0755);
    variables_ = {{"CXX", (env_.dir() / "bin/g++").str()}, {"PATH", "/nonexistent"}};
    program_ = env_.dir() / "bin/ccache";
  }

  [[nodiscard]] std::string Record() const { return (env_.dir() / "record").str(); }
  void WriteCompiler(const std::string& name, const std::string& rest = "") {
    const std::string parts = (env_.dir() / "parts").str();
    env_.dir().WriteFile(name,
                         "#!/bin/sh\ncase \"$*\" in\n  --version) echo 12.2 ;;\n  *=cc1plus) echo " + parts +
                             "/cc1plus ;;\n  *=as) echo " + parts +
                             "/as ;;\n  -print*) echo none ;;\n  *' -M -MT x') echo 'x: a.cpp' ;;\n"
                             "  *) echo \"compiler $*\" >> " +
                             Record() + " ;;\nesac\n" + rest,
                         0755);
  }
  Result<CompilerCache> Lay() {
    return WrapCompilers(
        env_, {.program = program_, .recipe = recipe_, .layout = layout_, .variables = variables_});
  }
  /// What a run of the launcher recorded.
  std::string Launch(const std::vector<std::string>& words, const std::string& folder = "",
                     const std::string& program = "launch",
                     const std::map<std::string, std::string>& more = {}) {
    static_cast<void>(RemoveTree(env_->fs, env_.dir() / "record"));
    Command command;
    command.argv = {(layout_.root / "ccache" / program).str()};
    if (program == "launch") command.argv.push_back((env_.dir() / "bin/g++").str());
    command.argv.insert(command.argv.end(), words.begin(), words.end());
    command.env = {{"PATH", "/usr/bin:/bin"}, {"CCACHE_DISABLE", "1"}, {"CCACHE_SLOPPINESS", "time_macros"}};
    command.env.insert(more.begin(), more.end());
    command.cwd = folder.empty() ? layout_.source : layout_.source / folder;
    EXPECT_THAT(env_->fs.MakeDirs(command.cwd), IsOk());
    EXPECT_THAT(env_->process.Run(command), IsOk());
    const auto text = ReadFile(env_->fs, env_.dir() / "record");
    return text ? *text : "";
  }
  /// The identity of the compiler that ccache was told.
  std::string Identity(const std::vector<std::string>& words) {
    for (const std::string& line : SplitLines(Launch(words))) {
      if (line.starts_with("CCACHE_COMPILERCHECK=")) return line;
    }
    return "";
  }

  test::TestEnv env_;
  recipe::Recipe recipe_;
  WorkLayout layout_;
  std::map<std::string, std::string> variables_;
  std::optional<AbsPath> program_;
};

TEST_F(CompilerCacheTest, StandsBeforeACompilationWithItsOwnSettingsOnly) {
  env_->variables["CCACHE_MAXSIZE"] = "1G";
  env_->variables["CCACHE_DIR"] = "/users";
  ASSERT_THAT(Lay(), IsOk());
  const std::string record = Launch({"-c", "a b.cpp", "-o", "a.o"});
  EXPECT_THAT(record, HasSubstr("g++ -c a b.cpp -o a.o\n"));
  EXPECT_THAT(record, AllOf(HasSubstr("CCACHE_DIR=" + (env_->cache_dir / "ccache").str() + "\n"),
                            HasSubstr("CCACHE_MAXSIZE=1G\n"), HasSubstr("CCACHE_NODIRECT=1\n"),
                            HasSubstr("CCACHE_CONFIGPATH=/dev/null\n")));
  EXPECT_THAT(record, Not(HasSubstr("DISABLE")));
  EXPECT_THAT(record, Not(HasSubstr("SLOPPINESS")));
  EXPECT_THAT(record, HasSubstr("compiler -c a b.cpp -o a.o\n"));
}

TEST_F(CompilerCacheTest, AServerThatHangsCostsASecond) {
  const auto given_as = [&](const std::string& storages) {
    env_->variables["CCACHE_REMOTE_STORAGE"] = storages;
    EXPECT_THAT(Lay(), IsOk());
    for (const std::string& line : SplitLines(Launch({"-c", "a.cpp", "-o", "a.o"}))) {
      constexpr std::string_view kName = "CCACHE_REMOTE_STORAGE=";
      if (line.starts_with(kName)) return line.substr(kName.size());
    }
    return std::string();
  };
  EXPECT_EQ(given_as("redis://h|connect-timeout=50"), "redis://h|connect-timeout=50|operation-timeout=1000");
  EXPECT_EQ(given_as("http://h/c|operation-timeout=5000|read-only"),
            "http://h/c|operation-timeout=5000|read-only");
  EXPECT_EQ(given_as("file:/srv/a file:///srv/b redis+unix:///run/r"),
            "file:/srv/a file:///srv/b redis+unix:///run/r|operation-timeout=1000");
}

TEST_F(CompilerCacheTest, LeavesToTheCompilerWhatCcacheGetsWrong) {
  ASSERT_THAT(Lay(), IsOk());
  EXPECT_THAT(Launch({"-c", "a.cpp"}), HasSubstr("ccache"));
  for (const char* word :
       {"@flags", "-xcuda", "hip", "k.cu", "--offload-arch=gfx90a", "-march=native", "-D__CUDACC__",
        "x.cudafe1.cpp", "-fplugin=p.so", "-specs=s", "-fprofile-use", "-fmodules-ts", "a.S",
        "-foffload=nvptx-none", "-B/opt/bin", "-Wp,-MD,a.d", "-MM"}) {
    EXPECT_EQ(Launch({"-c", "a.cpp", word}), "compiler -c a.cpp " + std::string(word) + "\n");
  }
  EXPECT_EQ(Launch({"a.o", "-o", "a"}), "compiler a.o -o a\n") << "a link";
  EXPECT_EQ(Launch({"-E", "a.cpp"}), "compiler -E a.cpp\n");
  EXPECT_THAT(Launch({"-c", "a.cpp"}, "CMakeFiles/CMakeScratch/TryCompile-x"), Not(HasSubstr("ccache")));
}

TEST_F(CompilerCacheTest, RunsACompilerThatItDoesNotKnow) {
  ASSERT_THAT(Lay(), IsOk());
  WriteCompiler("opt/g++");
  Command command;
  command.argv = {(layout_.root / "ccache/launch").str(), (env_.dir() / "opt/g++").str(), "-c", "a.cpp"};
  command.env = {{"PATH", "/usr/bin:/bin"}};
  EXPECT_THAT(env_->process.Run(command), IsOk());
  EXPECT_EQ(env_.dir().ReadFile("record"), "compiler -c a.cpp\n");
}

TEST_F(CompilerCacheTest, TellsCompilersApartByContentAndPrefixMaps) {
  ASSERT_THAT(Lay(), IsOk());
  const std::string first = Identity({"-c", "a.cpp", "-ffile-prefix-map=/w=/src/toy-1.0"});
  EXPECT_THAT(first, HasSubstr("-ffile-prefix-map=/w=/src/toy-1.0"));
  EXPECT_NE(first, Identity({"-c", "a.cpp", "-ffile-prefix-map=/w=/src/toy-1.1"}));
  ASSERT_THAT(env_->fs.SetMtime(env_.dir() / "bin/g++", 1), IsOk());
  ASSERT_THAT(Lay(), IsOk());
  EXPECT_EQ(first, Identity({"-c", "a.cpp", "-ffile-prefix-map=/w=/src/toy-1.0"}));
  WriteCompiler("bin/g++", "# mended\n");
  ASSERT_THAT(Lay(), IsOk());
  EXPECT_NE(first, Identity({"-c", "a.cpp", "-ffile-prefix-map=/w=/src/toy-1.0"}));
}

TEST_F(CompilerCacheTest, TellsApartWhatThePreprocessorDropsAndThePartsOfACompiler) {
  ASSERT_THAT(Lay(), IsOk());
  const std::string first = Identity({"-c", "a.cpp", "-MD", "-MF", "a.d", "-o", "a.o"});
  EXPECT_EQ(first, Identity({"-c", "a.cpp"})) << "the names of what is made are ccache's to look at";
  env_.dir().WriteFile("root/source/a.cpp", "int  a;");
  EXPECT_NE(first, Identity({"-c", "a.cpp"}));
  env_.dir().WriteFile("root/source/a.cpp", "int a;");
  env_.dir().WriteFile("parts/cc1plus", "12.3", 0755);
  ASSERT_THAT(Lay(), IsOk());
  EXPECT_NE(first, Identity({"-c", "a.cpp"}));
  ASSERT_THAT(RemoveTree(env_->fs, layout_.source / "a.cpp"), IsOk());
  EXPECT_EQ(Launch({"-c", "a.cpp"}), "compiler -c a.cpp\n");
}

TEST_F(CompilerCacheTest, LeavesACompilerAloneWhosePartsItDoesNotKnow) {
  ASSERT_THAT(Lay(), IsOk());
  EXPECT_EQ(Launch({"-c", "a.cpp"}, "", "launch", {{"COMPILER_PATH", "/opt"}}), "compiler -c a.cpp\n");
  EXPECT_EQ(Launch({"-c", "a.cpp"}, "", "launch", {{"GCC_EXEC_PREFIX", "/opt"}}), "compiler -c a.cpp\n");
  const std::string record = " echo \"compiler $*\" >> " + Record() + "\n";
  for (const std::string text : {"[ \"$1\" = --version ] && exit 1\n", "echo 'Debian clang version 14'\n",
                                 "[ \"$1\" = --version ] || exit 1\n"}) {
    env_.dir().WriteFile("bin/g++", "#!/bin/sh\n" + record + text, 0755);
    ASSERT_OK_AND_ASSIGN(const CompilerCache cache, Lay());
    EXPECT_THAT(cache.variables, IsEmpty());
  }
  WriteCompiler("bin/hipcc");
  variables_["CXX"] = (env_.dir() / "bin/hipcc").str();
  ASSERT_OK_AND_ASSIGN(const CompilerCache hip, Lay());
  EXPECT_THAT(hip.variables, IsEmpty());
  WriteCompiler("bin/x86_64-linux-gnu-g++-12");
  variables_["CXX"] = (env_.dir() / "bin/x86_64-linux-gnu-g++-12").str();
  ASSERT_OK_AND_ASSIGN(const CompilerCache gcc, Lay());
  EXPECT_EQ(gcc.variables.size(), 1U);
}

/// A toolkit whose nvcc names its steps as the real one does.
class NvccCacheTest : public CompilerCacheTest {
 protected:
  NvccCacheTest() {
    WriteCompiler("bin/gcc");
    for (const char* name : {"cudafe++", "ptxas", "nvvm/bin/cicc", "nvvm/libdevice/libdevice.10.bc"}) {
      env_.dir().WriteFile(std::string("cuda/") + name, "13.0", 0755);
    }
    WriteNvcc("k.cu");
    variables_ = {{"CUDACXX", (env_.dir() / "cuda/nvcc").str()},
                  {"CXX", (env_.dir() / "bin/gcc").str()},
                  {"CUDA_HOME", (env_.dir() / "cuda").str()},
                  {"PATH", "/nonexistent"}};
  }
  /// `words` stand in the step of the preprocessor.
  void WriteNvcc(const std::string& words) {
    const std::string here = (env_.dir() / "cuda").str();
    env_.dir().WriteFile(
        "cuda/nvcc",
        "#!/bin/sh\ncase \"$*\" in\n  --version) echo 13.0 ;;\n  *--dryrun*)\n    echo '#$ _HERE_=" + here +
            "'\n    echo '#$ CICC_PATH=" + here + "/nvvm/bin'\n    echo '#$ NVVMIR_LIBRARY_DIR=" + here +
            "/nvvm/libdevice'\n    echo '#$ \"" + (env_.dir() / "bin/gcc").str() +
            "\" -D__CUDA_ARCH__=900 -E -x c++ " + words + " -o \"k.ii\"' ;;\n  *) echo \"nvcc $*\" >> " +
            Record() + " ;;\nesac\n",
        0755);
  }
  std::string LaunchNvcc(const std::vector<std::string>& words) { return Launch(words, "", "bin/nvcc"); }
  std::string NvccIdentity() {
    for (const std::string& line : SplitLines(LaunchNvcc({"-c", "k.cu"}))) {
      if (line.starts_with("CCACHE_COMPILERCHECK=")) return line;
    }
    return "";
  }
};

TEST_F(NvccCacheTest, KeyOfTheToolkitItsStepsAndTheFilesThatTheyRead) {
  ASSERT_OK_AND_ASSIGN(const CompilerCache cache, Lay());
  EXPECT_EQ(cache.variables.at("CUDACXX"), (layout_.root / "ccache/bin/nvcc").str());
  const std::string first = NvccIdentity();
  EXPECT_NE(first, "");
  EXPECT_EQ(first, NvccIdentity());
  env_.dir().WriteFile("root/source/a.cpp", "int b;");  // the file that the preprocessor names
  const std::string edited = NvccIdentity();
  EXPECT_NE(first, edited);
  WriteNvcc("-DX k.cu");
  ASSERT_THAT(Lay(), IsOk());
  EXPECT_NE(edited, NvccIdentity());
  const std::string steps = NvccIdentity();
  env_.dir().WriteFile("cuda/ptxas", "13.1", 0755);
  ASSERT_THAT(Lay(), IsOk());
  EXPECT_NE(steps, NvccIdentity());
  EXPECT_EQ(LaunchNvcc({"k.cu", "-o", "k"}), "nvcc k.cu -o k\n") << "it links";
  EXPECT_EQ(LaunchNvcc({"-c", "k.cu", "--keep"}), "nvcc -c k.cu --keep\n");
}

TEST_F(NvccCacheTest, LeavesToNvccWhatItCannotTellApart) {
  for (const std::string words :
       {"-B/opt k.cu", "-fplugin=p.so k.cu", "-march=native k.cu", "--coverage k.cu", "$(x) k.cu"}) {
    WriteNvcc(words);
    ASSERT_THAT(Lay(), IsOk());
    EXPECT_EQ(LaunchNvcc({"-c", "k.cu"}), "nvcc -c k.cu\n") << words;
  }
  WriteNvcc("k.cu");
  ASSERT_THAT(RemoveTree(env_->fs, env_.dir() / "cuda/nvvm/bin/cicc"), IsOk());
  ASSERT_OK_AND_ASSIGN(const CompilerCache without_cicc, Lay());
  EXPECT_FALSE(without_cicc.variables.contains("CUDACXX"));
}

TEST_F(NvccCacheTest, CudacxxStaysWhereAScriptLooksForTheToolkitBesideIt) {
  variables_.erase("CUDA_HOME");
  ASSERT_OK_AND_ASSIGN(const CompilerCache make, Lay());
  EXPECT_FALSE(make.variables.contains("CUDACXX"));
}

TEST_F(CompilerCacheTest, TheAssemblerOfPathIsThatOfTheKey) {
  env_.dir().WriteFile("bin/as", "2.40", 0755);
  WriteCompiler("bin/g++");
  const std::string text = env_.dir().ReadFile("bin/g++");
  const std::string own = (env_.dir() / "parts/as").str();
  env_.dir().WriteFile("bin/g++", ReplaceAll(text, own, "as"), 0755);
  variables_["PATH"] = (env_.dir() / "bin").str();
  ASSERT_THAT(Lay(), IsOk());
  EXPECT_EQ(Launch({"-c", "a.cpp"}), "compiler -c a.cpp\n");
}

TEST_F(CompilerCacheTest, ALinkToCcacheStandsForTheNextOnPath) {
  ASSERT_THAT(env_->fs.MakeDirs(env_.dir() / "links"), IsOk());
  const AbsPath link = env_.dir() / "links/g++";
  ASSERT_THAT(env_->fs.CreateSymlink((env_.dir() / "bin/ccache").str(), link), IsOk());
  variables_ = {{"CXX", link.str()}, {"PATH", link.Parent().str()}};
  ASSERT_OK_AND_ASSIGN(const CompilerCache none, Lay());
  EXPECT_THAT(none.variables, IsEmpty());
  variables_["PATH"] += ":" + (env_.dir() / "bin").str();
  ASSERT_THAT(Lay(), IsOk());
  EXPECT_THAT(Launch({"-c", "a.cpp"}, "", "bin/g++"),
              HasSubstr("ccache " + (env_.dir() / "bin/g++").str() + " -c"));
}

TEST_F(CompilerCacheTest, TheScriptsShellKeepsNothingOfTheLoop) {
  ASSERT_OK_AND_ASSIGN(const CompilerCache cache, Lay());
  Command command;
  command.argv = {"/bin/bash", "-c", "name=mine\n" + cache.preamble + "echo $name $CXX ${__ptpkg_name-gone}"};
  command.env = {{"PATH", "/usr/bin:/bin"}, {"CXX", (env_.dir() / "bin/g++").str()}};
  ASSERT_OK_AND_ASSIGN(const ExitStatus status, env_->process.Run(command));
  EXPECT_EQ(status.output, "mine " + (layout_.root / "ccache/bin/g++").str() + " gone\n");
}

TEST_F(CompilerCacheTest, GivesCmakeALauncherAndOthersACompiler) {
  ASSERT_OK_AND_ASSIGN(const CompilerCache plain, Lay());
  const std::string program = (layout_.root / "ccache/bin/g++").str();
  EXPECT_EQ(plain.variables, (std::map<std::string, std::string>{{"CXX", program}}));
  EXPECT_THAT(Launch({"-c", "a.cpp"}, "", "bin/g++"),
              HasSubstr("ccache " + (env_.dir() / "bin/g++").str() + " -c"));
  recipe_.requirements.build = {{.name = "cmake", .version = "", .build = ""}};
  variables_["CMAKE_C_COMPILER_LAUNCHER"] = "mine";
  ASSERT_OK_AND_ASSIGN(const CompilerCache cmake, Lay());
  EXPECT_EQ(cmake.variables, (std::map<std::string, std::string>{
                                 {"CMAKE_CXX_COMPILER_LAUNCHER", (layout_.root / "ccache/launch").str()}}));
}

TEST_F(CompilerCacheTest, WithoutCcacheTheProgramsRunTheCompiler) {
  program_.reset();
  ASSERT_OK_AND_ASSIGN(const CompilerCache cache, Lay());
  EXPECT_THAT(cache.variables, IsEmpty());
  EXPECT_EQ(Launch({"-c", "a.cpp"}), "compiler -c a.cpp\n");
  EXPECT_EQ(Launch({"-c", "a.cpp"}, "", "bin/g++"), "compiler -c a.cpp\n");
}

TEST_F(CompilerCacheTest, RemembersThatItWasLaid) {
  EXPECT_THAT(HasCompilerCache(env_, layout_), test::IsOkAndHolds(false));
  ASSERT_THAT(MarkCompilerCacheUsed(env_, layout_), IsOk());
  EXPECT_THAT(HasCompilerCache(env_, layout_), test::IsOkAndHolds(true));
}

TEST_F(CompilerCacheTest, CountsWhatBecameOfCompilations) {
  using Counts = std::map<std::string, std::uint64_t>;
  EXPECT_THAT(CompilerCacheCounts(env_, layout_),
              test::IsOkAndHolds(Counts{{"ccache_hits", 0}, {"ccache_misses", 0}}));
  env_.dir().WriteFile("root/ccache/log",
                       "# a.c\npreprocessed_cache_hit\nlocal_storage_hit\n# b.c\ncache_miss\n# c.c\n"
                       "compile_failed\n# cache_miss\npreprocessed_cache_hit\n");
  EXPECT_THAT(CompilerCacheCounts(env_, layout_),
              test::IsOkAndHolds(Counts{{"ccache_hits", 2}, {"ccache_misses", 1}}));
}

TEST_F(CompilerCacheTest, RefusesAResultThatNamesItsPrograms) {
  const std::string program = (layout_.root / "ccache/bin/g++").str();
  env_.dir().WriteFile("out/good", "CXX=/usr/bin/g++ " + (layout_.root / "ccached").str());
  env_.dir().WriteFile("out/bad", std::string((std::size_t{1} << 20U) - 20, 'x') + program);
  const AbsPath out = env_.dir() / "out";
  ASSERT_THAT(env_->fs.CreateSymlink(program, out / "link"), IsOk());
  const auto look = [&](const char* name) {
    return CheckNoCompilerCachePaths(env_, layout_, out, {RelPath::Literal(name)});
  };
  EXPECT_THAT(look("good"), IsOk());
  EXPECT_THAT(look("bad"), FailsWith(ErrorCode::kInvalidInput,
                                     HasSubstr("'bad' contains the path of a --ccache compiler")));
  EXPECT_THAT(look("bad"), HasHint(HasSubstr("without --ccache")));
  EXPECT_THAT(look("link"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'link'")));
}

TEST_F(CompilerCacheTest, SaysWhatKeepsCcacheFromWorking) {
  env_->variables["PATH"] = "/nonexistent";
  EXPECT_THAT(FindCompilerCache(env_), FailsWith(ErrorCode::kNotFound, HasSubstr("'ccache' is not on PATH")));
  EXPECT_THAT(FindCompilerCache(env_), HasHint(HasSubstr("apt-get install ccache")));
  env_->variables["PATH"] = (env_.dir() / "bin").str();
  EXPECT_THAT(PrepareCompilerCache(env_), IsOk());
  env_.dir().WriteFile("bin/ccache", "#!/bin/sh\necho 'ccache: error: no'\nexit 1\n", 0755);
  EXPECT_THAT(PrepareCompilerCache(env_),
              FailsWith(ErrorCode::kUsage, HasSubstr("does not work: ccache: error: no")));
  env_->variables["CCACHE_REMOTE_STORAGE"] = std::string("http://u:") + "secret@h:x|timeout=1";
  env_.dir().WriteFile("bin/ccache", "#!/bin/sh\necho \"bad ${CCACHE_REMOTE_STORAGE%|*}\"\nexit 1\n", 0755);
  EXPECT_THAT(PrepareCompilerCache(env_),
              FailsWith(ErrorCode::kUsage,
                        AllOf(HasSubstr("bad (CCACHE_REMOTE_STORAGE)"), Not(HasSubstr("secret")))));
  ASSERT_THAT(RemoveTree(env_->fs, CompilerCacheFolder(env_)), IsOk());
  ASSERT_THAT(WriteFile(env_->fs, CompilerCacheFolder(env_), "a file"), IsOk());
  EXPECT_THAT(PrepareCompilerCache(env_), Not(IsOk()));
}

}  // namespace
}  // namespace ptpkg::builder
