#pragma once
// Encodes multipart/form-data bodies. Layer: publish. Source: RFC 7578.

#include <string>
#include <utility>
#include <vector>

#include "publish/http/exchange.h"
#include "publish/upload.h"

namespace ptpkg::publish {

struct Form {
  /// In the order in which they are sent; names may repeat.
  std::vector<std::pair<std::string, std::string>> fields = {};
  std::string file_field = {};  ///< Field name of the file, which comes after `fields`.
  /// More headers of the file's part. REQUIRES: without line breaks.
  std::vector<std::pair<std::string, std::string>> file_headers = {};
  std::vector<std::pair<std::string, std::string>> later_fields = {};  ///< After the file.
};

struct FormBody {
  Body body;
  std::string content_type;  ///< With the boundary.
};

/// The boundary is made of the file's digest, so that equal forms are equal bytes, and it occurs in no field.
/// REQUIRES: names of fields and of the file without quotes, line breaks and NUL.
FormBody MakeFormBody(const Form& form, const Upload& upload);

}  // namespace ptpkg::publish
