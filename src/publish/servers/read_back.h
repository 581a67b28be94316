#pragma once
// Reads files back from servers that report no digest. Layer: publish.

#include "publish/http/exchange.h"
#include "publish/remote.h"

namespace ptpkg::publish {

/// What is at `url`. `head`: the answer to a HEAD of it; where that says another length than the upload has,
/// nothing is read. nullopt: it is gone meanwhile. Errors: those of HashAnswer and AnswerError.
Result<std::optional<RemoteFile>> ReadBack(Exchange& exchange, const std::string& url, const HttpAnswer& head,
                                           const Upload& upload);

}  // namespace ptpkg::publish
