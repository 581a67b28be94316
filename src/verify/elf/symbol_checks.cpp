// Finds symbols that no process can bind, and static TLS that dlopen can't provide. It works on the graph of
// members and the libraries that they load. A symbol counts as undefined only if no process with the file
// offers it. So the search widens step by step: the file and its libraries, the programs of the tree (a
// plugin finds the symbols of its program), then everything that each loader of the file brings. One loader
// with a library of unknown content ("opaque") ends the search without a finding. Two more faults are
// looked for in the libraries that a file finds: one for better processors that lacks a symbol of the usual
// one, and one without a table of versions, at which a look-up of a version ends. The third fault is a
// definition with the wrong storage, such as an ordinary variable in place of a thread-local one: ld.so takes
// the first definition that it finds. The severity follows the binding: Python and DT_BIND_NOW bind at
// once, so the load fails. A lazy function fails only at its first call. All closures together can need time
// that grows with the square of the members. kMaxSymbolSteps bounds it, and the checks then stop without a
// finding.

#include "verify/elf/symbol_checks.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <iterator>
#include <optional>
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

/// "own@V1", or "own" if `symbol` asks for no version.
std::string NameWithVersion(const ElfMember& member, const elf::ImportedSymbol& symbol) {
  for (const elf::RequiredVersion& required : member.required_versions) {
    if (symbol.version_hash != 0 && required.index == symbol.version)
      return symbol.name + "@" + required.version;
  }
  return symbol.name;
}

/// Returns the severity of a fault that ends the look-up of `symbol` for `member`.
Severity SeverityOf(const ElfMember& member, const elf::ImportedSymbol& symbol) {
  const bool at_once = member.symbols.binds_now || !symbol.lazy || ExportsModule(member);
  return at_once ? Severity::kError : Severity::kWarning;
}

/// Which member loads which, over all processes.
class Graph {
 public:
  Graph(const ElfTree& tree, const ResolvedLibraries& loads)
      : edges_(tree.members.size()), loaders_(tree.members.size()), opaque_(tree.members.size()) {
    for (std::size_t i = 0; i < tree.members.size(); ++i) {
      const ElfMember& member = tree.members[i];
      for (const std::string& name : member.facts.needed) AddNeed(tree, loads, i, name);
      for (const ElfFilter& filter : member.filters) AddNeed(tree, loads, i, filter.name);
    }
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      for (const std::size_t to : edges_[i]) loaders_[to].push_back(i);
    }
  }

  /// True if the member needs a library whose symbols are not known.
  [[nodiscard]] bool IsOpaque(std::size_t member) const { return opaque_[member]; }
  [[nodiscard]] bool HasLoaders(std::size_t member) const { return !loaders_[member].empty(); }

  /// `start` and all that it loads, in breadth-first order.
  std::vector<std::size_t> Closure(std::size_t start) { return Reached(start, edges_); }
  /// The members with which processes that load `start` begin: all that lead to it.
  std::vector<std::size_t> Loaders(std::size_t start) { return Reached(start, loaders_); }

  void AddSteps(std::size_t steps) { steps_ += steps; }
  [[nodiscard]] bool IsExhausted() const { return steps_ > kMaxSymbolSteps; }

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

  std::vector<std::size_t> Reached(std::size_t start, const std::vector<std::vector<std::size_t>>& edges) {
    std::vector<bool> seen(edges.size());
    std::vector<std::size_t> order = {start};
    seen[start] = true;
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const std::size_t next : edges[order[i]]) {
        if (!seen[next]) order.push_back(next);
        seen[next] = true;
      }
    }
    steps_ += order.size();
    return order;
  }

  std::vector<std::vector<std::size_t>> edges_;
  std::vector<std::vector<std::size_t>> loaders_;
  std::vector<bool> opaque_;
  std::uint64_t steps_ = 0;
};

/// True if `member` answers the look-up of `symbol` for `user`.
bool Answers(const ElfTree& tree, std::size_t member, std::size_t user, const elf::ImportedSymbol& symbol) {
  return (member != user || !symbol.elsewhere) && tree.members[member].symbols.Answers(symbol);
}

/// Looks for thread-local variables that ld.so binds to something else, and the reverse.
class StorageChecks {
 public:
  /// `programs`: those of the tree. Borrows all.
  StorageChecks(const ElfTree& tree, Graph& graph, const std::vector<std::size_t>& programs,
                std::vector<Finding>& findings)
      : tree_(tree), graph_(graph), programs_(programs), findings_(findings) {}

  /// ld.so does not compare what a symbol is. The process ends or gets other memory if a thread-local
  /// variable is bound to a definition of something else, or the reverse.
  void Check(std::size_t index) {
    const ElfMember& member = tree_.members[index];
    const auto& asked = member.symbols.asked;
    const bool asks_tls =
        std::any_of(asked.begin(), asked.end(), [](const auto& symbol) { return symbol.is_tls; });
    if (!asks_tls && !any_offered_tls_) return;
    const std::vector<std::size_t> scope = graph_.Closure(index);
    std::vector<std::size_t> with_tls;  // the few that can answer for something else with such a variable
    std::copy_if(scope.begin(), scope.end(), std::back_inserter(with_tls),
                 [&](std::size_t one) { return !tree_.members[one].symbols.offered_tls.empty(); });
    std::set<std::size_t> reported;
    for (const elf::ImportedSymbol& symbol : asked) {
      if (graph_.IsExhausted()) return;
      const std::vector<std::size_t>& suspects = symbol.is_tls ? scope : with_tls;
      graph_.AddSteps(suspects.size());
      if (std::none_of(suspects.begin(), suspects.end(),
                       [&](std::size_t one) { return tree_.members[one].symbols.AnswersWrongly(symbol); }))
        continue;
      const auto wrong = WrongAnswer(scope, index, symbol);
      if (!wrong || reported.contains(*wrong) || MayBeRight(index, symbol, *wrong)) continue;
      reported.insert(*wrong);
      FileFindings(findings_, member)
          .Add("elf-undefined-symbol", SeverityOf(member, symbol),
               fmt::format("uses '{}' as {}, but it is {} in '{}'", NameWithVersion(member, symbol),
                           symbol.is_tls ? "a thread-local variable" : "something that is not thread-local",
                           symbol.is_tls ? "not thread-local" : "thread-local",
                           tree_.members[*wrong].path.str()),
               "pack the library that the file was linked with");
    }
  }

 private:
  [[nodiscard]] bool Answers(std::size_t member, std::size_t user, const elf::ImportedSymbol& symbol) const {
    return verify::Answers(tree_, member, user, symbol);
  }

  /// True if `member` answers the look-up of `symbol` for `user`, and with something of the same storage.
  [[nodiscard]] bool AnswersRightly(std::size_t member, std::size_t user,
                                    const elf::ImportedSymbol& symbol) const {
    return Answers(member, user, symbol) && !tree_.members[member].symbols.AnswersWrongly(symbol);
  }

  /// The member of `scope` whose wrong answer ld.so takes for `user`: the first of all answers, or of another
  /// file of that name, which some machine gets in its place.
  std::optional<std::size_t> WrongAnswer(const std::vector<std::size_t>& scope, std::size_t user,
                                         const elf::ImportedSymbol& symbol) {
    graph_.AddSteps(scope.size());
    const auto first = FirstAnswer(scope, user, symbol);
    if (!first) return std::nullopt;
    const auto wrong = std::find_if(scope.begin(), scope.end(), [&](std::size_t one) {
      return HaveOneName(one, *first) && Answers(one, user, symbol) && !AnswersRightly(one, user, symbol);
    });
    return wrong == scope.end() ? std::nullopt : std::optional(*wrong);
  }

  [[nodiscard]] std::optional<std::size_t> FirstAnswer(const std::vector<std::size_t>& scope,
                                                       std::size_t user,
                                                       const elf::ImportedSymbol& symbol) const {
    const auto first =
        std::find_if(scope.begin(), scope.end(), [&](std::size_t one) { return Answers(one, user, symbol); });
    return first == scope.end() ? std::nullopt : std::optional(*first);
  }

  [[nodiscard]] bool HaveOneName(std::size_t one, std::size_t other) const {
    return tree_.members[one].path.Name() == tree_.members[other].path.Name();
  }

  /// True if some process may answer the look-up of `symbol` for `index` rightly: from a program, from a
  /// library of unknown content, or first from a file that is not in the place of `wrong`.
  bool MayBeRight(std::size_t index, const elf::ImportedSymbol& symbol, std::size_t wrong) {
    if (IsKnownElsewhere(symbol.name)) return true;
    const auto is_right = [&](std::size_t one) { return AnswersRightly(one, index, symbol); };
    if (!IsProgram(tree_.members[index]) && std::any_of(programs_.begin(), programs_.end(), is_right))
      return true;
    for (const std::size_t loader : graph_.Loaders(index)) {
      const std::vector<std::size_t> scope = graph_.Closure(loader);
      const auto is_opaque = [&](std::size_t one) { return graph_.IsOpaque(one); };
      if (graph_.IsExhausted() || std::any_of(scope.begin(), scope.end(), is_opaque)) return true;
      const auto first = FirstAnswer(scope, index, symbol);
      if (first && !HaveOneName(*first, wrong) && is_right(*first)) return true;
    }
    return false;
  }

  const ElfTree& tree_;
  Graph& graph_;
  const std::vector<std::size_t>& programs_;
  std::vector<Finding>& findings_;
  const bool any_offered_tls_ =
      std::any_of(tree_.members.begin(), tree_.members.end(),
                  [](const ElfMember& member) { return !member.symbols.offered_tls.empty(); });
};

class SymbolChecks {
 public:
  SymbolChecks(const SymbolContext& context, std::vector<Finding>& findings)
      : context_(context), tree_(context.tree), graph_(context.tree, context.loads), findings_(findings) {
    has_python_ = std::any_of(tree_.files.begin(), tree_.files.end(),
                              [](const RelPath& path) { return path.Name().ends_with(".py"); });
    for (std::size_t i = 0; i < tree_.members.size(); ++i) {
      if (IsProgram(tree_.members[i])) programs_.push_back(i);
    }
  }

  void Run() {
    StorageChecks storage(tree_, graph_, programs_, findings_);
    for (std::size_t i = 0; i < tree_.members.size(); ++i) {
      CheckUndefined(i);
      CheckNeeds(i);
      storage.Check(i);
    }
    CheckStaticTls();
  }

 private:
  /// Symbols that no needed library of the file offers.
  std::vector<const elf::ImportedSymbol*> UnresolvedSymbols(std::size_t index) {
    const ElfMember& member = tree_.members[index];
    std::vector<const elf::ImportedSymbol*> left;
    for (const elf::ImportedSymbol& symbol : member.symbols.asked) {
      if (!symbol.weak && !IsKnownElsewhere(symbol.name)) left.push_back(&symbol);
    }
    if (left.empty()) return left;
    // Breadth first, like ld.so. Here the order only saves time: most symbols are in a direct need.
    for (const std::size_t other : graph_.Closure(index)) {
      std::erase_if(left, [&](const elf::ImportedSymbol* symbol) { return Answers(other, index, *symbol); });
      graph_.AddSteps(left.size() + 1);
      if (left.empty()) break;
    }
    return left;
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
    if (member.symbols.asked.empty() || graph_.IsExhausted() || !HasLibcVersions(member)) return;
    std::vector<const elf::ImportedSymbol*> left = UnresolvedSymbols(index);
    // A plugin finds what the program that opens it exports.
    std::erase_if(left, [&](const elf::ImportedSymbol* symbol) { return IsOfAProgram(index, *symbol); });
    if (left.empty()) return;
    bool is_imported = false;
    for (const std::size_t loader : graph_.Loaders(index)) {
      is_imported = is_imported || ExportsModule(tree_.members[loader]);
      for (const std::size_t other : graph_.Closure(loader)) {
        // A library of unknown content could define any symbol, so nothing is certain any more.
        if (graph_.IsOpaque(other) || graph_.IsExhausted()) return;
        std::erase_if(left,
                      [&](const elf::ImportedSymbol* symbol) { return Answers(other, index, *symbol); });
      }
      if (left.empty()) return;
    }
    Report(index, left, is_imported);
  }

  /// True if `member` answers the look-up of `symbol` for `user`.
  [[nodiscard]] bool Answers(std::size_t member, std::size_t user, const elf::ImportedSymbol& symbol) const {
    return verify::Answers(tree_, member, user, symbol);
  }

  /// False for the symbols of programs: no process has two.
  [[nodiscard]] bool IsOfAProgram(std::size_t user, const elf::ImportedSymbol& symbol) const {
    if (IsProgram(tree_.members[user])) return false;
    return std::any_of(programs_.begin(), programs_.end(),
                       [&](std::size_t program) { return Answers(program, user, symbol); });
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
    const bool may_be_loaded = has_python_ && std::all_of(left.begin(), left.end(), [&](const auto* symbol) {
                                 for (std::size_t other = 0; other < tree_.members.size(); ++other) {
                                   if (Answers(other, index, *symbol)) return true;
                                 }
                                 return false;
                               });
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(left.size(), kNamed); ++i)
      names.push_back(NameWithVersion(member, *left[i]));
    const std::string more = left.size() > kNamed ? fmt::format(" and {} more", left.size() - kNamed) : "";
    FileFindings(findings_, member)
        .Add("elf-undefined-symbol", at_once && !may_be_loaded ? Severity::kError : Severity::kWarning,
             fmt::format("uses '{}'{}, which none of its libraries defines{}", Join(names, "', '"), more,
                         at_once ? "" : "; the process ends at the first call"),
             "link the file with the library that defines them (find them at link time with -Wl,-z,defs)");
  }

  /// Faults of the libraries that a file needs and finds.
  void CheckNeeds(std::size_t index) {
    const ElfMember& member = tree_.members[index];
    if (member.symbols.asked.empty()) return;
    for (const std::string& name :
         std::set<std::string>(member.facts.needed.begin(), member.facts.needed.end())) {
      std::vector<std::size_t> libraries;
      for (const std::string& path : context_.loads.Of(index, name).found) {
        if (const auto library = tree_.FindMember(path)) libraries.push_back(*library);
      }
      for (const std::size_t library : libraries) {
        if (graph_.IsExhausted()) return;
        CheckVariant(index, library, libraries);
        CheckVersionTable(index, library, name, libraries);
      }
    }
  }

  /// A library for better processors defines what the file uses of the library that others get.
  void CheckVariant(std::size_t index, std::size_t variant, const std::vector<std::size_t>& libraries) {
    const ElfMember& member = tree_.members[index];
    if (libraries.size() < 2 || !IsVariant(tree_.members[variant])) return;
    for (const elf::ImportedSymbol& symbol : member.symbols.asked) {
      const auto answers = [&](std::size_t one) { return Answers(one, index, symbol); };
      if (symbol.weak || answers(variant) || std::none_of(libraries.begin(), libraries.end(), answers) ||
          MayBeElsewhere(index, symbol, libraries))
        continue;
      FileFindings(findings_, member)
          .Add("elf-undefined-symbol", SeverityOf(member, symbol),
               fmt::format("uses '{}', which '{}' does not define, the library for better processors",
                           NameWithVersion(member, symbol), tree_.members[variant].path.str()),
               "build the library for all processors from the same sources");
      return;
    }
  }

  /// check_match asserts that the version which a look-up asks for is not one of a library without DT_VERSYM.
  void CheckVersionTable(std::size_t index, std::size_t library, const std::string& name,
                         const std::vector<std::size_t>& libraries) {
    const ElfMember& member = tree_.members[index];
    if (tree_.members[library].symbols.has_versions) return;
    for (const elf::ImportedSymbol& symbol : member.symbols.asked) {
      const auto& versions = member.required_versions;
      const bool is_required = std::any_of(versions.begin(), versions.end(), [&](const auto& one) {
        return one.library == name && one.index == symbol.version;
      });
      if (!is_required || !Answers(library, index, symbol) || MayBeElsewhere(index, symbol, libraries))
        continue;
      FileFindings(findings_, member)
          .Add("elf-version-missing", SeverityOf(member, symbol),
               fmt::format("uses '{}' of '{}', which has no table of symbol versions, so ld.so aborts",
                           NameWithVersion(member, symbol), tree_.members[library].path.str()),
               "pack the library that the file was linked with");
      return;
    }
  }

  /// True if a library that is none of `libraries` may answer the look-up of `symbol` for `index`.
  bool MayBeElsewhere(std::size_t index, const elf::ImportedSymbol& symbol,
                      const std::vector<std::size_t>& libraries) {
    if (IsKnownElsewhere(symbol.name) || IsOfAProgram(index, symbol)) return true;
    for (const std::size_t loader : graph_.Loaders(index)) {
      for (const std::size_t other : graph_.Closure(loader)) {
        if (graph_.IsOpaque(other) || graph_.IsExhausted()) return true;
        const bool is_one = std::find(libraries.begin(), libraries.end(), other) != libraries.end();
        if (!is_one && Answers(other, index, symbol)) return true;
      }
    }
    return false;
  }

  /// True if ld.so loads the library when a process starts, and makes the block as large as needed: a program
  /// of the tree needs it, or it replaces malloc, for which LD_PRELOAD is the way.
  bool IsLoadedAtStart(std::size_t index) {
    if (tree_.members[index].symbols.ExportsSymbol("malloc")) return true;
    const std::vector<std::size_t> loaders = graph_.Loaders(index);
    return std::any_of(loaders.begin(), loaders.end(),
                       [&](std::size_t loader) { return IsProgram(tree_.members[loader]); });
  }

  void CheckStaticTls() {
    for (std::size_t i = 0; i < tree_.members.size() && !graph_.IsExhausted(); ++i) {
      const ElfMember& member = tree_.members[i];
      // A file that others load is part of their sums. It is looked at alone only if it adds something
      // itself.
      if (IsProgram(member) || (graph_.HasLoaders(i) && member.symbols.static_tls_bytes == 0)) continue;
      if (!any_static_tls_) return;
      std::uint64_t sum = 0;
      for (const std::size_t other : graph_.Closure(i)) sum += tree_.members[other].symbols.static_tls_bytes;
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
  Graph graph_;
  std::vector<Finding>& findings_;
  std::vector<std::size_t> programs_;
  bool has_python_ = false;
  const bool any_static_tls_ =
      std::any_of(tree_.members.begin(), tree_.members.end(),
                  [](const ElfMember& member) { return member.symbols.static_tls_bytes != 0; });
};

}  // namespace

void CheckSymbols(const SymbolContext& context, std::vector<Finding>& findings) {
  SymbolChecks(context, findings).Run();
}

}  // namespace ptpkg::verify
