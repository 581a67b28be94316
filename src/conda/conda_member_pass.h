#pragma once
// One pass over the members of a conda package without unpacking it. Layer: conda.

#include "archive/archive_member_pass.h"
#include "conda/info/container.h"

namespace ptpkg::conda {

/// Visits every file and link of `package`, those of info/ first in a .conda, as archive::StreamPass does:
/// several at once, each with its content. A hard link comes without content; its target came before. Folders
/// are not visited. Nothing is replaced in the contents. Errors: those of ReadContainer and StreamPass; what
/// ExtractTar refuses of names and links (kCorrupt).
Result<ContainerFacts> VisitPackage(Env& env, const AbsPath& package, const archive::PassOptions& options,
                                    const archive::VisitMember& visit);

}  // namespace ptpkg::conda
