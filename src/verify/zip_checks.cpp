#include "verify/zip_checks.h"

#include <algorithm>
#include <array>

#include "model/package_note.h"
#include "verify/zip_container.h"

namespace ptpkg::verify {
namespace {

// Most zip programs write what package indexes refuse.
constexpr ContainerRule kContainer = {
    .id = "zip-strict", .fix = "write the archive again", .where_readers_agree = Severity::kWarning};

// Their names mean something: "$ORIGIN/../lib" of a library in lib/ leads back to it.
constexpr std::array<std::string_view, 5> kPrefixFolders = {"bin", "include", "lib", "lib64", "share"};

/// The first part of all paths, if they have more; else "".
std::string TopFolder(const StagedTree& tree) {
  if (tree.entries.empty()) return {};
  const std::string& first = tree.entries.front().path.str();
  const std::string top = first.substr(0, first.find('/'));
  const bool all = std::all_of(tree.entries.begin(), tree.entries.end(), [&](const TreeEntry& entry) {
    return entry.path.str().starts_with(top + "/");
  });
  return all ? top : std::string();
}

void Enter(const std::string& top, StagedTree& tree) {
  for (TreeEntry& entry : tree.entries)
    entry.path = RelPath::Literal(entry.path.str().substr(top.size() + 1));
  tree.root = tree.root / top;
}

}  // namespace

Result<PlainZip> CheckPlainZip(Env& env, const AbsPath& zip, const AbsPath& folder,
                               std::vector<Finding>& findings) {
  PTPKG_CHECK(CheckZipContainer(env, zip, kContainer, findings));
  PTPKG_TRY(std::optional<StagedTree> unpacked, UnpackZip(env, zip, folder, findings));
  PlainZip plain{.tree = unpacked ? *std::move(unpacked) : StagedTree{.root = folder}, .note = {}};
  if (const std::string top = TopFolder(plain.tree); !top.empty()) {
    const bool of_prefix =
        std::find(kPrefixFolders.begin(), kPrefixFolders.end(), top) != kPrefixFolders.end();
    plain.note = (of_prefix ? top + "/" : std::string()) + std::string(kPackageNoteName);
    if (!of_prefix) Enter(top, plain.tree);
  }
  for (const TreeEntry& entry : plain.tree.entries) {
    if (entry.kind != FileKind::kSymlink) continue;
    findings.push_back({"zip-symlink", Severity::kWarning, entry.path.str(), "the member is a symbolic link",
                        "pack a copy of the file that it leads to"});
  }
  return plain;
}

}  // namespace ptpkg::verify
