// ccache trusts its caller to cache only safe compilations, and ptpkg promises the bytes of an uncached
// build. So small bash programs stand between the build and ccache. They decide per call whether caching is
// safe, and add to the key whatever ccache 4.7 leaves out. docs/decisions/0014-compiler-cache.md lists the
// cases in which it returned wrong objects.
//
// - Compilers are known by content: the driver, cc1, cc1plus and as. A clang has its code in shared
//   libraries.
// - kGuards hands every call with an option of unknown effect to the compiler itself.
// - kDigest adds the bytes of each file that the preprocessor reads, because columns and comments enter debug
//   information.
//
// Invariants: `bash -p` and `unset CCACHE_*` keep the script's settings out. A new case of doubt belongs into
// kGuards. A package must not name the wrappers, which CheckNoCompilerCachePaths verifies.

#include "builder/tools/compiler_cache.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "builder/replace_path.h"
#include "builder/tools/nvcc_cache.h"
#include "builder/tools/tool_key.h"
#include "support/digest/hash.h"
#include "support/files/scratch.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

using Variables = std::map<std::string, std::string>;

// No clang: what its driver does is in shared libraries, which would have to be read as well.
constexpr std::array<std::string_view, 5> kNames = {"cc", "c++", "gcc", "g++", "nvcc"};
constexpr std::array<const char*, 3> kVariables = {"CC", "CXX", "CUDACXX"};

// PyTorch's C++ objects take 25 MB compressed for 1,000 files; this holds many versions of many projects.
constexpr const char* kMaxSize = "10G";

/// `$1` is the compiler, which runs without ccache in these cases: ccache 4.7 ignores or misjudges an option,
/// or a variable or word chooses another cc1 or as than the key has. The same holds for CMake's tries, whose
/// directory differs each time. "scan" becomes the command for kDigest.
constexpr std::string_view kGuards =
    R"sh(case $PWD in */CMakeFiles/CMakeScratch/* | */CMakeFiles/CMakeTmp*) exec "$@" ;; esac
if [ -n "${COMPILER_PATH-}${GCC_EXEC_PREFIX-}" ]; then exec "$@"; fi
if [ -n "$as" ] && [ "$(type -P as)" != "$as" ]; then exec "$@"; fi
maps= object= skip=
scan=("$1")
for word in "${@:2}"; do
  if [ -n "$skip" ]; then skip=; continue; fi
  case $word in
    -c) object=1; continue ;;
    -o | -MF | -MT | -MQ) skip=1; continue ;;
    -o* | -MF* | -MT* | -MQ* | -MD | -MMD | -MP) continue ;;
    *-prefix-map*) maps+=" $word" ;;
    @* | *.cu | *.hip | *.cudafe* | cuda | hip | -xcuda | -xhip | --cuda-* | --offload* | -foffload* | \
    -fopenmp-targets* | -D__CUDA* | -D__NVCC* | -D__HIP* | -m*=native | -fplugin* | -specs* | --specs* | \
    -wrapper | -Xclang | --config* | -fprofile-use* | -fauto-profile* | -fbranch-probabilities | -fmodule* | \
    - | -B* | --prefix* | -M* | -Wp,*-M* | -Xpreprocessor | \
    *.s | *.S | *.sx | assembler* | -xassembler*) exec "$@" ;;
  esac
  scan+=("$word")
done
if [ -z "$object" ]; then exec "$@"; fi
)sh";

/// Columns are in debug information, and the preprocessor's text, which ccache hashes, has lost them. So the
/// key has the bytes of each file that the preprocessor reads. If make would quote a file's name, the
/// compiler runs without ccache.
constexpr std::string_view kDigest = R"sh(files=$("${scan[@]}" -M -MT x < /dev/null 2> /dev/null) || exec "$@"
files=${files//$'\\\n'/}
files=${files#x:}
case $files in *[\\\$]*) exec "$@" ;; esac
set -f
bytes=$(sha256sum -- $files 2> /dev/null) || exec "$@"
bytes=$(sha256sum <<< "$bytes") || exec "$@"
)sh";

AbsPath ProgramFolder(const WorkLayout& layout) { return layout.root / "ccache"; }

/// ccache waits 10 s for a server that hangs, and does so for each object. A limit that the user sets counts.
/// Storages are separated by blanks, and attributes of one by '|'.
std::string WithTimeouts(const std::string& storages) {
  std::vector<std::string> limited;
  for (const std::string& storage : Split(storages, ' ')) {
    const bool is_server = storage.find("://") != std::string::npos && !storage.starts_with("file:");
    const bool has_limit = storage.find("|operation-timeout=") != std::string::npos;
    limited.push_back(is_server && !has_limit ? storage + "|operation-timeout=1000" : storage);
  }
  return Join(limited, " ");
}

/// Settings for ccache, wherever it runs.
Variables Settings(const Env& env) {
  Variables out = {{"CCACHE_DIR", CompilerCacheFolder(env).str()},
                   {"CCACHE_CONFIGPATH", "/dev/null"},  // the user's own file could make it sloppy
                   {"CCACHE_NODIRECT", "1"},
                   {"CCACHE_MAXSIZE", kMaxSize}};
  for (const char* name : {"CCACHE_REMOTE_STORAGE", "CCACHE_MAXSIZE"}) {
    const auto given = env.variables.find(name);
    if (given != env.variables.end() && !given->second.empty()) out[name] = given->second;
  }
  if (const auto remote = out.find("CCACHE_REMOTE_STORAGE"); remote != out.end())
    remote->second = WithTimeouts(remote->second);
  return out;
}

/// "x86_64-conda-linux-gnu-g++" and "gcc-12" are, "x86_64-conda-linux-gnu-gcc-ar" is not.
bool IsCompilerName(std::string_view name) {
  const std::size_t version = name.find_last_not_of("0123456789.");
  if (version != std::string_view::npos && version + 1 < name.size() && name[version] == '-') {
    name = name.substr(0, version);
  }
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view known) {
    return name == known || name.ends_with("-" + std::string(known));
  });
}

struct Identity {
  std::string key = {};  ///< Digest of its content.
  std::string as = {};   ///< The assembler, where the compiler takes the one of PATH.
  bool is_nvcc = false;
};

struct Compiler {
  AbsPath path;  ///< The path that is called;
  AbsPath runs;  ///< the file that it runs: another one where the first is a link to ccache.
  Identity identity = {};
};

class CompilerFinder {
 public:
  CompilerFinder(Env& env, const CompilerCacheInput& input) : env_(env), input_(input) {}

  Result<std::vector<Compiler>> Run() {
    for (const char* name : kVariables) {
      const auto given = input_.variables.find(name);
      if (given == input_.variables.end()) continue;
      const auto path = AbsPath::Parse(given->second);
      if (path && IsCompilerName(path->Name())) PTPKG_CHECK(Add(*path));
    }
    for (const AbsPath& prefix : {input_.layout.build_prefix, input_.layout.prefix}) {
      const auto names = env_.fs.ListDir(prefix / "bin");
      if (!names) continue;
      for (const std::string& name : *names) {
        if (IsCompilerName(name)) PTPKG_CHECK(Add(prefix / "bin" / name));
      }
    }
    for (const std::string_view name : kNames) {
      // Reading a toolkit takes a second: only of a recipe that requires it, whose CUDACXX it is.
      if (name == "nvcc") continue;
      if (const auto path = FindProgram(std::string(name), PathVariable(input_.variables)))
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
    const std::optional<AbsPath> runs = CompilerBehindCcache(path);
    if (!runs) return Ok();
    Compiler compiler{.path = path, .runs = *runs};
    if (input_.program) {
      PTPKG_TRY(const std::optional<Identity> identity, IdentityOf(*runs),
                fmt::format("while reading the compiler '{}'", path.str()));
      if (!identity) return Ok();
      compiler.identity = *identity;
    }
    compilers_.push_back(std::move(compiler));
    return Ok();
  }

  bool IsCcache(const AbsPath& path) {
    const auto real = env_.fs.RealPath(path.str());
    return real && real->Name() == "ccache";
  }

  /// A link of a compiler's name to ccache stands for the next program of that name on PATH.
  std::optional<AbsPath> CompilerBehindCcache(const AbsPath& path) {
    if (!IsCcache(path)) return path;
    for (const std::string& folder : Split(PathVariable(input_.variables), ':')) {
      const auto next = FindProgram(std::string(path.Name()), folder);
      if (next && !IsCcache(*next)) return *next;
    }
    return std::nullopt;
  }

  /// cc and gcc are one file.
  Result<std::optional<Identity>> IdentityOf(const AbsPath& path) {
    PTPKG_TRY(const AbsPath file, env_.fs.RealPath(path.str()));
    const auto known = identities_.find(file);
    if (known != identities_.end()) return known->second;
    PTPKG_TRY(std::optional<Identity> identity, ReadIdentity(path));
    return identities_.emplace(file, std::move(identity)).first->second;
  }

  /// nullopt: it is not a gcc (cc may be a clang), or does not name its parts.
  Result<std::optional<Identity>> ReadIdentity(const AbsPath& path) {
    if (path.Name() == "nvcc") {
      PTPKG_TRY(const auto key, NvccKey(env_, path, PathVariable(input_.variables)));
      return key ? std::optional(Identity{.key = *key, .is_nvcc = true}) : std::nullopt;
    }
    PTPKG_TRY(const auto version, Ask(path, "--version"));
    if (!version || version->find("clang") != std::string::npos) return std::optional<Identity>();
    PTPKG_TRY(const std::string program, ProgramKey(env_, path));
    KeyHasher hasher;
    hasher.Add("program", program);
    Identity identity;
    std::size_t parts = 0;
    // The driver is small and calls these. A gcc may be without C or without C++.
    for (const std::string part : {"cc1", "cc1plus", "as"}) {
      PTPKG_TRY(const auto said, Ask(path, "-print-prog-name=" + part));
      if (!said) return std::optional<Identity>();
      PTPKG_TRY(const std::optional<AbsPath> found, PartCalled(*said));
      if (!found && part == "as") return std::optional<Identity>();
      // The wrapper compares it with the `as` on the script's PATH, which may be another one.
      if (part == "as" && !said->starts_with("/")) identity.as = found->str();
      if (part != "as" && found) ++parts;
      std::string digest;
      if (found) {
        PTPKG_TRY(digest, DigestOf(*found));
      }
      hasher.Add(part, digest);
    }
    if (parts == 0) return std::optional<Identity>();
    identity.key = hasher.Finish().Hex();
    return std::optional(std::move(identity));
  }

  /// nullopt: it failed.
  Result<std::optional<std::string>> Ask(const AbsPath& compiler, const std::string& word) {
    Command command;
    command.argv = {compiler.str(), word};
    command.env = {{"PATH", PathVariable(input_.variables)}, {"LC_ALL", "C"}};
    command.cancel = &env_.cancel;
    PTPKG_TRY(const ExitStatus status, env_.process.Run(command));
    if (!status.ok()) return std::optional<std::string>();
    return std::optional(std::string(Trim(status.output)));
  }

  /// gcc says the path of a part that is its own, and the bare name of one that it would take from PATH.
  Result<std::optional<AbsPath>> PartCalled(const std::string& name) {
    const auto path = AbsPath::Parse(name);
    if (!path) return FindProgram(name, PathVariable(input_.variables));
    PTPKG_TRY(const bool there, Exists(env_.fs, *path));
    return there ? std::optional(*path) : std::nullopt;
  }

  Result<std::string> DigestOf(const AbsPath& file) {
    const auto known = digests_.find(file);
    if (known != digests_.end()) return known->second;
    PTPKG_TRY(const Digests digests, HashFile(env_.fs, file));
    return digests_.emplace(file, digests.sha256.Hex()).first->second;
  }

  Env& env_;
  const CompilerCacheInput& input_;
  std::vector<Compiler> compilers_;
  std::map<AbsPath, std::optional<Identity>> identities_;
  std::map<AbsPath, std::string> digests_;
};

/// kNvccDigest's `host_key`.
std::string HostKeyText(const std::vector<Compiler>& compilers) {
  std::string text = "host_key() {\n  case $1 in\n";
  for (const Compiler& compiler : compilers) {
    if (compiler.identity.is_nvcc) continue;
    text += fmt::format("    {}) host={} as={} ;;\n", ShellQuote({compiler.path.str()}),
                        compiler.identity.key, ShellQuote({compiler.identity.as}));
  }
  return text + "    *) return 1 ;;\n  esac\n}\n";
}

/// The program of `only`, or with nullptr the one that is given its compiler.
std::string ProgramText(const CompilerCacheInput& input, const Variables& settings,
                        const std::vector<Compiler>& compilers, const Compiler* only) {
  std::string text = "#!/bin/bash -p\n";
  if (only != nullptr) text += fmt::format("set -- {} \"$@\"\n", ShellQuote({only->path.str()}));
  if (!input.program) return text + "exec \"$@\"\n";
  text += HostKeyText(compilers);
  text += "case $1 in\n";
  for (const Compiler& compiler : compilers) {
    text += fmt::format("  {}) key={} as={} runs={} nvcc={} ;;\n", ShellQuote({compiler.path.str()}),
                        compiler.identity.key, ShellQuote({compiler.identity.as}),
                        ShellQuote({compiler.runs.str()}), compiler.identity.is_nvcc ? "1" : "");
  }
  text += "  *) exec \"$@\" ;;\nesac\nset -- \"$runs\" \"${@:2}\"\nif [ -n \"$nvcc\" ]; then\n";
  text += kNvccDigest;
  text += "else\n";
  text += kGuards;
  text += kDigest;
  text += "fi\n";
  text += "unset \"${!CCACHE_@}\"\n";
  for (const auto& [name, value] : settings) text += fmt::format("export {}={}\n", name, ShellQuote({value}));
  text += "export CCACHE_COMPILERCHECK=\"string:$key$maps $bytes\"\n";
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

/// Puts the programs in place of CC, CXX and CUDACXX that hooks of conda packages have set. The script has
/// nothing of the loop.
std::string PreambleText(const std::map<AbsPath, AbsPath>& programs) {
  std::string text =
      "for __ptpkg_name in CC CXX ${CUDA_HOME:+CUDACXX}; do\n  case $(type -P \"${!__ptpkg_name-}\") in\n";
  for (const auto& [compiler, program] : programs) {
    text += fmt::format("    {}) export \"$__ptpkg_name\"={} ;;\n", ShellQuote({compiler.str()}),
                        ShellQuote({program.str()}));
  }
  return text + "  esac\ndone\nunset __ptpkg_name\n";
}

/// Output of ccache, without the address that may hold a password.
std::string WithoutSecrets(const Env& env, std::string text) {
  const auto given = env.variables.find("CCACHE_REMOTE_STORAGE");
  if (given == env.variables.end()) return text;
  // ccache quotes the whole, one of several storages, or the address without its attributes.
  std::vector<std::string> secrets = {given->second};
  for (const std::string& storage : Split(given->second, ' ')) {
    secrets.push_back(storage);
    secrets.push_back(storage.substr(0, storage.find('|')));
  }
  for (const std::string& secret : secrets) {
    if (!secret.empty()) text = ReplaceAll(text, secret, "(CCACHE_REMOTE_STORAGE)");
  }
  return text;
}

}  // namespace

AbsPath CompilerCacheFolder(const Env& env) { return env.cache_dir / "ccache"; }

Result<AbsPath> FindCompilerCache(const Env& env) {
  if (const auto found = FindProgram("ccache", PathVariable(env.variables))) return *found;
  return Error(ErrorCode::kNotFound, "--ccache: program 'ccache' is not on PATH")
      .WithHint("apt-get install ccache, or build without --ccache (PTPKG_CCACHE)");
}

Result<OpenCompilerCache> PrepareCompilerCache(Env& env) {
  PTPKG_TRY(AbsPath program, FindCompilerCache(env));
  const AbsPath folder = CompilerCacheFolder(env);
  PTPKG_TRY(Lease lease, LeaseCacheDir(env, folder), "while opening the compiler cache");
  PTPKG_TRY(const TempDir scratch, TempDir::Create(env.fs, env.cache_dir, "ccache"));
  const AbsPath source = scratch.path() / "trial.c";
  PTPKG_CHECK(WriteFile(env.fs, source, "int trial;\n"));
  Command command;
  // A compiler that makes nothing, and so leaves nothing in the cache.
  command.argv = {program.str(), "/bin/true", "-c", source.str(), "-o", (scratch.path() / "trial.o").str()};
  command.env = Settings(env);
  command.env.insert(
      {{"PATH", PathVariable(env.variables)}, {"HOME", scratch.path().str()}, {"LC_ALL", "C"}});
  command.cancel = &env.cancel;
  PTPKG_TRY(const ExitStatus status, env.process.Run(command), "while trying ccache");
  if (status.ok()) return OpenCompilerCache{.program = std::move(program), .lease = std::move(lease)};
  const std::string said = WithoutSecrets(env, std::string(Trim(status.output)));
  const bool is_folder = said.find(folder.str()) != std::string::npos;
  return Error(is_folder ? ErrorCode::kIo : ErrorCode::kUsage,
               fmt::format("--ccache: '{}' does not work: {}", program.str(), said))
      .WithHint(fmt::format("it stores objects in '{}' and reads CCACHE_MAXSIZE and CCACHE_REMOTE_STORAGE",
                            folder.str()));
}

Result<CompilerCache> WrapCompilers(Env& env, const CompilerCacheInput& input) {
  const AbsPath folder = ProgramFolder(input.layout);
  // Programs of an earlier run may name compilers that are gone.
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
    std::vector<const char*> names = {"CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"};
    const bool has_nvcc = std::any_of(compilers.begin(), compilers.end(),
                                      [](const Compiler& compiler) { return compiler.identity.is_nvcc; });
    if (has_nvcc) names.push_back("CMAKE_CUDA_COMPILER_LAUNCHER");
    for (const char* name : names) {
      if (!input.variables.contains(name)) cache.variables[name] = launcher.str();
    }
    return cache;
  }
  // Without CUDA_HOME a script looks for the toolkit beside $CUDACXX.
  const bool knows_toolkit = input.variables.contains("CUDA_HOME");
  for (const char* name : kVariables) {
    const auto given = input.variables.find(name);
    if (given == input.variables.end() || (name == std::string_view("CUDACXX") && !knows_toolkit)) continue;
    const auto path = AbsPath::Parse(given->second);
    if (path && programs.contains(*path)) cache.variables[name] = programs.at(*path).str();
  }
  cache.preamble = PreambleText(programs);
  return cache;
}

Result<void> MarkCompilerCacheUsed(Env& env, const WorkLayout& layout) {
  return env.fs.MakeDirs(ProgramFolder(layout));
}

Result<bool> HasCompilerCache(Env& env, const WorkLayout& layout) {
  return Exists(env.fs, ProgramFolder(layout));
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

Result<void> CheckNoCompilerCachePaths(Env& env, const WorkLayout& layout, const AbsPath& folder,
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
                 fmt::format("'{}' contains the path of a --ccache compiler wrapper", file.str()))
        .WithHint("build this recipe without --ccache (PTPKG_CCACHE)");
  }
  return Ok();
}

}  // namespace ptpkg::builder
