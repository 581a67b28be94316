// Finds symbols that no process can bind, and static TLS that dlopen can't provide. It works on the graph of
// members and the libraries that they load. A symbol counts as undefined only if no process with the file
// offers it. So the search widens step by step: the file and its libraries, the programs of the tree (a
// plugin finds the symbols of its program), then everything that each loader of the file brings. One loader
// with a library of unknown content ("opaque") ends the search without a finding. The severity follows the
// binding: Python and DT_BIND_NOW bind at once, so the load fails. A lazy function fails only at its first
// call. All closures together can need time that grows with the square of the members. kMaxSymbolSteps bounds
// it, and the checks then stop without a finding.

#include "verify/elf/symbol_checks.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <set>

#include "support/text/globs.h"
#include "support/text/text.h"
#include "verify/elf/elf_tables.h"
#include "verify/elf/module_checks.h"
#include "verify/file_findings.h"
#include "verify/libc_symbols_text.h"  // generated from data/libc_symbols.txt

namespace ptpkg::verify {
namespace {

/// glibc: 64 + 16 · 100 until 2.31; since then 3 · 192 + 4 · 144 + 512 (elf/dl-tls.c).
constexpr std::uint64_t kStaticTlsSurplus = 1664;
constexpr std::size_t kNamed = 3;

bool IsKnownElsewhere(const std::string& name) {
  static const std::set<std::string, std::less<>> kLibc = [] {
    std::set<std::string, std::less<>> names;
    for (const std::string& line : Split(kLibcSymbolsText, '\n')) {
      if (line.starts_with('#')) continue;
      for (std::string& one : Split(line, ' ')) {
        if (!one.empty()) names.insert(std::move(one));
      }
    }
    return names;
  }();
  // Python's own, and what sanitizers bring into the process ahead of it.
  constexpr std::array<std::string_view, 7> kPrefixes = {"Py",      "_Py",      "__asan_",     "__tsan_",
                                                         "__msan_", "__ubsan_", "__sanitizer_"};
  return kLibc.contains(name) ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Which member loads which, over all processes.
class Graph {
 public:
  Graph(const ElfTree& tree, const ResolvedLibraries& loads)
      : edges_(tree.members.size()), opaque_(tree.members.size()) {
    for (std::size_t i = 0; i < tree.members.size(); ++i) {
      const ElfMember& member = tree.members[i];
      for (const std::string& name : member.facts.needed) AddNeed(tree, loads, i, name);
      for (const ElfFilter& filter : member.filters) AddNeed(tree, loads, i, filter.name);
    }
  }

  [[nodiscard]] const std::vector<std::size_t>& From(std::size_t member) const { return edges_[member]; }
  /// True if the member needs a library whose symbols are not known.
  [[nodiscard]] bool IsOpaque(std::size_t member) const { return opaque_[member]; }

  /// `start` and all that it loads, in breadth-first order.
  [[nodiscard]] std::vector<std::size_t> Closure(std::size_t start) const {
    std::vector<bool> seen(edges_.size());
    std::vector<std::size_t> order = {start};
    seen[start] = true;
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const std::size_t next : edges_[order[i]]) {
        if (!seen[next]) order.push_back(next);
        seen[next] = true;
      }
    }
    return order;
  }

 private:
  void AddNeed(const ElfTree& tree, const ResolvedLibraries& loads, std::size_t from,
               const std::string& name) {
    const NeedOutcome& outcome = loads.Of(from, name);
    for (const std::string& path : outcome.found) {
      if (const auto to = tree.FindMember(path)) {
        edges_[from].push_back(*to);
      } else {
        opaque_[from] = true;
      }
    }
    const bool is_versioned = MatchesAnyGlob(VersionedLibraries(), name);
    // The libraries of glibc and GCC are not opaque: a file binds each of their symbols by version. Such
    // symbols are not in `asked`.
    if (outcome.found.empty() && !is_versioned) opaque_[from] = true;
    // Some process gets the library from elsewhere, whose symbols are not known.
    if (outcome.missing && !outcome.found.empty()) opaque_[from] = true;
  }

  std::vector<std::vector<std::size_t>> edges_;
  std::vector<bool> opaque_;
};

class SymbolChecks {
 public:
  SymbolChecks(const SymbolContext& context, std::vector<Finding>& findings)
      : context_(context), tree_(context.tree), graph_(context.tree, context.loads), findings_(findings) {
    has_python_ = std::any_of(tree_.files.begin(), tree_.files.end(),
                              [](const RelPath& path) { return path.Name().ends_with(".py"); });
    loaders_.resize(tree_.members.size());
    for (std::size_t i = 0; i < tree_.members.size(); ++i) {
      if (IsProgram(tree_.members[i])) programs_.push_back(i);
      for (const std::size_t to : graph_.From(i)) loaders_[to].push_back(i);
    }
  }

  void Run() {
    for (std::size_t i = 0; i < tree_.members.size(); ++i) CheckUndefined(i);
    CheckStaticTls();
  }

 private:
  /// Symbols that no needed library of the file offers.
  std::vector<const elf::ImportedSymbol*> UnresolvedSymbols(std::size_t index) {
    const ElfMember& member = tree_.members[index];
    std::vector<const elf::ImportedSymbol*> left;
    for (const elf::ImportedSymbol& symbol : member.symbols.asked) {
      if (!IsKnownElsewhere(symbol.name)) left.push_back(&symbol);
    }
    if (left.empty()) return left;
    // Breadth first, like ld.so. Here the order only saves time: most symbols are in a direct need.
    for (const std::size_t other : ClosureOf(index)) {
      std::erase_if(left, [&](const elf::ImportedSymbol* symbol) {
        return tree_.members[other].symbols.ExportsSymbol(symbol->name);
      });
      steps_ += left.size() + 1;
      if (left.empty()) break;
    }
    return left;
  }

  std::vector<std::size_t> ClosureOf(std::size_t index) {
    std::vector<std::size_t> closure = graph_.Closure(index);
    steps_ += closure.size();
    return closure;
  }

  /// The members with which processes that load `index` begin: all that lead to it.
  std::vector<std::size_t> LoadersOf(std::size_t index) {
    std::vector<bool> seen(tree_.members.size());
    std::vector<std::size_t> order = {index};
    seen[index] = true;
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const std::size_t next : loaders_[order[i]]) {
        if (!seen[next]) order.push_back(next);
        seen[next] = true;
      }
    }
    steps_ += order.size();
    return order;
  }

  /// A file without libc's versions was linked against something else, or is for musl.
  [[nodiscard]] bool HasLibcVersions(const ElfMember& member) const {
    const auto& needed = member.facts.needed;
    const bool needs_libc = std::any_of(needed.begin(), needed.end(), [](const std::string& name) {
      return name.starts_with("libc.") || name.starts_with("ld-musl");
    });
    return !needs_libc || std::any_of(member.required_versions.begin(), member.required_versions.end(),
                                      [](const auto& version) { return version.library == "libc.so.6"; });
  }

  void CheckUndefined(std::size_t index) {
    const ElfMember& member = tree_.members[index];
    if (member.symbols.asked.empty() || steps_ > kMaxSymbolSteps || !HasLibcVersions(member)) return;
    std::vector<const elf::ImportedSymbol*> left = UnresolvedSymbols(index);
    // A plugin finds what the program that opens it exports.
    std::erase_if(left, [&](const elf::ImportedSymbol* symbol) { return IsOfAProgram(symbol->name); });
    if (left.empty()) return;
    bool is_imported = false;
    for (const std::size_t loader : LoadersOf(index)) {
      is_imported = is_imported || ExportsModule(tree_.members[loader]);
      for (const std::size_t other : ClosureOf(loader)) {
        // A library of unknown content could define any symbol, so nothing is certain any more.
        if (graph_.IsOpaque(other) || steps_ > kMaxSymbolSteps) return;
        std::erase_if(left, [&](const elf::ImportedSymbol* symbol) {
          return tree_.members[other].symbols.ExportsSymbol(symbol->name);
        });
      }
      if (left.empty()) return;
    }
    Report(index, left, is_imported);
  }

  [[nodiscard]] bool IsOfAProgram(const std::string& name) const {
    return std::any_of(programs_.begin(), programs_.end(), [&](std::size_t program) {
      return tree_.members[program].symbols.ExportsSymbol(name);
    });
  }

  /// `is_imported`: a Python module is or loads the file; Python binds everything at once.
  void Report(std::size_t index, const std::vector<const elf::ImportedSymbol*>& left, bool is_imported) {
    const ElfMember& member = tree_.members[index];
    // Programs of dependencies may offer them to their plugins.
    if (!is_imported && FindProvider(context_.dependencies, "").possible) return;
    const bool at_once =
        is_imported || member.symbols.binds_now ||
        std::any_of(left.begin(), left.end(), [](const auto* symbol) { return !symbol->lazy; });
    // Libraries that Python code loads first for all are not visible here.
    const bool may_be_loaded =
        has_python_ && std::all_of(left.begin(), left.end(), [&](const auto* symbol) {
          return std::any_of(tree_.members.begin(), tree_.members.end(), [&](const ElfMember& other) {
            return other.symbols.ExportsSymbol(symbol->name);
          });
        });
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(left.size(), kNamed); ++i) names.push_back(left[i]->name);
    const std::string more = left.size() > kNamed ? fmt::format(" and {} more", left.size() - kNamed) : "";
    FileFindings(findings_, member)
        .Add("elf-undefined-symbol", at_once && !may_be_loaded ? Severity::kError : Severity::kWarning,
             fmt::format("uses '{}'{}, which none of its libraries defines{}", Join(names, "', '"), more,
                         at_once ? "" : "; the process ends at the first call"),
             "link the file with the library that defines them (find them at link time with -Wl,-z,defs)");
  }

  /// True if ld.so loads the library when a process starts, and makes the block as large as needed: a program
  /// of the tree needs it, or it replaces malloc, for which LD_PRELOAD is the way.
  bool IsLoadedAtStart(std::size_t index) {
    if (tree_.members[index].symbols.ExportsSymbol("malloc")) return true;
    const std::vector<std::size_t> loaders = LoadersOf(index);
    return std::any_of(loaders.begin(), loaders.end(),
                       [&](std::size_t loader) { return IsProgram(tree_.members[loader]); });
  }

  void CheckStaticTls() {
    for (std::size_t i = 0; i < tree_.members.size() && steps_ <= kMaxSymbolSteps; ++i) {
      const ElfMember& member = tree_.members[i];
      // A file that others load is part of their sums. It is looked at alone only if it adds something
      // itself.
      if (IsProgram(member) || (!loaders_[i].empty() && member.symbols.static_tls_bytes == 0)) continue;
      if (!any_static_tls_) return;
      std::uint64_t sum = 0;
      for (const std::size_t other : ClosureOf(i)) sum += tree_.members[other].symbols.static_tls_bytes;
      // dlopen has only the surplus, because the static block is laid out before the program starts
      // (elf/dl-tls.c).
      if (sum <= kStaticTlsSurplus) continue;
      FileFindings(findings_, member)
          .Add("elf-static-tls", IsLoadedAtStart(i) ? Severity::kWarning : Severity::kError,
               fmt::format("needs {} bytes of static TLS with its libraries, but a running process has only "
                           "{} for dlopen",
                           sum, kStaticTlsSurplus),
               "compile without -ftls-model=initial-exec, or allocate large variables on the heap");
    }
  }

  const SymbolContext& context_;
  const ElfTree& tree_;
  const Graph graph_;
  std::vector<Finding>& findings_;
  std::vector<std::vector<std::size_t>> loaders_;
  std::vector<std::size_t> programs_;
  bool has_python_ = false;
  const bool any_static_tls_ =
      std::any_of(tree_.members.begin(), tree_.members.end(),
                  [](const ElfMember& member) { return member.symbols.static_tls_bytes != 0; });
  std::uint64_t steps_ = 0;
};

}  // namespace

void CheckSymbols(const SymbolContext& context, std::vector<Finding>& findings) {
  SymbolChecks(context, findings).Run();
}

}  // namespace ptpkg::verify
