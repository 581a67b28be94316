#pragma once
// True if an object of a bucket has the bytes that it should have. Layer: publish. Source: Amazon S3 API
// Reference, "Checking object integrity".

#include <string>

#include "support/digest/hash.h"
#include "support/net/http.h"

namespace ptpkg::publish {

enum class ObjectContent : std::uint8_t {
  kSame,
  kOther,
  kUnknown,  ///< The server tells nothing that only these bytes have: the object is to be read.
};

struct ObjectDigests {
  const Digests& file;            ///< With MD5.
  std::string written_etag = {};  ///< ETag in the answer to this run's own write of these bytes; "": none.
};

/// Judges by size, x-amz-checksum-sha256 and ETag. x-amz-meta-sha256 proves nothing: it is what a client
/// said.
ObjectContent JudgeObject(const HttpAnswer& head, const ObjectDigests& wanted);

/// Without quotes and the mark of a weak one.
std::string BareEtag(std::string etag);

}  // namespace ptpkg::publish
