#include "conda/member_pass.h"

#include "archive/member_names.h"

namespace ptpkg::conda {
namespace {

class PackagePass {
 public:
  PackagePass(Env& env, const AbsPath& package, const archive::PassOptions& options,
              const archive::VisitMember& visit)
      : names_(env.cancel, {.limits = options.limits}, package.str(), 0),
        // ReadContainer counts what comes out of the package; here it is the same bytes once more.
        pass_(env, package.str(), 0, options, visit) {}

  Result<bool> Take(const archive::TarMember& member, ByteSource& content) {
    archive::ArchiveMember passed{.path = RelPath::Literal("x"),
                                  .mode = (member.mode & 0100U) != 0 ? 0755U : 0644U,
                                  .size_bytes = member.size_bytes};
    PTPKG_TRY(const std::optional<RelPath> path, Admit(member, passed));
    if (!path.has_value()) return true;
    passed.path = *path;
    PTPKG_CHECK(pass_.Add(passed, content));
    return true;
  }

  Result<void> Finish() {
    PTPKG_CHECK(pass_.Finish());
    return names_.CheckLinks();
  }

 private:
  /// nullopt for a folder.
  Result<std::optional<RelPath>> Admit(const archive::TarMember& member, archive::ArchiveMember& passed) {
    switch (member.kind) {
      case archive::TarKind::kRegular:
        return names_.AddFile(member.name);
      case archive::TarKind::kDirectory: {
        PTPKG_TRY(const auto folder, names_.AddFolder(member.name));
        return std::optional<RelPath>();
      }
      case archive::TarKind::kSymlink:
        passed.kind = FileKind::kSymlink;
        passed.size_bytes = 0;
        passed.link_target = member.link_target;
        return names_.AddSymlink(member.name, member.link_target);
      case archive::TarKind::kHardLink: {
        PTPKG_TRY(auto link, names_.AddHardLink(member.name, member.link_target));
        passed.size_bytes = 0;
        passed.link_target = link->target.str();
        return std::optional(std::move(link->name));
      }
      case archive::TarKind::kOther:
        break;
    }
    return names_.Refuse(member.name, "is a device, pipe or socket");
  }

  archive::MemberNames names_;
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
