#include "verify/wheel_tag_checks.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <map>
#include <optional>
#include <set>

#include "support/text.h"
#include "verify/deserved_platform.h"
#include "verify/file_kind.h"
#include "verify/tree_map.h"
#include "wheel/core_metadata.h"
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

/// Of the part before ".so" or ".pyd"; nullopt: any interpreter tries to load such a file.
std::optional<Interpreter> BuiltFor(std::string_view part, bool windows) {
  constexpr std::string_view kCPython = "cpython-";
  constexpr std::string_view kPyPy = "pypy";
  if (part.starts_with(kCPython)) return WithVersion("cp", part.substr(kCPython.size()));
  if (part.starts_with(kPyPy)) return WithVersion("pp", part.substr(kPyPy.size()));
  if (windows && part.starts_with("cp")) return WithVersion("cp", part.substr(2));
  return std::nullopt;
}

/// The modules that have a library, by folder and name.
std::map<std::string, Module> ModulesIn(const StagedTree& tree) {
  std::map<std::string, Module> modules;
  std::set<std::string> texts;
  for (const TreeEntry& entry : tree.entries) {
    // Nothing is imported from a .dist-info.
    const std::string& path = entry.path.str();
    const bool of_metadata = std::string_view(path).substr(0, path.find('/')).ends_with(".dist-info");
    const std::string place = of_metadata ? "" : InstalledPath(path).value_or("");
    if (place.ends_with(".py")) texts.insert(place.substr(0, place.size() - 3));
    const bool windows = place.ends_with(".pyd");
    if (!windows && !place.ends_with(".so")) continue;
    const std::size_t name = place.rfind('/') == std::string::npos ? 0 : place.rfind('/') + 1;
    const std::size_t dot = place.find('.', name);
    const std::string stem = place.substr(0, place.rfind('.'));
    const std::size_t last = stem.rfind('.');
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

/// What one plain tag says of the interpreter.
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

/// Whether Requires-Python has an end below Python 4: then "py3" does not mean all of them.
Result<bool> EndsSomewhere(Env& env, const StagedTree& tree) {
  for (const TreeEntry& entry : tree.entries) {
    const std::string& path = entry.path.str();
    if (!path.ends_with(".dist-info/METADATA") || std::count(path.begin(), path.end(), '/') != 1) continue;
    if (entry.kind != FileKind::kRegular || entry.size_bytes > wheel::DocumentLimit("METADATA")) return false;
    PTPKG_TRY(const std::string text, ReadFile(env.fs, tree.root / entry.path));
    const auto metadata = wheel::ParseCoreMetadata(text, path);
    if (!metadata) return false;
    const auto pythons = wheel::ParseRequirement("python " + metadata->Get("Requires-Python"));
    return pythons &&
           std::any_of(pythons->specifiers.begin(), pythons->specifiers.end(), [](const auto& one) {
             const auto& [op, version] = one;
             return op == "~=" || op == "==" || op == "===" ||
                    (op.starts_with("<") && version.starts_with("3"));
           });
  }
  return false;
}

Result<void> CheckExtensions(Env& env, const wheel::FileName& name, const StagedTree& tree,
                             std::vector<Finding>& findings) {
  const std::map<std::string, Module> modules = ModulesIn(tree);
  if (std::all_of(modules.begin(), modules.end(), [](const auto& one) { return one.second.fits_any; }))
    return Ok();
  PTPKG_TRY(const bool ends, EndsSomewhere(env, tree));
  std::vector<Claim> claims;
  for (const wheel::Tag& tag : wheel::ExpandTag({name.tag.python, name.tag.abi, "any"})) {
    const auto claim = ClaimOf(tag);
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
         fmt::format("is for {} alone by its name, so {} of the tag '{}' cannot import it",
                     Join(built_for, ", "), against->only ? "the Python" : "other Pythons", against->words),
         "give the wheel the Python and ABI tags of its files, or build these for that Python"});
  }
  return Ok();
}

void CheckSystems(const NamedTags& tags, std::vector<Finding>& findings) {
  // Programs for Windows lie in wheels for all systems.
  if (!tags.code.contains(MachineCode::kElf) && !tags.code.contains(MachineCode::kMachO)) return;
  for (const std::string& platform : Split(tags.name.tag.platform, '.')) {
    if (!IsForOtherSystems(platform) || CodeMayBeFor(platform, tags.code)) continue;
    findings.push_back({"wheel-platform-code", Severity::kError, "",
                        fmt::format("the libraries are for another system than '{}' says", platform),
                        "give the wheel the platform tag that its files deserve"});
  }
}

}  // namespace

Result<void> CheckWheelTags(Env& env, const NamedTags& tags, const StagedTree& tree,
                            std::vector<Finding>& findings) {
  CheckSystems(tags, findings);
  return CheckExtensions(env, tags.name, tree, findings);
}

}  // namespace ptpkg::verify
