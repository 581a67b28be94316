// Judges from the headers of an answer whether an object has the wanted content. Size first, then a SHA-256
// checksum of the whole, then the ETag, which is the MD5 of the content in the plain case. Multipart
// uploads and encryption by SSE-KMS give other ETags, so a different one proves nothing: the content is
// unknown, and the caller reads it.

#include "publish/s3/s3_object.h"

#include <algorithm>
#include <span>

#include "publish/http/exchange.h"
#include "support/digest/base64.h"
#include "support/text/text.h"

namespace ptpkg::publish {
ObjectContent JudgeObject(const HttpAnswer& head, const ObjectDigests& wanted) {
  const std::string size = HeaderOfAnswer(head, "content-length");
  if (!size.empty() && size != std::to_string(wanted.file.size_bytes)) return ObjectContent::kOther;
  const std::string checksum = HeaderOfAnswer(head, "x-amz-checksum-sha256");
  // Stores give it for objects that were sent in parts.
  // "…-3" is the checksum of three checksums.
  if (!checksum.empty() && checksum.find('-') == std::string::npos) {
    const bool same = checksum == Base64(std::as_bytes(std::span(wanted.file.sha256.bytes)));
    return same ? ObjectContent::kSame : ObjectContent::kOther;
  }
  const std::string etag = BareEtag(HeaderOfAnswer(head, "etag"));
  if (etag.empty()) return ObjectContent::kUnknown;
  // An ETag may be something else than a digest (SSE-KMS): one that differs says nothing.
  const bool same = ToLower(etag) == wanted.file.md5.Hex() || etag == BareEtag(wanted.written_etag);
  return same ? ObjectContent::kSame : ObjectContent::kUnknown;
}

std::string BareEtag(std::string etag) {
  if (etag.starts_with("W/")) etag.erase(0, 2);
  std::erase(etag, '"');
  return etag;
}

}  // namespace ptpkg::publish
