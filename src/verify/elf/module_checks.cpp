// Judges modules by the question that Python asks: dlopen the file, then dlsym the function of its name.
// dlsym searches the file and the libraries that it needs, breadth first, with the library of a filter before
// the file that names it. The first file that has the name decides. So the search here takes the same order,
// and ends without an error where processes differ or where the tree does not have a library.

#include "verify/elf/module_checks.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "support/text/globs.h"
#include "support/text/text.h"
#include "verify/elf/elf_tables.h"
#include "verify/file_findings.h"
#include "verify/rules/tree_map.h"
#include "verify/wheel/punycode.h"

namespace ptpkg::verify {
namespace {

// For names in ASCII and others (PEP 489, PEP 793).
constexpr std::string_view kInit = "PyInit";
constexpr std::string_view kExport = "PyModExport";

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// The module of "p/__init__.so" is "p". One that lies in a directory from which modules are imported has the
/// file's own name, and so has one in a directory with a '.', which no import can name.
std::string_view PackageOf(std::string_view path) {
  constexpr std::string_view kOwn = "__init__";
  constexpr std::array<std::string_view, 3> kRoots = {"site-packages", "dist-packages", "lib-dynload"};
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return kOwn;
  const std::string_view folder = BaseName(path.substr(0, slash));
  const bool is_root = std::find(kRoots.begin(), kRoots.end(), folder) != kRoots.end();
  return is_root || folder.find('.') != std::string_view::npos ? kOwn : folder;
}

/// False if the suffix is for one Python before 3.15, or for another interpreter.
bool CanTakeExport(std::string_view suffix) {
  constexpr std::string_view kCPython3 = "cpython-3";
  if (suffix.empty() || suffix.starts_with("abi3")) return true;
  if (!suffix.starts_with(kCPython3)) return false;
  int minor = 0;
  for (const char c : suffix.substr(kCPython3.size())) {
    if (c < '0' || c > '9' || minor > kFirstModuleExport) break;
    minor = minor * 10 + (c - '0');
  }
  return minor >= kFirstModuleExport;
}

std::string FunctionName(std::string_view prefix, std::string_view module) {
  const bool is_ascii =
      std::all_of(module.begin(), module.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  const std::string name = is_ascii ? std::string(module) : Punycode(module);
  return fmt::format("{}{}_{}", prefix, is_ascii ? "" : "U", ReplaceAll(name, "-", "_"));
}

/// The first answer to one of `functions` in `member`.
struct EntryFound {
  std::string function = {};
  elf::EntryPoint entry = elf::EntryPoint::kAbsent;
};

EntryFound FirstEntry(const ElfMember& member, const std::vector<std::string>& functions) {
  for (const std::string& function : functions) {
    const auto found = member.entry_points.find(function);
    if (found != member.entry_points.end() && found->second != elf::EntryPoint::kAbsent)
      return {.function = function, .entry = found->second};
  }
  return {};
}

/// The files that dlsym searches, in its order.
class SearchScope {
 public:
  SearchScope(const ElfTree& tree, const ResolvedLibraries& loads, std::size_t start)
      : tree_(tree), loads_(loads), members_({start}), seen_(tree.members.size()) {
    seen_[start] = true;
    for (std::size_t at = 0; at < members_.size();) {
      const std::size_t index = members_[at];
      const ElfMember& member = tree_.members[index];
      std::vector<std::size_t> filters;
      for (const ElfFilter& filter : member.filters) AddNew(index, filter.name, filters);
      // These come first, with what they need, and the member after them.
      if (!filters.empty()) {
        members_.insert(members_.begin() + static_cast<std::ptrdiff_t>(at), filters.begin(), filters.end());
        continue;
      }
      for (const std::string& name : member.facts.needed) AddNew(index, name, members_);
      ++at;
    }
  }

  [[nodiscard]] const std::vector<std::size_t>& members() const { return members_; }
  /// A library that some process has from elsewhere, or has another file of; "" if there is none.
  [[nodiscard]] const std::string& unknown() const { return unknown_; }

 private:
  /// Appends the files of `name` that are not in the list yet to `list`.
  void AddNew(std::size_t from, const std::string& name, std::vector<std::size_t>& list) {
    const NeedOutcome& outcome = loads_.Of(from, name);
    std::size_t known = 0;
    for (const std::string& path : outcome.found) {
      const auto member = tree_.FindMember(path);
      if (!member || !tree_.members[*member].faults.empty()) continue;
      ++known;
      if (!seen_[*member]) list.push_back(*member);
      seen_[*member] = true;
    }
    const bool is_elsewhere = outcome.missing || !outcome.missing_where.empty() || known == 0;
    if ((is_elsewhere && !IsWithoutModules(name)) || outcome.found.size() > 1) unknown_ = name;
  }

  /// Libraries that have no function of a module but those that Python itself has.
  static bool IsWithoutModules(const std::string& name) {
    return MatchesAnyGlob(SystemLibraries(), name) || MatchesAnyGlob(VersionedLibraries(), name) ||
           MatchesAnyGlob(DriverLibraries(), name) || name.starts_with("libpython3");
  }

  const ElfTree& tree_;
  const ResolvedLibraries& loads_;
  std::vector<std::size_t> members_;
  std::vector<bool> seen_;
  std::string unknown_;
};

class ModuleChecks {
 public:
  ModuleChecks(const ElfTree& tree, const ResolvedLibraries& loads, std::vector<Finding>& findings)
      : tree_(tree), loads_(loads), findings_(findings) {}

  void Check(std::size_t index) {
    const ElfMember& member = tree_.members[index];
    const ModuleName module = ModuleNameOf(member.path.str());
    if (module.functions.empty() || IsProgram(member) || !member.faults.empty()) return;
    const EntryFound own = FirstEntry(member, module.functions);
    if (own.entry == elf::EntryPoint::kNoCode) {
      FileFindings(findings_, member)
          .Add("elf-module-init", Severity::kError,
               fmt::format("exports '{}', but not as code, so the import kills Python", own.function),
               "export a function of that name");
    } else if (own.entry == elf::EntryPoint::kAbsent && IsMeantForImport(member, module)) {
      CheckLibraries(index, module);
    }
  }

 private:
  static bool Asks(const ElfMember& member, bool (*is_wanted)(std::string_view)) {
    const auto& asked = member.symbols.asked;
    return std::any_of(asked.begin(), asked.end(), [&](const elf::ImportedSymbol& symbol) {
      return !symbol.weak && is_wanted(symbol.name);
    });
  }

  /// A plain "x.so" may be opened by path; one that makes a module object is meant for the import.
  static bool IsMeantForImport(const ElfMember& member, const ModuleName& module) {
    return module.is_tagged || Asks(member, [](std::string_view name) {
             return name == "PyModule_Create2" || name == "PyModuleDef_Init" ||
                    name == "PyModule_FromDefAndSpec2";
           });
  }

  /// `index` has no function of its own.
  void CheckLibraries(std::size_t index, const ModuleName& module) {
    const ElfMember& member = tree_.members[index];
    const SearchScope scope(tree_, loads_, index);
    for (const std::string& function : module.functions) {
      for (const std::size_t library : scope.members()) {
        const EntryFound found = FirstEntry(tree_.members[library], {function});
        if (found.entry == elf::EntryPoint::kAbsent) continue;
        if (found.entry == elf::EntryPoint::kNoCode && scope.unknown().empty())
          FileFindings(findings_, member)
              .Add("elf-module-init", Severity::kError,
                   fmt::format("gets '{}' from '{}', but not as code, so the import kills Python", function,
                               tree_.members[library].path.str()),
                   "export a function of that name");
        return;
      }
    }
    ReportMissing(member, module, scope.unknown());
  }

  /// `unknown`: SearchScope::unknown.
  void ReportMissing(const ElfMember& member, const ModuleName& module, const std::string& unknown) {
    const std::vector<std::string> by_age(module.functions.rbegin(), module.functions.rend());
    const std::string names = Join(by_age, "' or '");
    FileFindings findings(findings_, member);
    if (!unknown.empty()) {
      findings.Add("elf-module-init", Severity::kInfo,
                   fmt::format("does not export '{}'; Python can import it only if '{}', which was not read, "
                               "or another library does",
                               names, unknown),
                   "export the function from the module itself");
      return;
    }
    // setuptools gives its suffix to libraries too that ctypes opens; these ask Python for nothing.
    const bool asks_python =
        Asks(member, [](std::string_view name) { return name.starts_with("Py") || name.starts_with("_Py"); });
    const bool is_imported = module.is_tagged && asks_python && !member.path.Name().starts_with("lib");
    findings.Add("elf-module-init", is_imported ? Severity::kError : Severity::kWarning,
                 fmt::format("does not export '{}', so Python cannot import it under its name", names),
                 "export the function, name the file after its module, or remove the Python suffix if it is "
                 "opened by path");
  }

  const ElfTree& tree_;
  const ResolvedLibraries& loads_;
  std::vector<Finding>& findings_;
};

}  // namespace

ModuleName ModuleNameOf(std::string_view path) {
  constexpr std::string_view kExtension = ".so";
  const std::string_view file = BaseName(path);
  if (!file.ends_with(kExtension)) return {};
  const std::string_view stem = file.substr(0, file.size() - kExtension.size());
  const std::size_t dot = stem.find('.');
  std::string_view name = stem.substr(0, dot);
  const std::string_view suffix = dot == std::string_view::npos ? "" : stem.substr(dot + 1);
  const std::string_view first = suffix.substr(0, suffix.find('-'));  // "abi3-x86_64-linux-gnu"
  const bool is_tagged = suffix.starts_with("cpython-3") || first == "abi3" || first == "abi3t" ||
                         suffix.starts_with("pypy3") || suffix.starts_with("graalpy");
  if (name.empty() || (!suffix.empty() && !is_tagged)) return {};
  if (!is_tagged && name.starts_with("lib")) return {};
  const std::string installed = InstalledPath(std::string(path)).value_or(std::string(path));
  if (name == "__init__") name = PackageOf(installed);
  ModuleName module{.is_tagged = is_tagged};
  if (CanTakeExport(suffix)) module.functions.push_back(FunctionName(kExport, name));
  module.functions.push_back(FunctionName(kInit, name));
  return module;
}

bool IsModuleFunction(std::string_view name) {
  for (const std::string_view prefix : {kInit, kExport}) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view rest = name.substr(prefix.size());
    if (rest.starts_with("_") || rest.starts_with("U_")) return true;
  }
  return false;
}

bool ExportsModule(const ElfMember& member) {
  return FirstEntry(member, ModuleNameOf(member.path.str()).functions).entry == elf::EntryPoint::kCode;
}

void CheckModules(const ElfTree& tree, const ResolvedLibraries& loads, std::vector<Finding>& findings) {
  ModuleChecks checks(tree, loads, findings);
  for (std::size_t i = 0; i < tree.members.size(); ++i) checks.Check(i);
}

}  // namespace ptpkg::verify
