// Finds the digest of a file on a server that does not tell it, by reading the file back. The length from
// HEAD decides first, since a file of another length is a different one. The download stops behind the
// expected length for the same reason.

#include "publish/servers/read_back.h"

#include <fmt/core.h>

namespace ptpkg::publish {

Result<std::optional<RemoteFile>> ReadBack(Exchange& exchange, const std::string& url, const HttpAnswer& head,
                                           const Upload& upload) {
  const std::string length = HeaderOfAnswer(head, "content-length");
  const bool tells_size = head.status == 200 && !length.empty();
  if (tells_size && length != std::to_string(upload.digests.size_bytes))
    return std::optional(RemoteFile{.sha256 = "", .words = length + " bytes"});
  // A longer file is another one.
  PTPKG_TRY(const HashedAnswer there,
            HashAnswer(exchange.env(), upload.digests.size_bytes,
                       [&](ByteSink& sink) { return exchange.Send({.url = url, .answer_sink = &sink}); }));
  if (there.answer.status == 200) return std::optional(RemoteFile{.sha256 = there.sha256.Hex()});
  if (there.answer.status == 404) return std::optional<RemoteFile>();
  return AnswerError(there.answer, fmt::format("reading '{}' back", upload.ChannelPath()));
}

}  // namespace ptpkg::publish
