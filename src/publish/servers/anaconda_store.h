#pragma once
// Labels and removal at anaconda.org and compatible servers. Layer: publish. Sends the same requests as
// anaconda-client's `move`, `copy` and `remove` (docs/publishing.md shows them).

#include "publish/artifact_store.h"
#include "publish/servers/anaconda.h"

namespace ptpkg::publish {

/// `from`: current place of the files, with label "" for any (kMove requires one). `to`: destination of kCopy
/// and kMove, with label "" for main. Errors: kInvalidInput (not a URL).
Result<std::unique_ptr<Store>> MakeAnacondaStore(Env& env, AnacondaPlace from, AnacondaPlace to);

}  // namespace ptpkg::publish
