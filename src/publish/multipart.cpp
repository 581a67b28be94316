#include "publish/multipart.h"

#include <algorithm>
#include <fmt/core.h>

namespace ptpkg::publish {
namespace {

bool OccursIn(const Form& form, const std::string& text) {
  return std::any_of(form.fields.begin(), form.fields.end(),
                     [&](const auto& field) { return field.second.find(text) != std::string::npos; });
}

}  // namespace

FormBody MakeFormBody(const Form& form, const Upload& upload) {
  // A file that holds its own digest cannot be made, so only the fields are looked through.
  std::string boundary = "ptpkg-" + upload.digests.sha256.Hex();
  while (OccursIn(form, boundary)) boundary += "-";
  FormBody made{.body = {.file = upload.file, .file_bytes = upload.digests.size_bytes},
                .content_type = "multipart/form-data; boundary=" + boundary};
  for (const auto& [name, value] : form.fields) {
    made.body.before += fmt::format("--{}\r\nContent-Disposition: form-data; name=\"{}\"\r\n\r\n{}\r\n",
                                    boundary, name, value);
  }
  made.body.before += fmt::format(
      "--{}\r\nContent-Disposition: form-data; name=\"{}\"; filename=\"{}\"\r\n"
      "Content-Type: application/octet-stream\r\n",
      boundary, form.file_field, upload.Name());
  for (const auto& [name, value] : form.file_headers)
    made.body.before += fmt::format("{}: {}\r\n", name, value);
  made.body.before += "\r\n";
  made.body.after = fmt::format("\r\n--{}--\r\n", boundary);
  return made;
}

}  // namespace ptpkg::publish
