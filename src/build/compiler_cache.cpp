#include "build/compiler_cache.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "build/replace_path.h"
#include "build/tool_key.h"
#include "support/hash.h"
#include "support/scratch.h"
#include "support/text.h"

namespace ptpkg::build {

namespace {

using Variables = std::map<std::string, std::string>;

constexpr std::array<std::string_view, 6> kNames = {"cc", "c++", "gcc", "g++", "clang", "clang++"};

// PyTorch's C++ objects take 25 MB compressed for 1,000 files; this holds many versions of many projects.
constexpr const char* kMaxSize = "10G";

/// `$1` is the compiler. Words of which ccache 4.7 does not know what they do to an object, or gets it wrong,
/// are left to the compiler; so are CMake's tries, which have another folder each time.
constexpr std::string_view kGuards =
    "case $PWD in */CMakeFiles/CMakeScratch/* | */CMakeFiles/CMakeTmp*) exec \"$@\" ;; esac\n"
    "maps= object=\n"
    "for word in \"${@:2}\"; do\n"
    "  case $word in\n"
    "    -c) object=1 ;;\n"
    "    *-prefix-map*) maps+=\" $word\" ;;\n"
    "    @* | *.cu | *.hip | *.cudafe* | cuda | hip | -xcuda | -xhip | --cuda-* | --offload* | -foffload* | "
    "\\\n"
    "    -fopenmp-targets* | -D__CUDA* | -D__NVCC* | -D__HIP* | -m*=native | -fplugin* | -specs* | --specs* "
    "| \\\n"
    "    -wrapper | -Xclang | --config* | -fprofile-use* | -fauto-profile* | -fbranch-probabilities | "
    "-fmodule* | \\\n"
    "    *.s | *.S | *.sx | assembler* | -xassembler*) exec \"$@\" ;;\n"
    "  esac\n"
    "done\n"
    "if [ -z \"$object\" ]; then exec \"$@\"; fi\n";

std::string SearchPath(const Variables& variables) {
  const auto path = variables.find("PATH");
  return path == variables.end() ? "/usr/bin:/bin" : path->second;
}

AbsPath ProgramFolder(const WorkLayout& layout) { return layout.root / "ccache"; }

/// What ccache is told, wherever it runs.
Variables Settings(const Env& env) {
  Variables out = {{"CCACHE_DIR", CompilerCacheFolder(env).str()},
                   {"CCACHE_CONFIGPATH", "/dev/null"},  // the user's own file could make it sloppy
                   {"CCACHE_NODIRECT", "1"},
                   {"CCACHE_MAXSIZE", kMaxSize}};
  for (const char* name : {"CCACHE_REMOTE_STORAGE", "CCACHE_MAXSIZE"}) {
    const auto given = env.variables.find(name);
    if (given != env.variables.end() && !given->second.empty()) out[name] = given->second;
  }
  return out;
}

/// "x86_64-conda-linux-gnu-g++" is one, "x86_64-conda-linux-gnu-gcc-ar" and "nvcc" are not.
bool IsCompilerName(std::string_view name) {
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view known) {
    return name == known || name.ends_with("-" + std::string(known));
  });
}

struct Compiler {
  AbsPath path;
  std::string key;  ///< Of its content; "" if nobody asks.
};

class CompilerFinder {
 public:
  CompilerFinder(Env& env, const CompilerCacheInput& input) : env_(env), input_(input) {}

  Result<std::vector<Compiler>> Run() {
    for (const char* name : {"CC", "CXX"}) {
      const auto given = input_.variables.find(name);
      if (given == input_.variables.end()) continue;
      if (const auto path = AbsPath::Parse(given->second)) PTPKG_CHECK(Add(*path));
    }
    for (const AbsPath& prefix : {input_.layout.build_prefix, input_.layout.prefix}) {
      const auto names = env_.fs.ListDir(prefix / "bin");
      if (!names) continue;
      for (const std::string& name : *names) {
        if (IsCompilerName(name)) PTPKG_CHECK(Add(prefix / "bin" / name));
      }
    }
    for (const std::string_view name : kNames) {
      if (const auto path = FindProgram(std::string(name), SearchPath(input_.variables)))
        PTPKG_CHECK(Add(*path));
    }
    return std::move(compilers_);
  }

 private:
  Result<void> Add(const AbsPath& path) {
    const bool known = std::any_of(compilers_.begin(), compilers_.end(),
                                   [&](const Compiler& compiler) { return compiler.path == path; });
    PTPKG_TRY(const bool there, Exists(env_.fs, path));
    if (known || !there) return Ok();
    Compiler compiler{.path = path, .key = ""};
    if (input_.program) {
      PTPKG_TRY(compiler.key, KeyOf(path), fmt::format("while reading the compiler '{}'", path.str()));
    }
    compilers_.push_back(std::move(compiler));
    return Ok();
  }

  /// cc and gcc are one file.
  Result<std::string> KeyOf(const AbsPath& path) {
    PTPKG_TRY(const AbsPath real, env_.fs.RealPath(path.str()));
    // A link of that name to ccache stands for whatever comes next on PATH.
    const AbsPath& file = real.Name() == "ccache" ? path : real;
    const auto known = keys_.find(file);
    if (known != keys_.end()) return known->second;
    PTPKG_TRY(const std::string program, ProgramKey(env_, path));
    KeyHasher hasher;
    hasher.Add("program", program);
    // The driver is small and calls these.
    for (const char* part : {"cc1", "cc1plus", "as"}) {
      PTPKG_TRY(const std::string digest, DigestOfPart(path, part));
      hasher.Add(part, digest);
    }
    return keys_.emplace(file, hasher.Finish().Hex()).first->second;
  }

  /// "" for a compiler that has no such part (clang).
  Result<std::string> DigestOfPart(const AbsPath& compiler, const std::string& part) {
    Command command;
    command.argv = {compiler.str(), "-print-prog-name=" + part};
    command.env = {{"PATH", SearchPath(input_.variables)}, {"LC_ALL", "C"}};
    command.cancel = &env_.cancel;
    PTPKG_TRY(const ExitStatus status, env_.process.Run(command));
    if (!status.ok()) return std::string();
    const std::string said(Trim(status.output));
    const auto file = FindProgram(said, SearchPath(input_.variables));
    if (!file) return std::string();
    const auto known = parts_.find(*file);
    if (known != parts_.end()) return known->second;
    PTPKG_TRY(const Digests digests, HashFile(env_.fs, *file));
    return parts_.emplace(*file, digests.sha256.Hex()).first->second;
  }

  Env& env_;
  const CompilerCacheInput& input_;
  std::vector<Compiler> compilers_;
  std::map<AbsPath, std::string> keys_;
  std::map<AbsPath, std::string> parts_;
};

/// The program of `only`, or with nullptr the one that is given its compiler.
std::string ProgramText(const CompilerCacheInput& input, const Variables& settings,
                        const std::vector<Compiler>& compilers, const Compiler* only) {
  std::string text = "#!/bin/bash -p\n";
  if (only != nullptr) text += fmt::format("set -- {} \"$@\"\n", ShellQuote({only->path.str()}));
  if (!input.program) return text + "exec \"$@\"\n";
  text += "case $1 in\n";
  for (const Compiler& compiler : compilers)
    text += fmt::format("  {}) key={} ;;\n", ShellQuote({compiler.path.str()}), compiler.key);
  text += "  *) exec \"$@\" ;;\nesac\n";
  text += kGuards;
  text += "unset \"${!CCACHE_@}\"\n";
  for (const auto& [name, value] : settings) text += fmt::format("export {}={}\n", name, ShellQuote({value}));
  text += "export CCACHE_COMPILERCHECK=\"string:$key$maps\"\n";
  return text + fmt::format("exec {} \"$@\"\n", ShellQuote({input.program->str()}));
}

/// Only for its owner: the address of a remote storage may hold a password.
Result<void> WriteProgram(Env& env, const AbsPath& path, const std::string& text) {
  PTPKG_CHECK(env.fs.MakeDirs(path.Parent()));
  PTPKG_CHECK(WriteFile(env.fs, path, text));
  return env.fs.SetMode(path, 0700);
}

bool UsesCmake(const recipe::Recipe& recipe) {
  for (const auto* specs : {&recipe.requirements.build, &recipe.requirements.host}) {
    for (const recipe::MatchSpec& spec : *specs) {
      if (spec.name == "cmake") return true;
    }
  }
  return false;
}

/// Puts the programs in place of CC and CXX that hooks of conda packages have set.
std::string PreambleText(const std::map<AbsPath, AbsPath>& programs) {
  std::string text = "for name in CC CXX; do\n  case $(type -P \"${!name-}\") in\n";
  for (const auto& [compiler, program] : programs) {
    text += fmt::format("    {}) export \"$name\"={} ;;\n", ShellQuote({compiler.str()}),
                        ShellQuote({program.str()}));
  }
  return text + "  esac\ndone\n";
}

}  // namespace

AbsPath CompilerCacheFolder(const Env& env) { return env.cache_dir / "ccache"; }

Result<AbsPath> FindCompilerCache(const Env& env) {
  if (const auto found = FindProgram("ccache", SearchPath(env.variables))) return *found;
  return Error(ErrorCode::kNotFound, "--ccache: program 'ccache' is not on PATH")
      .WithHint("install it: apt-get install ccache; or leave out --ccache (PTPKG_CCACHE)");
}

Result<OpenCompilerCache> OpenTheCompilerCache(Env& env) {
  PTPKG_TRY(AbsPath program, FindCompilerCache(env));
  const AbsPath folder = CompilerCacheFolder(env);
  PTPKG_TRY(Lease lease, TakeSharedIn(env, folder), "while opening the compiler cache");
  PTPKG_TRY(const TempDir scratch, TempDir::Create(env.fs, env.cache_dir, "ccache"));
  const AbsPath source = scratch.path() / "trial.c";
  PTPKG_CHECK(WriteFile(env.fs, source, "int trial;\n"));
  Command command;
  // A compiler that makes nothing, and so leaves nothing in the cache.
  command.argv = {program.str(), "/bin/true", "-c", source.str(), "-o", (scratch.path() / "trial.o").str()};
  command.env = Settings(env);
  command.env.insert({{"PATH", SearchPath(env.variables)}, {"HOME", scratch.path().str()}, {"LC_ALL", "C"}});
  command.cancel = &env.cancel;
  PTPKG_TRY(const ExitStatus status, env.process.Run(command), "while trying ccache");
  if (status.ok()) return OpenCompilerCache{.program = std::move(program), .lease = std::move(lease)};
  const std::string said(Trim(status.output));
  const bool is_folder = said.find(folder.str()) != std::string::npos;
  return Error(is_folder ? ErrorCode::kIo : ErrorCode::kUsage,
               fmt::format("--ccache: '{}' does not work: {}", program.str(), said))
      .WithHint(fmt::format("it keeps objects in '{}', and takes CCACHE_MAXSIZE and CCACHE_REMOTE_STORAGE "
                            "of the environment",
                            folder.str()));
}

Result<CompilerCache> LayCompilerCache(Env& env, const CompilerCacheInput& input) {
  const AbsPath folder = ProgramFolder(input.layout);
  PTPKG_CHECK(RemoveTree(env.fs, folder));
  PTPKG_TRY(const std::vector<Compiler> compilers, CompilerFinder(env, input).Run());
  Variables settings = Settings(env);
  settings["CCACHE_STATSLOG"] = (folder / "log").str();
  const AbsPath launcher = folder / "launch";
  PTPKG_CHECK(WriteProgram(env, launcher, ProgramText(input, settings, compilers, nullptr)));
  std::map<AbsPath, AbsPath> programs;
  for (const Compiler& compiler : compilers) {
    const AbsPath program = folder / "bin" / compiler.path.Name();
    PTPKG_TRY(const bool taken, Exists(env.fs, program));
    if (taken) continue;  // of two with one name the first is the build's
    PTPKG_CHECK(WriteProgram(env, program, ProgramText(input, settings, compilers, &compiler)));
    programs.emplace(compiler.path, program);
  }
  CompilerCache cache;
  if (!input.program) return cache;
  if (UsesCmake(input.recipe)) {
    for (const char* name : {"CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"}) {
      if (!input.variables.contains(name)) cache.variables[name] = launcher.str();
    }
    return cache;
  }
  for (const char* name : {"CC", "CXX"}) {
    const auto given = input.variables.find(name);
    if (given == input.variables.end()) continue;
    const auto path = AbsPath::Parse(given->second);
    if (path && programs.contains(*path)) cache.variables[name] = programs.at(*path).str();
  }
  cache.preamble = PreambleText(programs);
  return cache;
}

Result<std::map<std::string, std::uint64_t>> CompilerCacheCounts(Env& env, const WorkLayout& layout) {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  const auto text = ReadFile(env.fs, ProgramFolder(layout) / "log");
  if (!text && text.error().code() != ErrorCode::kNotFound) return text.error();
  for (const std::string& line : SplitLines(text ? *text : std::string())) {
    if (line == "preprocessed_cache_hit") ++hits;
    if (line == "cache_miss") ++misses;
  }
  return std::map<std::string, std::uint64_t>{{"ccache_hits", hits}, {"ccache_misses", misses}};
}

Result<void> RefuseTracesOfCompilerCache(Env& env, const WorkLayout& layout, const AbsPath& folder,
                                         const std::vector<RelPath>& files) {
  const std::string trace = ProgramFolder(layout).str() + "/";
  for (const RelPath& file : files) {
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_TRY(const FileStat stat, env.fs.Lstat(folder / file));
    bool found = false;
    if (stat.kind == FileKind::kSymlink) {
      PTPKG_TRY(const std::string target, env.fs.ReadLink(folder / file));
      found = target.find(trace) != std::string::npos;
    } else if (stat.kind == FileKind::kRegular) {
      PTPKG_TRY(found, ContainsPath(env.fs, folder / file, trace));
    }
    if (!found) continue;
    return Error(ErrorCode::kInvalidInput,
                 fmt::format(
                     "'{}' names a compiler as --ccache calls it: without --ccache it would be another file",
                     file.str()))
        .WithHint("build this recipe, and what it inherits from, without --ccache (PTPKG_CCACHE)");
  }
  return Ok();
}

}  // namespace ptpkg::build
