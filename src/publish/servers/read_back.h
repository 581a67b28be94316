#pragma once
// Reads files back from servers that report no digest. Layer: publish.

#include "publish/http/exchange.h"
#include "publish/remote.h"

namespace ptpkg::publish {

/// Reads the file at `url`. `head`: the answer to a HEAD of it; if its length differs from the upload's,
/// nothing is read. nullopt: the file is gone meanwhile. Errors: any from HashAnswer and AnswerError.
Result<std::optional<RemoteFile>> ReadBack(Exchange& exchange, const std::string& url, const HttpAnswer& head,
                                           const Upload& upload);

}  // namespace ptpkg::publish
