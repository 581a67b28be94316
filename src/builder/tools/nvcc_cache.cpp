// ccache hashes `nvcc -E`, which sees one architecture only, so an edit that another architecture reads goes
// unnoticed. nvcc itself is a driver of many steps, and `nvcc --dryrun` prints them. So the key of an object
// consists of
//
// - the content of the toolkit's programs and of libdevice, computed once per build (NvccKey)
// - the list of steps, which includes options, variables and nvcc.profile (kNvccDigest, per call)
// - the bytes of all files that any preprocessor pass reads, found with -M for each pass
//
// Anything that cannot be parsed, or that selects other parts of the host compiler, runs nvcc without ccache.
// docs/decisions/0014-compiler-cache.md explains each part of the key.
//
// Invariant: `eval` reads only text that --dryrun printed, after lines with backquotes or `$(` were refused.

#include "builder/tools/nvcc_cache.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "builder/tools/tool_key.h"
#include "support/digest/hash.h"
#include "support/files/scratch.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

constexpr std::array<std::string_view, 8> kPrograms = {"nvcc",  "nvcc.profile", "cudafe++", "cicc",
                                                       "ptxas", "fatbinary",    "nvlink",   "bin2c"};
constexpr std::array<std::string_view, 3> kNeeded = {"cudafe++", "cicc", "ptxas"};

/// Values of the lines `#$ NAME=value` that nvcc prints before its steps.
std::map<std::string, std::string> NvccSettings(const std::string& said) {
  constexpr std::string_view kMark = "#$ ";
  std::map<std::string, std::string> settings;
  for (const std::string& line : SplitLines(said)) {
    const std::size_t equal = line.find('=');
    if (!line.starts_with(kMark) || equal == std::string::npos) continue;
    const std::string name = line.substr(kMark.size(), equal - kMark.size());
    if (name.find(' ') == std::string::npos) settings[name] = std::string(Trim(line.substr(equal + 1)));
  }
  return settings;
}

/// nullopt: nvcc failed.
Result<std::optional<std::map<std::string, std::string>>> AskNvcc(Env& env, const AbsPath& nvcc,
                                                                  const std::string& path) {
  Command command;
  command.argv = {nvcc.str(), "--dryrun", "-c", "trial.cu"};  // a file that need not exist
  command.env = {{"PATH", path}, {"LC_ALL", "C"}};
  command.cancel = &env.cancel;
  PTPKG_TRY(const ExitStatus status, env.process.Run(command));
  if (!status.ok()) return std::optional<std::map<std::string, std::string>>();
  return std::optional(NvccSettings(status.output));
}

/// Adds the digest of the file; false: there is none.
Result<bool> AddFile(Env& env, const std::string& text, std::string_view name, KeyHasher& hasher) {
  const auto file = env.fs.RealPath(text);
  if (!file) return false;
  PTPKG_TRY(const FileStat stat, env.fs.Lstat(*file));
  if (stat.kind != FileKind::kRegular) return false;
  PTPKG_TRY(const Digests digests, HashFile(env.fs, *file));
  hasher.Add(std::string(name), digests.sha256.Hex());
  return true;
}

}  // namespace

Result<std::optional<std::string>> NvccKey(Env& env, const AbsPath& nvcc, const std::string& path) {
  PTPKG_TRY(const auto asked, AskNvcc(env, nvcc, path));
  if (!asked) return std::optional<std::string>();
  std::map<std::string, std::string> settings = *asked;
  PTPKG_TRY(const std::string program, ProgramKey(env, nvcc));
  KeyHasher hasher;
  hasher.Add("program", program);
  for (const std::string_view name : kPrograms) {
    bool found = false;
    for (const std::string& folder :
         {settings["_HERE_"], settings["CICC_PATH"], settings["TOP"] + "/nvvm/bin"}) {
      if (found || !folder.starts_with("/")) continue;
      PTPKG_TRY(found, AddFile(env, folder + "/" + std::string(name), name, hasher));
    }
    const bool needed = std::find(kNeeded.begin(), kNeeded.end(), name) != kNeeded.end();
    if (needed && !found) return std::optional<std::string>();
  }
  const auto folder = env.fs.RealPath(settings["NVVMIR_LIBRARY_DIR"]);
  if (!folder) return std::optional<std::string>();
  PTPKG_TRY(std::vector<std::string> names, env.fs.ListDir(*folder));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    PTPKG_TRY([[maybe_unused]] const bool added, AddFile(env, (*folder / name).str(), name, hasher));
  }
  return std::optional(hasher.Finish().Hex());
}

// The steps that nvcc would run are part of the key: they have all options and what the environment adds.
// Each architecture has a preprocessor pass of its own, and reads other files. The last step compiles code
// of cudafe++, which includes crt/host_runtime.h.
constexpr std::string_view kNvccDigest =
    R"sh(case $PWD in */CMakeFiles/CMakeScratch/* | */CMakeFiles/CMakeTmp*) exec "$@" ;; esac
if [ -n "${COMPILER_PATH-}${GCC_EXEC_PREFIX-}" ]; then exec "$@"; fi
object=
for word in "${@:2}"; do
  case $word in
    -c | --compile | -dc | --device-c | -dw | --device-w) object=1 ;;
    -keep* | --keep* | -save-temps* | --save-temps* | -dryrun | --dryrun | -time | --time | -time=* | --time=* | \
    -clean* | --clean* | -run* | --run* | *device-time-trace* | - | -x*-) exec "$@" ;;
  esac
done
if [ -z "$object" ]; then exec "$@"; fi
steps=$("$@" --dryrun 2>&1 < /dev/null) || exec "$@"
case $steps in
  *'`'* | *'$('* | *' -B'* | *' --prefix'* | *' @'* | *-fplugin* | *-specs* | *'-wrapper'* | *=native* | \
  *-save-temps* | *-fprofile-* | *-fauto-profile* | *coverage* | *-gsplit-dwarf* | *-fstack-usage* | \
  *-fcallgraph-info* | *-fdump-* | *-fmodule*) exec "$@" ;;
esac
set -f
place=$PATH host= plan= files=
while IFS= read -r line; do
  line=${line#'#$ '}
  case $line in
    PATH=*) place=${line#PATH=}; continue ;;
    LD_LIBRARY_PATH=*) continue ;;
  esac
  plan+=$line$'\n'
  case $line in *' -E -x c++ '*) ;; *) continue ;; esac
  eval "pass=($line)" || exec "$@"
  program=$(PATH=$place type -P "${pass[0]}") || exec "$@"
  host_key "$program" || exec "$@"
  if [ -n "$as" ] && [ "$(PATH=$place type -P as)" != "$as" ]; then exec "$@"; fi
  scan=("$program") skip=
  for word in "${pass[@]:1}"; do
    if [ -n "$skip" ]; then skip=; continue; fi
    case $word in -o) skip=1 ;; -E) ;; *) scan+=("$word") ;; esac
  done
  case $line in *-D__CUDA_ARCH__=*) ;; *) scan+=(-include crt/host_runtime.h) ;; esac
  found=$("${scan[@]}" -M -MT x 2> /dev/null < /dev/null) || exec "$@"
  found=${found//$'\\\n'/}
  files+=" ${found#x:}"
done <<< "$steps"
case $files in '' | *[\\\$]*) exec "$@" ;; esac
files=$(printf '%s\n' $files | LC_ALL=C sort -u)
bytes=$(sha256sum -- $files 2> /dev/null) || exec "$@"
bytes=$(sha256sum <<< "$plan$bytes") || exec "$@"
key+=" $host ${SOURCE_DATE_EPOCH-}"
maps=
)sh";

}  // namespace ptpkg::builder
