#include "conda/conda_member_pass.h"

namespace ptpkg::conda {
namespace {

/// ReadContainer has judged names, links and amounts.
class PackagePass {
 public:
  PackagePass(Env& env, const AbsPath& package, const archive::PassOptions& options,
              const archive::VisitMember& visit)
      : pass_(env, package.str(), 0, options, visit) {}

  Result<bool> Take(const archive::TarMember& member, ByteSource& content) {
    // Installers make directories from the files, so an entry for a directory has no effect.
    if (member.kind == archive::TarKind::kDirectory) return true;
    archive::ArchiveMember passed{.path = PathOf(member.name),
                                  // The owner's bit decides, as in ScanTree, so that members compare equal to
                                  // files of a tree.
                                  .mode = (member.mode & 0100U) != 0 ? 0755U : 0644U,
                                  .size_bytes = member.size_bytes};
    if (member.kind == archive::TarKind::kSymlink) {
      passed.kind = FileKind::kSymlink;
      passed.link_target = member.link_target;
    } else if (member.kind == archive::TarKind::kHardLink) {
      passed.link_target = PathOf(member.link_target).str();
    }
    PTPKG_CHECK(pass_.Add(passed, content));
    return true;
  }

  Result<void> Finish() { return pass_.Finish(); }

 private:
  /// Without "." and empty components.
  static RelPath PathOf(std::string_view name) { return RelPath::Literal(*ResolveInTree("", name)); }

  archive::StreamPass pass_;
};

}  // namespace

Result<ContainerFacts> VisitPackage(Env& env, const AbsPath& package, const archive::PassOptions& options,
                                    const archive::VisitMember& visit) {
  PackagePass pass(env, package, options, visit);
  const auto on_member = [&](Part, const archive::TarMember& member, ByteSource& content) {
    return pass.Take(member, content);
  };
  PTPKG_TRY(ContainerFacts facts, ReadContainer(env, package, on_member, {.limits = options.limits}));
  PTPKG_CHECK(pass.Finish());
  return facts;
}

}  // namespace ptpkg::conda
