#include "verify/elf/loader_lookup.h"

#include <array>
#include <fmt/core.h>

#include "elf/load/search_path.h"
#include "elf/read/image.h"

namespace ptpkg::verify {
namespace {

/// LoaderTarget::subfolders
std::vector<std::string> Subfolders(const elf::Host& host, elf::IsaLevel isa) {
  std::vector<std::string> folders;
  if (host.machine == elf::kMachineX8664 && host.elf_class == elf::ElfClass::k64) {
    // Best first, as in glibc (elf/dl-hwcaps.c). A processor of one level also has the lower ones.
    if (isa >= elf::IsaLevel::kV4) folders.emplace_back("glibc-hwcaps/x86-64-v4");
    if (isa >= elf::IsaLevel::kV3) folders.emplace_back("glibc-hwcaps/x86-64-v3");
    if (isa >= elf::IsaLevel::kV2) folders.emplace_back("glibc-hwcaps/x86-64-v2");
  }
  return folders;
}

}  // namespace

LoaderTarget MakeLoaderTarget(const elf::Host& host, const LoaderMachine& machine) {
  return {.host = host, .machine = machine, .subfolders = Subfolders(host, machine.isa)};
}

const std::vector<LoaderFolder>& LoaderLookup::FoldersOf(const LoaderTarget& target, std::size_t member,
                                                         const std::string& origin,
                                                         const elf::SearchPath& path) {
  const auto [place, fresh] = folders_.try_emplace(std::tuple(member, origin, target.machine));
  std::vector<LoaderFolder>& folders = place->second;
  if (!fresh) return folders;
  for (const std::string& entry : elf::SplitSearchPath(path.text)) {
    // An empty or relative entry is the working directory's: whatever lies there, it is not the tree's.
    const std::optional<std::string> inside = PathInTree(Expand(entry, origin, target.machine));
    if (!inside) continue;
    const std::optional<std::string> folder = tree_.map.FollowToFolder("", *inside);
    if (!folder) continue;
    // glibc tries the subdirectories of an entry before the directory itself.
    for (const std::string& name : target.subfolders) {
      if (auto below = tree_.map.FollowToFolder(*folder, name)) {
        folders.push_back(
            {.path = *std::move(below), .named = false, .entry = fmt::format("{}/{}", entry, name)});
      }
    }
    folders.push_back({.path = *folder, .named = true, .entry = entry});
  }
  return folders;
}

const LoaderCandidate& LoaderLookup::LookUp(const std::string& folder, const std::string& name) {
  const auto [place, fresh] = candidates_.try_emplace(std::pair(folder, name));
  LoaderCandidate& candidate = place->second;
  if (!fresh) return candidate;
  const Walk walk = tree_.map.Follow(folder, name);
  if (walk.end == WalkEnd::kFound) {
    // open(2) succeeds for a directory, so ld.so does not skip it: the read fails, and the process ends.
    const bool directory = walk.node->kind == FileKind::kDirectory;
    if (!directory && walk.node->kind != FileKind::kRegular) return candidate;
    candidate.kind = directory ? LoaderCandidate::Kind::kFolder : LoaderCandidate::Kind::kFile;
    candidate.path = walk.path.empty() ? "." : walk.path;
    candidate.node = walk.node;
  } else if (walk.end == WalkEnd::kLoop) {
    candidate.kind = LoaderCandidate::Kind::kLoop;
  } else if (walk.end == WalkEnd::kOutside) {
    // A link to a library of this machine: followed, and its own needs are not looked at.
    const auto path = AbsPath::Resolve(tree_.root, Child(folder, name));
    const auto stat = path ? env_.fs.Stat(*path) : Result<FileStat>(path.error());
    if (!stat || stat->kind != FileKind::kRegular) return candidate;
    candidate.kind = LoaderCandidate::Kind::kElsewhere;
    candidate.path = Child(folder, name);
  }
  return candidate;
}

std::optional<PlacedCandidate> LoaderLookup::LookUpPath(std::string_view path) {
  const std::optional<std::string> inside = PathInTree(path);
  if (!inside) return std::nullopt;
  const std::size_t slash = inside->rfind('/');
  const std::string parent = slash == std::string::npos ? "" : inside->substr(0, slash);
  std::optional<std::string> folder = tree_.map.FollowToFolder("", parent);
  if (!folder) return std::nullopt;
  const LoaderCandidate& candidate = LookUp(*folder, inside->substr(slash + 1));
  return PlacedCandidate{.folder = *std::move(folder), .candidate = candidate};
}

Result<elf::LoaderCompatibility> LoaderLookup::Judge(const LoaderCandidate& candidate,
                                                     const elf::Host& host) {
  // Not examined: another machine can have another file there.
  if (candidate.kind == LoaderCandidate::Kind::kElsewhere) return elf::LoaderCompatibility{};
  if (candidate.kind == LoaderCandidate::Kind::kFolder) {
    return elf::LoaderCompatibility{.fit = elf::CompatibilityKind::kRefused,
                                    .reason = "cannot read file data: Is a directory"};
  }
  const std::pair key(candidate.path, host);
  if (const auto known = fits_.find(key); known != fits_.end()) return known->second;
  PTPKG_TRY(const elf::LoaderCompatibility fit, ReadCompatibility(candidate.path, host));
  fits_.emplace(key, fit);
  return fit;
}

Result<elf::LoaderCompatibility> LoaderLookup::ReadCompatibility(const std::string& path,
                                                                 const elf::Host& host) {
  PTPKG_TRY(const auto file, env_.fs.Open(tree_.root / path, OpenMode::kRead));
  std::array<std::byte, elf::kCompatibilityHeaderBytes> head{};
  PTPKG_TRY(const std::size_t got, file->ReadAt(0, head));
  // The order of glibc: the header (open_verify), then the flags of the dynamic section
  // (_dl_map_object_from_fd).
  const elf::LoaderCompatibility by_header = elf::CompatibilityFromHeader(Bytes(head).first(got), host);
  if (by_header.fit != elf::CompatibilityKind::kLoads) return by_header;
  if (const auto member = tree_.FindMember(path))
    return elf::CompatibilityFromFlags(tree_.members[*member].facts);
  auto image = elf::ReadImage(*file);
  if (!image && image.error().code() == ErrorCode::kIo) return std::move(image).error();
  if (!image) return elf::LoaderCompatibility{};  // elf-damaged says what is wrong with it
  return elf::LoaderCompatibility{.fit = elf::CompatibilityKind::kRefused,
                                  .reason = "object file has no dynamic section"};
}

std::string LoaderLookup::Expand(const std::string& text, const std::string& origin,
                                 const LoaderMachine& machine) const {
  return elf::ExpandTokens(
      text, {.origin = (tree_.root.str() + "/") + origin, .lib = machine.lib, .platform = machine.platform});
}

std::optional<std::string> LoaderLookup::PathInTree(std::string_view expanded) const {
  const std::string& root = tree_.root.str();
  if (!expanded.starts_with(root)) return std::nullopt;
  expanded.remove_prefix(root.size());
  // "/tmp/tree" is not the beginning of "/tmp/tree2".
  if (root != "/" && !expanded.empty() && expanded.front() != '/') return std::nullopt;
  return std::string(expanded);
}

}  // namespace ptpkg::verify
