#pragma once
// Labels and removal at anaconda.org and compatible servers. Layer: publish. The requests are those of
// anaconda-client's `move`, `copy` and `remove` (docs/publishing.md shows them).

#include "publish/artifact_store.h"
#include "publish/servers/anaconda.h"

namespace ptpkg::publish {

/// `from`: where the files are; its label "" = any (kMove wants one). `to`: of kCopy and kMove; its label ""
/// = main. Errors: kInvalidInput (no URL).
Result<std::unique_ptr<Store>> MakeAnacondaStore(Env& env, AnacondaPlace from, AnacondaPlace to);

}  // namespace ptpkg::publish
