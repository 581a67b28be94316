#pragma once
// One pass over the members of a conda package without unpacking it. Layer: conda.

#include "archive/archive_member_pass.h"
#include "conda/info/container.h"

namespace ptpkg::conda {

/// Visits every file and link of `package`, in a .conda the info/ members first. Like archive::StreamPass it
/// visits several at once, each with its content. A hard link comes without content, after its target.
/// Directories are not visited. Contents keep their placeholders. Errors: as ReadContainer and StreamPass;
/// kCorrupt for names and links that ExtractTar refuses.
Result<ContainerFacts> VisitPackage(Env& env, const AbsPath& package, const archive::PassOptions& options,
                                    const archive::VisitMember& visit);

}  // namespace ptpkg::conda
