// Compares the tags of a file name with the code in the wheel. Installers choose a wheel by its tags alone,
// so a wrong tag shows only as an ImportError after the installation.
//
// Each module is matched by the end of
// its file name (".cpython-311-x86_64-linux-gnu.so") and by its symbols (PyInit_…), because one directory can
// hold files for several interpreters:
// 1. A tag that no interpreter accepts, alone or together with Requires-Python, makes the wheel useless.
// 2. A module for one interpreter contradicts a tag for another one. Tags for many interpreters are judged
//    only if Requires-Python has no upper bound. With a bound, the wheel can hold one file for each of them.
// 3. "none" as the ABI contradicts an extension module, because Python then loads it with any ABI (PEP 425).
// 4. "abi3" contradicts symbols outside the stable ABI of the lowest Python in the tag (PEP 384).
//
// Invariant: unknown interpreters and unknown endings lead to no finding.

#include "verify/wheel/wheel_tag_checks.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <map>
#include <optional>
#include <set>

#include "support/text/text.h"
#include "verify/elf/module_checks.h"
#include "verify/file_kind.h"
#include "verify/rules/tree_map.h"
#include "verify/wheel/computed_platform.h"
#include "verify/wheel/stable_abi.h"
#include "wheel/interpreter_tags.h"
#include "wheel/metadata/core_metadata.h"
#include "wheel/wheel.h"

namespace ptpkg::verify {
namespace {

/// One interpreter: by the end of a file name, or by a tag.
struct Interpreter {
  std::string kind;     // "cp", "pp"
  std::string version;  // "311"
  bool free_threaded = false;

  auto operator<=>(const Interpreter&) const = default;
  [[nodiscard]] std::string str() const { return kind + version + (free_threaded ? "t" : ""); }
};

/// One module, whatever files it has.
struct Module {
  std::string file;                 // the first of its libraries
  bool fits_any = false;            // "x.so", "x.abi3.so", "x.py"
  std::set<Interpreter> built_for;  // "x.cpython-311-x86_64-linux-gnu.so"
};

/// "311t-x86_64-linux-gnu" behind its kind; nullopt without a number.
std::optional<Interpreter> WithVersion(std::string kind, std::string_view rest) {
  std::size_t digits = 0;
  while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9') ++digits;
  if (digits == 0) return std::nullopt;
  const std::string_view flags = rest.substr(digits, rest.find('-', digits) - digits);
  return Interpreter{.kind = std::move(kind),
                     .version = std::string(rest.substr(0, digits)),
                     .free_threaded = flags.find('t') != std::string_view::npos};
}

/// Interpreter in the part before ".so" or ".pyd"; nullopt: any interpreter tries to load such a file.
std::optional<Interpreter> BuiltFor(std::string_view part, bool windows) {
  constexpr std::string_view kCPython = "cpython-";
  constexpr std::string_view kPyPy = "pypy";
  if (part.starts_with(kCPython)) return WithVersion("cp", part.substr(kCPython.size()));
  if (part.starts_with(kPyPy)) return WithVersion("pp", part.substr(kPyPy.size()));
  if (windows && part.starts_with("cp")) return WithVersion("cp", part.substr(2));
  return std::nullopt;
}

/// The modules that have a library, by directory and name.
std::map<std::string, Module> ModulesIn(const StagedTree& tree) {
  std::map<std::string, Module> modules;
  std::set<std::string> texts;
  for (const TreeEntry& entry : tree.entries) {
    // Nothing is imported from a .dist-info.
    const std::string& path = entry.path.str();
    const bool of_metadata = std::string_view(path).substr(0, path.find('/')).ends_with(".dist-info");
    // The installed path, because members of .data/platlib are imported from site-packages.
    const std::string place = of_metadata ? "" : InstalledPath(path).value_or("");
    if (place.ends_with(".py")) texts.insert(place.substr(0, place.size() - 3));
    const bool windows = place.ends_with(".pyd");
    if (!windows && !place.ends_with(".so")) continue;
    const std::size_t name = place.rfind('/') == std::string::npos ? 0 : place.rfind('/') + 1;
    const std::size_t dot = place.find('.', name);
    const std::string stem = place.substr(0, place.rfind('.'));
    const std::size_t last = stem.rfind('.');
    // The name ends at the first '.', so all files of one module share an entry. One that fits is enough.
    Module& module = modules[place.substr(0, dot)];
    if (module.file.empty()) module.file = entry.path.str();
    std::optional<Interpreter> built_for;
    if (last != std::string::npos && last >= dot)
      built_for = BuiltFor(std::string_view(stem).substr(last + 1), windows);
    if (!built_for) {
      module.fits_any = true;
    } else {
      module.built_for.insert(*std::move(built_for));
    }
  }
  for (auto& [key, module] : modules)
    module.fits_any = module.fits_any || texts.contains(key) || texts.contains(key + "/__init__");
  return modules;
}

/// Interpreter requirements of one plain tag.
struct Claim {
  std::string words;                     // "cp312-cp312"
  std::optional<Interpreter> only = {};  // nullopt: many, "py3", "cp39-abi3"
  bool either = false;                   // with and without threads: "cp313-none"
};

/// nullopt for interpreters whose names of files are not known, for Python 2, and for pairs of a compressed
/// set that no interpreter has ("cp310-cp311").
std::optional<Claim> ClaimOf(const wheel::Tag& tag) {
  Claim claim{.words = tag.python + "-" + tag.abi};
  if (tag.python.starts_with("py3")) return claim;
  const std::string kind = tag.python.substr(0, std::min<std::size_t>(2, tag.python.size()));
  if (kind != "cp" && kind != "pp") return std::nullopt;
  claim.only = WithVersion(kind, std::string_view(tag.python).substr(2));
  if (!claim.only) return std::nullopt;
  // abi3 fits every later Python, so no single one is required.
  if (tag.abi.starts_with("abi3")) {
    claim.only.reset();
  } else if (tag.abi == "none") {
    claim.either = true;
  } else if (tag.abi.starts_with("cp")) {
    const auto abi = WithVersion("cp", std::string_view(tag.abi).substr(2));
    if (!abi || abi->version != claim.only->version) return std::nullopt;
    claim.only->free_threaded = abi->free_threaded;
  }
  return claim;
}

bool CanImport(const Claim& claim, const Module& module) {
  if (module.fits_any) return true;
  if (!claim.only) return module.built_for.size() > 1;  // one file for each Python that its maker knows
  return std::any_of(module.built_for.begin(), module.built_for.end(), [&](const Interpreter& one) {
    return one.kind == claim.only->kind && one.version == claim.only->version &&
           (claim.either || one.free_threaded == claim.only->free_threaded);
  });
}

/// Requires-Python; none where METADATA cannot be read, which has a finding of its own.
Result<wheel::Specifiers> PythonsRequired(Env& env, const StagedTree& tree) {
  for (const TreeEntry& entry : tree.entries) {
    const std::string& path = entry.path.str();
    if (!path.ends_with(".dist-info/METADATA") || std::count(path.begin(), path.end(), '/') != 1) continue;
    if (entry.kind != FileKind::kRegular || entry.size_bytes > wheel::DocumentLimit("METADATA")) break;
    PTPKG_TRY(const std::string text, ReadFile(env.fs, tree.root / entry.path));
    const auto metadata = wheel::ParseCoreMetadata(text, path);
    if (!metadata) break;
    const auto pythons = wheel::ParseRequirement("python " + metadata->Get("Requires-Python"));
    return pythons ? pythons->specifiers : wheel::Specifiers();
  }
  return wheel::Specifiers();
}

/// True if Requires-Python has an upper bound below Python 4: then "py3" does not mean all of them.
bool HasUpperBound(const wheel::Specifiers& pythons) {
  return std::any_of(pythons.begin(), pythons.end(), [](const auto& one) {
    const auto& [op, version] = one;
    return op == "~=" || op == "==" || op == "===" || (op.starts_with("<") && version.starts_with("3"));
  });
}

using Modules = std::map<std::string, Module>;

void CheckExtensions(const wheel::FileName& name, const Modules& modules, bool ends,
                     std::vector<Finding>& findings) {
  std::vector<Claim> claims;
  for (const wheel::Tag& tag : wheel::ExpandTag({name.tag.python, name.tag.abi, "any"})) {
    const auto claim = ClaimOf(tag);
    // With an upper bound in Requires-Python, a wheel for many Pythons can bring one file for each of them.
    if (claim && (claim->only || !ends)) claims.push_back(*claim);
  }
  LimitedFindings limited(findings);
  for (const auto& one : modules) {
    const Module& module = one.second;
    const auto against = std::find_if(claims.begin(), claims.end(),
                                      [&](const Claim& claim) { return !CanImport(claim, module); });
    if (against == claims.end()) continue;
    std::vector<std::string> built_for;
    for (const Interpreter& python : module.built_for) built_for.push_back(python.str());
    limited.Add(
        {"wheel-extension-tag", Severity::kError, module.file,
         fmt::format("is named for {} only, so {} of the tag '{}' cannot import it", Join(built_for, ", "),
                     against->only ? "the Python" : "other Pythons", against->words),
         "use the Python and ABI tags of the files, or build them for that Python"});
  }
}

/// The tags against those that interpreters take, and against Requires-Python.
void CheckInterpreters(const wheel::FileName& name, const wheel::Specifiers& required,
                       std::vector<Finding>& findings) {
  const wheel::TagVerdict verdict = wheel::JudgeTag(name.tag);
  if (verdict.pythons.empty()) {
    findings.push_back({"wheel-tag-nobody", Severity::kError, "",
                        fmt::format("no Python accepts the tag '{}'", name.tag.str()),
                        "use a tag that an interpreter supports; list them with 'pip debug --verbose'"});
    return;
  }
  if (!verdict.idle.empty()) {
    findings.push_back({"wheel-tag-nobody", Severity::kWarning, "",
                        fmt::format("no Python accepts '{}' with the other parts of the tag '{}'",
                                    Join(verdict.idle, "', '"), name.tag.str()),
                        "remove it from the tag"});
  }
  const bool some = std::any_of(verdict.pythons.begin(), verdict.pythons.end(),
                                [&](const auto& pythons) { return wheel::HasRelease(pythons, required); });
  if (some) return;
  std::vector<std::string> words;
  for (const auto& [op, version] : required) words.push_back(op + version);
  findings.push_back({"wheel-python-nobody", Severity::kError, "",
                      fmt::format("no Python has the tag '{}' and satisfies Requires-Python '{}'",
                                  name.tag.str(), Join(words, ",")),
                      "correct the tag or Requires-Python"});
}

/// True if "pkg/ext.abi3.so" defines PyInit_ext or another function that Python calls (ModuleNameOf):
/// libraries that hold an interpreter define others.
bool DefinesItsModule(const std::string& path, const elf::PythonSymbols& symbols) {
  const std::string file = path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
  const std::vector<std::string> functions = ModuleNameOf(path).functions;
  return symbols.defined.contains("PyInit_" + file.substr(0, file.find('.'))) ||
         std::any_of(functions.begin(), functions.end(),
                     [&](const std::string& function) { return symbols.defined.contains(function); });
}

/// The key of `path` in Modules.
std::string KeyOf(const std::string& path) {
  const std::string place = InstalledPath(path).value_or(path);
  const std::size_t name = place.rfind('/') == std::string::npos ? 0 : place.rfind('/') + 1;
  return place.substr(0, place.find('.', name));
}

/// The first plain tag that lets a module of one ABI into an interpreter of another: "py3-none", and
/// from 3.13 on "cp313-none", which free-threaded builds take too. "" for none.
std::string TagWithoutAbi(const wheel::Tag& tag) {
  constexpr int kFirstFreeThreaded = 13;
  for (const wheel::Tag& plain : wheel::ExpandTag({tag.python, tag.abi, "linux"})) {
    const auto pythons = wheel::PythonsOf(plain);
    if (plain.abi != "none" || !pythons || pythons->major != 3) continue;
    if (pythons->first == pythons->last &&
        (pythons->first < kFirstFreeThreaded || !plain.python.starts_with("cp")))
      continue;
    return plain.python + "-" + plain.abi;
  }
  return {};
}

void CheckModulesWithoutAbi(const NamedTags& tags, const Modules& modules, std::vector<Finding>& findings) {
  const std::string words = TagWithoutAbi(tags.name.tag);
  if (words.empty()) return;
  LimitedFindings limited(findings);
  for (const auto& [path, symbols] : tags.symbols) {
    const auto module = modules.find(KeyOf(path));
    // One file for each Python that its maker knows.
    const bool several = module != modules.end() && module->second.built_for.size() > 1;
    if (several || !DefinesItsModule(path, symbols)) continue;
    limited.Add({"wheel-none-abi", Severity::kError, path,
                 fmt::format("is an extension module, but the tag '{}' is for any ABI", words),
                 "use the ABI tag of its modules: cp3XY, cp3XYt or abi3"});
  }
}

/// The lowest Python 3 whose stable ABI the tag names.
std::optional<int> StableAbiOf(const wheel::Tag& tag) {
  std::optional<int> lowest;
  for (const wheel::Tag& plain : wheel::ExpandTag({tag.python, tag.abi, "linux"})) {
    if (!plain.abi.starts_with("abi3") || !wheel::PythonsOf(plain)) continue;
    const int minor = std::stoi(plain.python.substr(3));
    lowest = std::min(lowest.value_or(minor), minor);
  }
  return lowest;
}

/// True if the end of the name says that one Python alone imports the file.
bool NamesOnePython(const std::string& path) {
  const std::size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  const std::size_t dot = path.find('.', name);
  if (dot == std::string::npos) return false;
  return BuiltFor(std::string_view(path).substr(dot + 1), path.ends_with(".pyd")).has_value();
}

void CheckStableAbi(const NamedTags& tags, std::vector<Finding>& findings) {
  const std::optional<int> lowest = StableAbiOf(tags.name.tag);
  if (!lowest) return;
  std::set<std::string_view> defined;
  for (const auto& [path, symbols] : tags.symbols)
    defined.insert(symbols.defined.begin(), symbols.defined.end());
  LimitedFindings limited(findings);
  for (const auto& [path, symbols] : tags.symbols) {
    // A file for one Python may use all of that Python, also next to abi3 files.
    if (NamesOnePython(path)) continue;
    std::vector<std::string> outside;
    for (const std::string& symbol : symbols.imported) {
      // A symbol that another file of the wheel defines is not Python's, whatever its name is.
      const auto since = StableAbiSince(symbol);
      if (defined.contains(symbol) || (since && *since <= *lowest)) continue;
      outside.push_back(since ? fmt::format("{} (from 3.{} on)", symbol, *since) : symbol);
    }
    if (outside.empty()) continue;
    constexpr std::size_t kShown = 5;
    const std::size_t count = outside.size();
    outside.resize(std::min(count, kShown));
    const bool foreign = tags.with_foreign_needs.contains(path);
    limited.Add(
        {"wheel-stable-abi", foreign ? Severity::kWarning : Severity::kError, path,
         fmt::format("imports symbols that are not in the stable ABI of Python 3.{}: {}{}", *lowest,
                     Join(outside, ", "), count > kShown ? fmt::format(" and {} more", count - kShown) : ""),
         "build it with Py_LIMITED_API, or tag the wheel for one Python"});
  }
}

/// Modules that only PyModExport_x makes (PEP 793), in a wheel that an older Python takes. The suffix of a
/// file for one Python is the matter of elf-module-init.
void CheckExportHooks(const NamedTags& tags, const wheel::Specifiers& required,
                      std::vector<Finding>& findings) {
  constexpr int kLastWithout = 14;
  const wheel::TagVerdict verdict = wheel::JudgeTag(tags.name.tag);
  const bool takes_older =
      std::any_of(verdict.pythons.begin(), verdict.pythons.end(), [&](wheel::PythonRange pythons) {
        pythons.last = std::min(pythons.last, kLastWithout);
        return pythons.major == 3 && pythons.first <= pythons.last && wheel::HasRelease(pythons, required);
      });
  if (!takes_older) return;
  LimitedFindings limited(findings);
  for (const auto& [path, symbols] : tags.symbols) {
    const std::vector<std::string> functions = ModuleNameOf(path).functions;
    if (NamesOnePython(path) || functions.size() != 2 || !symbols.defined.contains(functions.front()) ||
        symbols.defined.contains(functions.back()))
      continue;
    limited.Add(
        {"wheel-extension-tag", Severity::kError, path,
         fmt::format("exports '{}' without '{}', so Pythons before 3.{} of the tag '{}' cannot import it",
                     functions.front(), functions.back(), kLastWithout + 1, tags.name.tag.str()),
         fmt::format("export '{}' too, or give the wheel the tag of a later Python", functions.back())});
  }
}

/// All modules are "x.abi3.so", and the tag is for one Python.
void CheckAbi3Possible(const NamedTags& tags, std::vector<Finding>& findings) {
  if (StableAbiOf(tags.name.tag) || !tags.name.tag.abi.starts_with("cp")) return;
  bool any = false;
  for (const auto& [path, symbols] : tags.symbols) {
    if (!DefinesItsModule(path, symbols)) continue;
    // One module for a single Python ties the whole wheel to that Python.
    if (!path.ends_with(".abi3.so")) return;
    any = true;
  }
  if (!any) return;
  findings.push_back(
      {"wheel-abi3-possible", Severity::kInfo, "",
       fmt::format("all extension modules use the stable ABI, but the tag '{}' is for one Python",
                   tags.name.tag.str()),
       "tag the wheel for the oldest Python that it supports: ptpkg retag --python cp3XY --abi abi3"});
}

/// Platforms that no system has; an error if the tag has no other.
void CheckPossiblePlatforms(const wheel::FileName& name, std::vector<Finding>& findings) {
  const std::vector<std::string> platforms = Split(name.tag.platform, '.');
  std::vector<std::string> impossible;
  for (const std::string& platform : platforms) {
    if (!IsPossiblePlatform(platform)) impossible.push_back(platform);
  }
  if (impossible.empty()) return;
  const bool all = impossible.size() == platforms.size();
  findings.push_back({"wheel-tag-nobody", all ? Severity::kError : Severity::kWarning, "",
                      fmt::format("no system has the platform '{}'", Join(impossible, "', '")),
                      "compute the platform tag: ptpkg retag --platform auto"});
}

void CheckSystems(const NamedTags& tags, std::vector<Finding>& findings) {
  // Programs for Windows lie in wheels for all systems.
  if (!tags.code.contains(MachineCode::kElf) && !tags.code.contains(MachineCode::kMachO)) return;
  for (const std::string& platform : Split(tags.name.tag.platform, '.')) {
    if (!IsForOtherSystems(platform) || CodeMayBeFor(platform, tags.code)) continue;
    findings.push_back({"wheel-platform-code", Severity::kError, "",
                        fmt::format("the libraries are for a different system than '{}'", platform),
                        "compute the platform tag: ptpkg retag --platform auto"});
  }
}

}  // namespace

Result<void> CheckWheelTags(Env& env, const NamedTags& tags, const StagedTree& tree,
                            std::vector<Finding>& findings) {
  CheckSystems(tags, findings);
  CheckPossiblePlatforms(tags.name, findings);
  PTPKG_TRY(const wheel::Specifiers required, PythonsRequired(env, tree));
  CheckInterpreters(tags.name, required, findings);
  const Modules modules = ModulesIn(tree);
  CheckExtensions(tags.name, modules, HasUpperBound(required), findings);
  CheckModulesWithoutAbi(tags, modules, findings);
  CheckStableAbi(tags, findings);
  CheckExportHooks(tags, required, findings);
  CheckAbi3Possible(tags, findings);
  return Ok();
}

}  // namespace ptpkg::verify
