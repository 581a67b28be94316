#pragma once
// Yanks and removes artifacts in an output directory. Layer: publish.

#include "publish/artifact_store.h"

namespace ptpkg::publish {

std::unique_ptr<Store> MakeFolderStore(Env& env, const AbsPath& root);

}  // namespace ptpkg::publish
