#pragma once
// Evaluated recipe of one variant. Layer: recipe. recipe/document/document.h holds the recipe as written, and
// variant/render_variants.h evaluates it. Format: conda recipe v1 (CEP 13, CEP 14), the subset of
// docs/recipe-reference.md; ptpkg-specific settings are under extra.ptpkg.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "support/digest/hash.h"
#include "support/error.h"
#include "support/text/json_fwd.h"
#include "versions/match_spec.h"

namespace ptpkg::recipe {

/// `git:` of a source: a repository, and the commit in it. At most one of `tag`, `branch` and `rev` is given;
/// none: the repository's HEAD.
struct GitSource {
  std::string url = {};  ///< See git_url.h; a path is relative to the recipe's directory. "": no git source.
  std::string tag = {};
  std::string branch = {};
  std::string rev = {};              ///< A full commit id, or the name of a tag or branch.
  std::uint64_t depth = 0;           ///< Commits of history to fetch; 0: not given.
  bool lfs = false;                  ///< Fetch what git-lfs keeps elsewhere.
  bool submodules = true;            ///< With all submodules, theirs included.
  std::string expected_commit = {};  ///< Full id that `tag` and so on must be; "": any.
  std::string commit = {};           ///< Full id, found when the plan is made; "" before.

  bool operator==(const GitSource&) const = default;
};

/// One item of `source:`. Exactly one of `urls`, `path` and `git.url` is given.
struct Source {
  std::vector<std::string> urls = {};  ///< Mirrors, tried in order.
  std::string path = {};              ///< File or directory; absolute, or relative to the recipe's directory.
  std::optional<Sha256> sha256 = {};  ///< `urls` need this or `md5`.
  std::optional<Md5> md5 = {};
  std::string file_name = {};         ///< Name to save a non-archive under; "" = last part of the URL.
  std::string target_directory = {};  ///< Below the source root; "" = the root itself.
  std::vector<std::string> patches =
      {};  ///< Relative to the recipe's directory, in order: source/patch_list.h.
  GitSource git = {};
  /// Globs below an unpacked archive, a directory or a checkout: the files that are taken (empty = all), and
  /// exceptions from them.
  std::vector<std::string> filter_include = {};
  std::vector<std::string> filter_exclude = {};
  SourceSpan span = {};
};

using versions::MatchSpec;  // a requirement is one

/// Requirements that a package adds to dependent builds (CEP 12): `weak` when it is in host, `strong` when it
/// is in build, `noarch` when a noarch package has it in host.
struct RunExports {
  std::vector<MatchSpec> weak = {};
  std::vector<MatchSpec> strong = {};
  std::vector<MatchSpec> noarch = {};
  std::vector<MatchSpec> weak_constraints = {};
  std::vector<MatchSpec> strong_constraints = {};
};

/// Run exports of others that this package does not take over.
struct IgnoreRunExports {
  std::vector<std::string> by_name = {};       ///< Names of packages that would be added.
  std::vector<std::string> from_package = {};  ///< Names of the packages that would add something.
};

struct Requirements {
  std::vector<MatchSpec> build = {};
  std::vector<MatchSpec> host = {};
  std::vector<MatchSpec> run = {};
  std::vector<MatchSpec> run_constraints = {};
  RunExports run_exports = {};
  IgnoreRunExports ignore_run_exports = {};
};

struct BuildScript {
  std::vector<std::string> lines = {};  ///< Run by `interpreter` as one script.
  std::string file = {};                ///< Relative to the recipe's directory; used when `lines` is empty.
  std::string interpreter = "bash";     ///< "": no script; build.sh is not looked for.
  std::map<std::string, std::string> env = {};
  /// Names of variables that the script gets from the caller's environment. Their values are in no key, and
  /// hidden in logs.
  std::vector<std::string> secrets = {};
};

inline constexpr std::string_view kPrefixOfLicense = "${PREFIX}/";
inline constexpr std::string_view kSourceOfPatch = "${SRC_DIR}/";

struct About {
  std::string homepage = {};
  std::string repository = {};
  std::string documentation = {};
  std::string license = {};  ///< An SPDX expression (spdx.h), or "".
  std::string license_family = {};
  /// Globs below the source root or the recipe's directory; after kPrefixOfLicense, below the prefix.
  std::vector<std::string> license_files = {};
  std::string summary = {};
  std::string description = {};
};

/// `python:` of a test.
struct PythonTest {
  std::vector<std::string> imports = {};
  bool pip_check = true;  ///< The requirements of the installed distribution must be met.
  /// Constraints such as "3.10.*": the test runs once with a Python of each. Empty: with the variant's.
  std::vector<std::string> python_versions = {};
  std::vector<MatchSpec> requirements = {};  ///< Packages that the test needs besides this one.
};

/// `script:` of a test. A file is in the recipe's directory.
struct ScriptTest {
  BuildScript script = {};
  std::vector<MatchSpec> requirements = {};        ///< Packages that the script needs besides this one.
  std::vector<MatchSpec> build_requirements = {};  ///< Programs that the script calls.
  /// Globs of files that the package carries for this test, below the source root and the recipe's directory.
  std::vector<std::string> source_files = {};
  std::vector<std::string> recipe_files = {};
  std::uint64_t position = 0;  ///< In `tests`, from 0: part of the path of these files.

  [[nodiscard]] bool HasFiles() const { return !source_files.empty() || !recipe_files.empty(); }
};

/// `perl:`, `r:` or `ruby:` of a test: modules that the language's interpreter must load.
struct ModulesTest {
  std::string language = {};  ///< "perl", "r" or "ruby".
  std::vector<std::string> modules = {};
};

/// `package_contents:` of a test: each of its globs must match a file of the package.
struct ContentsTest {
  std::vector<std::string> files = {};          ///< Below the prefix.
  std::vector<std::string> missing_files = {};  ///< `files.not_exists`: must match nothing.
  std::vector<std::string> site_packages = {};  ///< Modules ("a.b") or paths ("a/b.py") below site-packages.
  std::vector<std::string> bin = {};
  std::vector<std::string> lib =
      {};  ///< "z" is libz.so, libz.so.* or libz.a; names with an ending are files.
  std::vector<std::string> include = {};
  bool strict = false;  ///< Every file of the package must be matched by one of the globs.
};

/// One item of `tests:`; only the kinds that ptpkg runs.
using Test = std::variant<PythonTest, ScriptTest, ContentsTest, ModulesTest>;

/// Directory of the files of the package `name`'s test at `position`, below the prefix: rattler-build's
/// place.
std::string TestFilesFolder(const std::string& name, std::uint64_t position);

enum class RpathTag : std::uint8_t { kRpath, kRunpath };

/// One row of a search-path layout: the first rule whose glob matches a file decides its path.
/// Globs match the path below site-packages for files there, else the path below the prefix.
struct LayoutRule {
  std::string files;
  std::vector<std::string> rpath;  ///< Entries in order; empty = no search path at all.
  RpathTag tag = RpathTag::kRunpath;

  bool operator==(const LayoutRule&) const = default;
};

using Layout = std::vector<LayoutRule>;

/// extra.ptpkg.zip: the part of the files that a plain zip holds. Globs and paths are those below `root`,
/// which becomes `top` in the zip.
struct ZipPart {
  std::string name = {};  ///< File name without ".zip"; "": there is no zip.
  /// Directory of the prefix, "" = all of it. "site-packages/…" whichever Python's.
  std::string root = {};
  std::string top = {};                           ///< Name of the directory that holds everything.
  std::vector<std::string> files = {};            ///< Globs; empty = all.
  std::vector<std::string> exclude = {};          ///< Globs of files to leave out.
  std::map<std::string, std::string> texts = {};  ///< Small files that are added: path → content.
};

/// extra.ptpkg.slices: packages for one GPU each, made from the recipe's packages (docs/slices.md).
struct GpuSlices {
  std::vector<std::string> gpus = {};  ///< versions::GpuSlice::str() of each slice; empty: no slices.
  bool keep_ptx = false;
  bool compact = false;                 ///< Linked files shrink.
  std::vector<std::string> allow = {};  ///< Globs of NVIDIA's libraries that are sliced anyway.
  bool variant = false;                 ///< Wheels: variant wheels.
  std::string cuda = {};                ///< With `variant`: lowest version of CUDA; "": by the local version.
};

/// extra.ptpkg.resources: what `ptpkg matrix` asks of a machine for the build. 0: not given.
struct JobResources {
  std::uint64_t cores = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t gpus = 0;
  std::uint64_t minutes = 0;
};

/// extra.ptpkg of the recipe.
struct PtpkgExtra {
  std::vector<std::string> formats = {"conda", "tar.bz2", "wheel"};  ///< Formats that this recipe can make.
  bool formats_given = false;                                        ///< The recipe has `formats`.
  std::map<std::string, Layout> layouts;                             ///< Keys: "conda", "wheel", "zip".
  std::string wheel_name;                   ///< "" = the name in the staged .dist-info.
  std::vector<std::string> wheel_requires;  ///< Extra Requires-Dist lines.
  std::vector<std::string> wheel_exclude;   ///< Globs of prefix files that stay out of the wheel.
  std::string wheel_repair;  ///< "BACKEND [PLATFORM]" of `ptpkg repair`; "": the wheel is not repaired.
  /// Named exactly if `formats` has "zip". Only packing reads it, from a ZipOutput, so the codec of a whole
  /// recipe leaves it out.
  ZipPart zip;
  GpuSlices slices;  ///< Made of finished packages, which do not depend on it: no codec writes it either.
  std::vector<std::string> system_packages;   ///< Debian packages needed in --env system.
  std::vector<std::string> allow_unresolved;  ///< Globs of NEEDED names that the host provides.
  std::vector<std::string> device_code;       ///< See versions::DeviceCodeRequest, which takes it.
  bool allow_empty = false;                   ///< A script may add nothing to the prefix.
  /// Peak memory of one compiler in bytes; 0: by its language. It decides how many jobs run,
  /// and nothing in the results: no key holds it, and so no codec.
  std::uint64_t memory_per_job = 0;
  JobResources resources = {};  ///< It chooses a machine, not the result: in no key, and so in no codec.
  bool resume = true;           ///< The script may run again where it was interrupted.
  /// Script of `ptpkg dev` after the first whole build; without lines and file: the build's script. It makes
  /// no package, so no codec writes it.
  BuildScript dev_script = {};
};

/// Settings of ptpkg, not of the package.
inline constexpr const char* kSettingsFileName = "ptpkg.toml";

/// The variant files that are looked for beside a recipe: the first that exists counts.
inline constexpr const char* kVariantFileNames[] = {"variants.yaml", "conda_build_config.yaml"};

/// build.dynamic_linking, for conda packages.
struct DynamicLinking {
  std::vector<std::string> rpaths = {};  ///< Directories of the prefix that every search path leads to.
  std::vector<std::string> rpath_allowlist = {};  ///< Globs of entries outside the prefix that stay.
  bool relocates = true;                          ///< False: search paths stay as the build made them.
  std::vector<std::string> relocated = {};        ///< Globs of the files that change; empty = all.
  bool overlinking_is_error = true;  ///< A library that nothing provides is an error for the package.
};

/// build.prefix_detection, for conda packages.
struct PrefixDetection {
  bool ignore_binary = false;                ///< `ignore_binary_files`
  bool ignore_all = false;                   ///< `ignore: true`
  std::vector<std::string> ignore = {};      ///< Globs of files that keep the prefix.
  std::vector<std::string> force_text = {};  ///< Globs of files that always count as text.
  std::vector<std::string> force_binary = {};
};

struct Recipe {
  std::string name;
  std::string version;
  std::uint64_t build_number = 0;
  std::string build_string;
  std::string hash;                            ///< Seven hex digits, without the leading h.
  JsonBox hash_input;                          ///< The object that was hashed.
  std::map<std::string, std::string> variant;  ///< Used keys only, with their values.
  /// Keys that affect the files: read by context, package, source, build except `skip`, and the requirements
  /// of build and host. The build script gets the keys of `variant` among these (recipe/native_build.h).
  std::set<std::string> build_keys;
  /// Names that the build string asks of detected(). While tools are not looked up yet, build_string holds
  /// recipe::kNotDetected in their place.
  std::set<std::string> detects;
  /// Files that load_from_file() has read, relative to recipe_dir. Other fields hold their values, so no
  /// codec writes the names.
  std::set<std::string> loads;
  bool noarch_python = false;
  /// build.python.version_independent: compiled for the platform, and compatible with every Python from some
  /// version on, like extensions of the stable ABI (CEP 20).
  bool python_version_independent = false;
  bool skip = false;
  std::vector<Source> sources;
  BuildScript script;
  std::vector<std::string> python_entry_points;  ///< versions::EntryPoint::str() of each.
  std::vector<std::string> files_include;        ///< build.files; empty = all.
  std::vector<std::string> files_exclude;
  std::vector<std::string> track_features;  ///< From build.variant.down_prioritize_variant: "name-p-0", …
  std::vector<std::string> always_include_files;  ///< Globs of host files that are packed too.
  std::vector<std::string> always_copy_files;     ///< Globs of files that an installer does not hard-link.
  DynamicLinking dynamic_linking;
  PrefixDetection prefix_detection;
  Requirements requirements;
  About about;
  std::vector<Test> tests;
  PtpkgExtra ptpkg;
  std::string subdir = "linux-64";  ///< "noarch" for noarch packages.
  /// A staging output (CEP 41): other outputs inherit its build, and it makes no package. `build_string` is
  /// then "h" and the hash. It has only sources, script and requirements of build and host.
  bool staging = false;
  std::string recipe_name;  ///< recipe.name of a recipe with outputs.
  /// The staging output that this one inherits, evaluated for this variant; null: none.
  std::shared_ptr<const Recipe> inherited;
  bool inherit_run_exports = true;  ///< inherit.run_exports
  AbsPath recipe_dir = AbsPath::Literal("/nonexistent");
  AbsPath recipe_file = AbsPath::Literal("/nonexistent");  ///< In recipe_dir.

  /// The installer chooses the directory of the Python files, and writes the programs of entry points.
  [[nodiscard]] bool InstallerPlacesPython() const { return noarch_python || python_version_independent; }
  /// "name-version-build"; "name-version" for a native build, which serves packages of several build strings.
  [[nodiscard]] std::string FileStem() const;
};

}  // namespace ptpkg::recipe
