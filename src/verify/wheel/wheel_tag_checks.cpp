// Compares the tags of a file name with the code in the wheel. Installers choose a wheel by its tags alone,
// so a wrong tag shows only as an ImportError after the installation.
//
// Each module is matched by its suffix (".cpython-311-x86_64-linux-gnu.so", rules/module_suffix.h) and by its
// symbols (PyInit_…), because one directory can hold files for several interpreters:
// 1. A tag that no interpreter accepts, alone or together with Requires-Python, makes the wheel useless.
// 2. A module for one interpreter contradicts a tag for another one. A tag for many interpreters stands for
//    each Python 3 that Requires-Python admits. With files for several of them, their maker knows which.
// 3. "none" as the ABI contradicts an extension module, because Python then loads it with any ABI (PEP 425).
// 4. "abi3" contradicts symbols outside the stable ABI of the lowest Python in the tag (PEP 384).
//
// Invariant: unknown interpreters and names that are not of modules lead to no finding.

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
#include "verify/rules/module_suffix.h"
#include "verify/rules/tree_map.h"
#include "verify/wheel/computed_platform.h"
#include "verify/wheel/stable_abi.h"
#include "wheel/interpreter_tags.h"
#include "wheel/metadata/core_metadata.h"
#include "wheel/wheel.h"

namespace ptpkg::verify {
namespace {

using Modules = std::map<std::string, ImportedModule>;

Modules ModulesIn(const StagedTree& tree) {
  std::map<std::string, std::string> files;
  for (const TreeEntry& entry : tree.entries) {
    const std::string& path = entry.path.str();
    // Nothing is imported from a .dist-info.
    if (std::string_view(path).substr(0, path.find('/')).ends_with(".dist-info")) continue;
    // The installed path, because members of .data/platlib are imported from site-packages.
    if (auto place = InstalledPath(path)) files.emplace(*std::move(place), path);
  }
  return FindImportedModules(files);
}

/// The Pythons of one plain tag.
struct Claim {
  std::string words;  // "cp312-cp312-linux_x86_64"
  ImportingPythons importers;
};

/// The flags of the builds that take an ABI tag; nullopt: all but debug builds.
std::optional<std::string> FlagsOf(const std::string& abi, const std::string& version, int minor) {
  constexpr int kFirstWithoutStable = 15;  // without the global lock
  if (abi == "abi3t") return "t";
  // Until 3.7 the flags don't matter to the stable ABI.
  if (abi == "abi3") return minor < kFirstWithoutStable ? std::nullopt : std::optional<std::string>("");
  if (abi == "none") return std::nullopt;
  const std::string own = "cp" + version;
  return abi.starts_with(own) ? abi.substr(own.size()) : "";
}

/// nullopt for interpreters whose suffixes are not known, and for tags that no interpreter has ("cp310-cp311"
/// of a compressed set). Of tags for many Pythons, those that `required` admits.
std::optional<Claim> ClaimOf(const wheel::Tag& plain, const wheel::Specifiers& required) {
  const std::string kind = plain.python.substr(0, std::min<std::size_t>(2, plain.python.size()));
  const auto range = wheel::PythonsOf(plain);
  if (!range || (kind != "cp" && kind != "pp" && (kind != "py" || range->major != 3))) return std::nullopt;
  Claim claim{.words = plain.str(), .importers = {.platform = plain.platform}};
  claim.importers.is_open = kind == "py" || plain.abi.starts_with("abi3") || range->first != range->last;
  for (int minor = range->first; minor <= range->last; ++minor) {
    if (claim.importers.is_open && !wheel::HasRelease({range->major, minor, minor}, required)) continue;
    const std::string version = fmt::format("{}{}", range->major, minor);
    claim.importers.pythons.push_back({.kind = kind == "py" ? "cp" : kind,
                                       .version = version,
                                       .flags = FlagsOf(plain.abi, version, minor)});
  }
  return claim;
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

void CheckExtensions(const NamedTags& tags, const Modules& modules, const wheel::Specifiers& required,
                     std::vector<Finding>& findings) {
  std::vector<Claim> claims;
  for (const wheel::Tag& plain : wheel::ExpandTag(tags.name.tag)) {
    if (auto claim = ClaimOf(plain, required)) claims.push_back(*std::move(claim));
  }
  LimitedFindings limited(findings);
  for (const auto& [key, module] : modules) {
    for (const Claim& claim : claims) {
      const SearchingPython* const without = FirstWithout(claim.importers, module, tags.symbols);
      if (without == nullptr) continue;
      const std::string python = claim.importers.is_open ? without->Words() : "the Python";
      limited.Add({"wheel-extension-tag", Severity::kError, module.file,
                   fmt::format("{}, but {} of the tag '{}' looks for others", module.NameSuffixes(), python,
                               claim.words),
                   "use the Python, ABI and platform tags of the files, or build them for that Python"});
      break;
    }
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
    const auto module = modules.find(ModuleKey(InstalledPath(path).value_or(path)));
    // One file for each Python that its maker knows.
    const bool several = module != modules.end() && module->second.BuiltFor().size() > 1;
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

void CheckStableAbi(const NamedTags& tags, std::vector<Finding>& findings) {
  const std::optional<int> lowest = StableAbiOf(tags.name.tag);
  if (!lowest) return;
  std::set<std::string_view> defined;
  for (const auto& [path, symbols] : tags.symbols)
    defined.insert(symbols.defined.begin(), symbols.defined.end());
  LimitedFindings limited(findings);
  for (const auto& [path, symbols] : tags.symbols) {
    // A file for one Python may use all of that Python, also next to abi3 files.
    const auto suffix = ModuleSuffixOf(path);
    if (suffix && suffix->kind == ModuleSuffix::Kind::kOwn) continue;
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

/// Modules that only PyModExport_x makes (PEP 793), in a wheel that an older Python takes.
void CheckExportHooks(const NamedTags& tags, const wheel::Specifiers& required,
                      std::vector<Finding>& findings) {
  const wheel::TagVerdict verdict = wheel::JudgeTag(tags.name.tag);
  const bool takes_older =
      std::any_of(verdict.pythons.begin(), verdict.pythons.end(), [&](wheel::PythonRange pythons) {
        pythons.last = std::min(pythons.last, kFirstModuleExport - 1);
        return pythons.major == 3 && pythons.first <= pythons.last && wheel::HasRelease(pythons, required);
      });
  if (!takes_older) return;
  LimitedFindings limited(findings);
  for (const auto& [path, symbols] : tags.symbols) {
    const std::string hook = OnlyExportHook(path, symbols);
    if (hook.empty()) continue;
    const std::string function = ModuleNameOf(path).functions.back();
    limited.Add(
        {"wheel-extension-tag", Severity::kError, path,
         fmt::format("exports '{}' without '{}', so Pythons before 3.{} of the tag '{}' cannot import it",
                     hook, function, kFirstModuleExport, tags.name.tag.str()),
         fmt::format("export '{}' too, or give the wheel the tag of a later Python", function)});
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
  CheckExtensions(tags, modules, required, findings);
  CheckModulesWithoutAbi(tags, modules, findings);
  CheckStableAbi(tags, findings);
  CheckExportHooks(tags, required, findings);
  CheckAbi3Possible(tags, findings);
  return Ok();
}

}  // namespace ptpkg::verify
