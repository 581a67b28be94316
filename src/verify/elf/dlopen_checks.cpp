// A name that is passed to dlopen is a constant of the program. No dynamic entry shows it, so tools that
// bundle or rename libraries miss it. The failure comes with the first use of a feature. Constants are
// compared with a table of known names (data/dlopened.yaml), since most texts that look like a library are
// not opened. Each mention gets one answer, and the first counts: the file itself, the tree, another
// provider, the tree under another name, or missing. Names without a hash are compared (NameWithoutHash),
// because bundling tools insert one.

#include "verify/elf/dlopen_checks.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "support/text/globs.h"
#include "verify/elf/elf_tables.h"
#include "verify/file_findings.h"

namespace ptpkg::verify {
namespace {

constexpr std::string_view kMark = ".so";

/// A name without a version, or the beginning of a format: the program appends the version that it wants.
bool IsOpenEnded(std::string_view mention) { return mention.ends_with(kMark) || mention.ends_with('.'); }

std::string_view WithoutLastDot(std::string_view mention) {
  return mention.ends_with('.') ? mention.substr(0, mention.size() - 1) : mention;
}

/// For messages: "libx.so.9", or "libx.so" with what is known of the rest.
std::string DescribeMention(std::string_view mention) {
  return fmt::format("'{}'{}", WithoutLastDot(mention), IsOpenEnded(mention) ? " or a version of it" : "");
}

/// True if opening `mention` can find a library called `name`.
bool Finds(std::string_view mention, std::string_view name) {
  const std::string_view text = WithoutLastDot(mention);
  if (name == text) return !mention.ends_with('.');
  return IsOpenEnded(mention) && name.size() > text.size() && name.starts_with(text) &&
         name[text.size()] == '.';
}

class OpenedChecks {
 public:
  OpenedChecks(const ElfTree& tree, const DlopenTable& opened, const CheckOptions& options,
               const std::vector<std::string>& dependencies)
      : tree_(tree), opened_(opened), options_(options), dependencies_(dependencies) {
    for (const ElfMember& member : tree.members) {
      needed_.insert(member.facts.needed.begin(), member.facts.needed.end());
    }
  }

  void Check(const ElfMember& member, FileFindings findings) const {
    const std::string own = NameWithoutHash(member.path.Name());
    for (const std::string& mention : member.mentions) {
      const std::string name(WithoutLastDot(mention));
      if (Finds(mention, own) || InTree(mention) || FromElsewhere(name)) continue;
      if (const ElfMember* const renamed = FindRenamed(mention); renamed != nullptr) {
        ReportRenamed(mention, *renamed, findings);
      } else if (opened_.Requires(own, name)) {
        findings.Add("elf-dlopen-missing", Severity::kError,
                     fmt::format("opens {} at run time, which is not in the tree", DescribeMention(mention)),
                     "pack that library too, under exactly this name");
      }
    }
  }

 private:
  [[nodiscard]] bool InTree(std::string_view mention) const {
    // Names sort behind their own beginnings, so everything that begins with the mention follows it.
    const std::string_view text = WithoutLastDot(mention);
    for (auto it = tree_.by_name.lower_bound(text); it != tree_.by_name.end() && it->first.starts_with(text);
         ++it) {
      if (Finds(mention, it->first)) return true;
    }
    return false;
  }

  [[nodiscard]] bool FromElsewhere(const std::string& name) const {
    if (MatchesAnyGlob(options_.allow_unresolved, name) ||
        MatchesAnyGlob(options_.allowed_by_package, name) || MatchesAnyGlob(SystemLibraries(), name) ||
        MatchesAnyGlob(DriverLibraries(), name)) {
      return true;
    }
    return FindProvider(dependencies_, name).known ||
           (name.ends_with(kMark) && ProvidesSomeVersion(dependencies_, name));
  }

  [[nodiscard]] const ElfMember* FindRenamed(std::string_view mention) const {
    const std::size_t mark = mention.find(kMark);
    const std::string_view bare = mention.substr(0, mark + kMark.size());
    // A hash in the name is the more certain sign, so the search continues after a name that lacks only the
    // version.
    const ElfMember* without_version = nullptr;
    for (const ElfMember& member : tree_.members) {
      const std::string name = NameWithoutHash(member.path.Name());
      if (name != member.path.Name() && Finds(mention, name)) return &member;
      if (name == bare) without_version = &member;
    }
    return without_version;
  }

  void ReportRenamed(const std::string& mention, const ElfMember& renamed, FileFindings& findings) const {
    const std::string_view name = renamed.path.Name();
    const bool hashed = NameWithoutHash(name) != name;
    // dlopen first compares the name with the SONAMEs of loaded libraries. So the old SONAME works as long as
    // something else has loaded the library.
    const bool found_while_loaded =
        renamed.facts.soname && Finds(mention, *renamed.facts.soname) && needed_.contains(name);
    findings.Add("elf-dlopen-renamed", hashed && !found_while_loaded ? Severity::kError : Severity::kWarning,
                 fmt::format("opens {} at run time, but the tree has it as '{}'{}", DescribeMention(mention),
                             renamed.path.str(),
                             found_while_loaded ? ", and finds it only if another file has loaded it" : ""),
                 "bundle the library under its own name, or add a link or copy of that name");
  }

  const ElfTree& tree_;
  const DlopenTable& opened_;
  const CheckOptions& options_;
  const std::vector<std::string>& dependencies_;
  std::set<std::string, std::less<>> needed_;
};

}  // namespace

std::string NameWithoutHash(std::string_view file_name) {
  constexpr std::size_t kHashDigits = 8;
  const std::size_t mark = file_name.find(kMark);
  if (mark == std::string_view::npos || mark < kHashDigits + 2) return std::string(file_name);
  const std::size_t dash = mark - kHashDigits - 1;
  const std::string_view hash = file_name.substr(dash + 1, kHashDigits);
  if (file_name[dash] != '-' || hash.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return std::string(file_name);
  }
  // A library that was bundled twice carries two hashes.
  return NameWithoutHash(std::string(file_name.substr(0, dash)) + std::string(file_name.substr(mark)));
}

void CheckDlopened(const ElfTree& tree, const DlopenTable& opened, const CheckOptions& options,
                   const std::vector<std::string>& dependencies, std::vector<Finding>& findings) {
  const OpenedChecks checks(tree, opened, options, dependencies);
  for (const ElfMember& member : tree.members) checks.Check(member, FileFindings(findings, member));
}

}  // namespace ptpkg::verify
