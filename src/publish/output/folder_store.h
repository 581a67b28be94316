#pragma once
// Yanking and removal in a folder with the layout of an output folder. Layer: publish.

#include "publish/artifact_store.h"

namespace ptpkg::publish {

std::unique_ptr<Store> MakeFolderStore(Env& env, const AbsPath& root);

}  // namespace ptpkg::publish
