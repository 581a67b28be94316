// Makes the body of a multipart/form-data upload (RFC 7578) without reading the file into memory: text
// before it, the file, text after it. The boundary must occur in no part. It contains the file's own
// digest, which the file cannot hold, so only the fields are searched.

#include "publish/http/multipart.h"

#include <algorithm>
#include <fmt/core.h>

namespace ptpkg::publish {
namespace {

bool OccursIn(const Form& form, const std::string& text) {
  const auto holds = [&](const auto& field) { return field.second.find(text) != std::string::npos; };
  return std::any_of(form.fields.begin(), form.fields.end(), holds) ||
         std::any_of(form.later_fields.begin(), form.later_fields.end(), holds);
}

std::string FieldPart(const std::string& boundary, const std::pair<std::string, std::string>& field) {
  return fmt::format("--{}\r\nContent-Disposition: form-data; name=\"{}\"\r\n\r\n{}\r\n", boundary,
                     field.first, field.second);
}

}  // namespace

FormBody MakeFormBody(const Form& form, const Upload& upload) {
  // A file that holds its own digest cannot be made, so only the fields are looked through.
  std::string boundary = "ptpkg-" + upload.digests.sha256.Hex();
  while (OccursIn(form, boundary)) boundary += "-";
  FormBody made{.body = {.file = upload.file, .file_bytes = upload.digests.size_bytes},
                .content_type = "multipart/form-data; boundary=" + boundary};
  for (const auto& field : form.fields) made.body.before += FieldPart(boundary, field);
  made.body.before += fmt::format(
      "--{}\r\nContent-Disposition: form-data; name=\"{}\"; filename=\"{}\"\r\n"
      "Content-Type: application/octet-stream\r\n",
      boundary, form.file_field, upload.Name());
  for (const auto& [name, value] : form.file_headers)
    made.body.before += fmt::format("{}: {}\r\n", name, value);
  made.body.before += "\r\n";
  made.body.after = "\r\n";
  for (const auto& field : form.later_fields) made.body.after += FieldPart(boundary, field);
  made.body.after += fmt::format("--{}--\r\n", boundary);
  return made;
}

}  // namespace ptpkg::publish
