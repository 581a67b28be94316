// Search paths of a repaired wheel. Entries of the build machine are dropped, and entries to the bundled
// libraries are added relative to $ORIGIN of the installed file.
// An entry that leads out of the tree, or to no directory, can belong to another distribution in
// site-packages. It stays if the file lacks a library that neither the wheel nor the system has. DT_RPATH
// also serves the libraries that the file loads, so there one lacking file anywhere in the wheel is reason
// enough. Invariant: without a layout rule the tag of the old path stays (DT_RPATH or DT_RUNPATH), because
// the two differ in the order of the search.

#include "repair/search_paths.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "elf/load/search_path.h"
#include "support/text/globs.h"
#include "support/text/text.h"
#include "verify/elf/elf_tables.h"

namespace ptpkg::repair {
namespace {

// build/ links with one absolute directory of this name, to reserve room for later search paths.
constexpr std::string_view kPadFolder = "ptpkg-search-path-pad";

bool HasPart(std::string_view path, std::string_view part) {
  const std::vector<std::string> parts = Split(path, '/');
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

/// Installed place of a directory of the wheel; nullopt: it has no fixed one.
std::optional<std::string> InstalledFolder(const std::string& folder) {
  const auto file = verify::InstalledPath(folder.empty() ? "x" : folder + "/x");
  if (!file) return std::nullopt;
  return RelPath::Literal(*file).ParentText();
}

}  // namespace

Result<void> AddFolders(const RelPath& file, const std::set<std::string>& folders,
                        std::vector<std::string>& entries) {
  if (folders.empty()) return Ok();
  const auto installed = verify::InstalledPath(file.str());
  if (!installed) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format(
                     "'{}' needs libraries of the wheel, but has no fixed path to them after installation",
                     file.str()))
        .WithHint("link it statically, or install it inside the package and start it from an entry point");
  }
  const std::string from = RelPath::Literal(*installed).ParentText();
  for (const std::string& folder : folders) {
    const auto to = InstalledFolder(folder);
    if (!to) {
      return Error(ErrorCode::kUnsupported,
                   fmt::format("'{}' needs a library in '{}', which has no fixed path after installation",
                               file.str(), folder))
          .WithHint("put the library into the package");
    }
    // Different texts can lead to one directory ("$ORIGIN/../x" and "$ORIGIN/../y/../x").
    const bool leads_there = std::any_of(entries.begin(), entries.end(), [&](const std::string& entry) {
      const auto below = elf::AfterOrigin(entry);
      return below && ResolveInTree(from, *below) == *to;
    });
    const std::string way = RelativeFrom(from, *to);
    if (!leads_there) entries.push_back(way == "." ? "$ORIGIN" : "$ORIGIN/" + way);
  }
  return Ok();
}

SearchPaths::SearchPaths(const verify::ElfTree& tree, const verify::ResolvedLibraries& loads,
                         std::vector<elf::PathRule> layout)
    : tree_(tree), layout_(std::move(layout)) {
  const auto in_tree_or_system = [&](const std::string& name) {
    return tree.by_name.contains(name) || MatchesAnyGlob(verify::SystemLibraries(), name) ||
           MatchesAnyGlob(verify::DriverLibraries(), name);
  };
  for (std::size_t i = 0; i < tree.members.size(); ++i) {
    const verify::ElfMember& member = tree.members[i];
    const bool lacks = std::any_of(
        member.facts.needed.begin(), member.facts.needed.end(),
        [&](const std::string& name) { return loads.Of(i, name).missing && !in_tree_or_system(name); });
    const bool opens = std::any_of(member.mentions.begin(), member.mentions.end(),
                                   [&](const std::string& name) { return !in_tree_or_system(name); });
    if (lacks || opens) missing_.insert(member.path.str());
  }
}

bool SearchPaths::MayNeedOthers(const verify::ElfMember& member) const {
  if (missing_.contains(member.path.str())) return true;
  // DT_RPATH is handed on to whatever the file loads.
  return member.facts.rpath && !member.facts.runpath && !missing_.empty();
}

std::string SearchPaths::DropReason(const verify::PathEntry& entry, bool others) const {
  if (entry.text.find(kPadFolder) != std::string::npos) return "only reserves room";
  if (HasPart(entry.text, "stubs")) return "has stubs for linking";
  switch (entry.kind) {
    case verify::EntryKind::kInTree:
      return "";
    case verify::EntryKind::kOutside:
      return others ? "" : "leads out of site-packages";
    case verify::EntryKind::kDead:
      return others ? "" : "points to no directory";
    case verify::EntryKind::kAbsolute:
      return "is a path of one machine";
    case verify::EntryKind::kRelative:
      return "depends on the working directory";
    case verify::EntryKind::kEmpty:
      return "means the working directory";
  }
  return "";
}

std::vector<std::string> SearchPaths::Keep(const verify::ElfMember& member,
                                           std::vector<DroppedEntry>& dropped) const {
  std::vector<std::string> entries;
  const bool others = MayNeedOthers(member);
  for (const verify::PathEntry& entry : verify::ExplainSearchPath(tree_, member, {{}})) {
    const bool by_token = elf::UsesToken(entry.text, "LIB") || elf::UsesToken(entry.text, "PLATFORM");
    // Which directory such an entry means below the file depends on the machine; from the root it is not a
    // directory of the wheel.
    const bool some_folder = by_token && elf::AfterOrigin(entry.text).has_value();
    std::string why = some_folder ? "" : DropReason(entry, others);
    if (why.empty() && std::find(entries.begin(), entries.end(), entry.text) != entries.end())
      why = "is there twice";
    if (why.empty()) {
      entries.push_back(entry.text);
    } else {
      dropped.push_back({entry.text, std::move(why)});
    }
  }
  return entries;
}

Result<NewSearchPath> SearchPaths::NewPathFor(const verify::ElfMember& member,
                                              const std::set<std::string>& folders) const {
  NewSearchPath wanted;
  std::vector<std::string> entries;
  elf::PathTag tag = elf::PathTag::kRpath;
  // A backend's layout replaces the whole path: its entries lead to wheels that are not here to be looked at.
  if (const elf::PathRule* rule = elf::FindRule(layout_, member.path)) {
    entries = rule->search_path;
    tag = rule->tag;
  } else {
    if (const auto& current = member.facts.Effective()) tag = current->tag;
    entries = Keep(member, wanted.dropped);
  }
  PTPKG_CHECK(AddFolders(member.path, folders, entries));
  if (!entries.empty()) wanted.path = elf::SearchPath{.tag = tag, .text = elf::JoinSearchPath(entries)};
  return wanted;
}

bool SearchPaths::Differs(const NewSearchPath& wanted, const elf::LinkFacts& facts) {
  return (facts.rpath && facts.runpath) || wanted.path != facts.Effective();
}

}  // namespace ptpkg::repair
