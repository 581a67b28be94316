#include "verify/rules/zip_checks.h"

#include <algorithm>
#include <array>

#include "model/package_note.h"
#include "verify/rules/zip_container.h"

namespace ptpkg::verify {
namespace {

// Most zip programs write what package indexes refuse.
constexpr ContainerRule kContainer = {
    .id = "zip-strict", .fix = "rebuild the archive", .where_readers_agree = Severity::kWarning};

// Their names mean something: "$ORIGIN/../lib" of a library in lib/ leads back to it.
constexpr std::array<std::string_view, 5> kPrefixFolders = {"bin", "include", "lib", "lib64", "share"};

/// The first part of all paths, if they have more; else "".
std::string TopFolder(const std::vector<archive::ArchiveMember>& members) {
  if (members.empty()) return {};
  const std::string& first = members.front().path.str();
  const std::string top = first.substr(0, first.find('/'));
  const bool all = std::all_of(members.begin(), members.end(), [&](const archive::ArchiveMember& member) {
    return member.path.str().starts_with(top + "/");
  });
  return all ? top : std::string();
}

bool IsOfPrefix(const std::string& top) {
  return std::find(kPrefixFolders.begin(), kPrefixFolders.end(), top) != kPrefixFolders.end();
}

}  // namespace

Result<PlainZip> CheckPlainZip(Env& env, const AbsPath& zip, const ZipReading& reading,
                               std::vector<Finding>& findings) {
  PTPKG_CHECK(CheckZipContainer(env, zip, kContainer, findings));
  PlainZip plain;
  ZipReading here = reading;
  here.top_folder = [&](const std::vector<archive::ArchiveMember>& members) -> std::string {
    std::string top = TopFolder(members);
    if (top.empty()) return top;
    // ptpkg writes the note into the top directory. The note's path has that directory only if all paths keep
    // it.
    plain.note = (IsOfPrefix(top) ? top + "/" : std::string()) + std::string(kPackageNoteName);
    return IsOfPrefix(top) ? std::string() : top;
  };
  PTPKG_TRY(plain.zip, ZipTree::Read(env, zip, here, findings));
  if (!plain.zip) return plain;
  for (const TreeEntry& entry : plain.zip->tree().entries) {
    if (entry.kind != FileKind::kSymlink) continue;
    findings.push_back({"zip-symlink", Severity::kWarning, entry.path.str(), "the member is a symbolic link",
                        "pack a copy of its target"});
  }
  return plain;
}

}  // namespace ptpkg::verify
