#include "publish/http/multipart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptpkg::publish {
namespace {

using ::testing::HasSubstr;

Upload Wheel() {
  Upload upload{.file = AbsPath::Literal("/a/b.whl")};
  upload.digests.size_bytes = 7;
  return upload;
}

TEST(MultipartTest, FieldsInTheirOrderThenTheFile) {
  const FormBody form =
      MakeFormBody({.fields = {{"a", "1"}, {"b", "x\r\ny"}, {"a", "2"}}, .file_field = "content"}, Wheel());
  const std::string boundary = "ptpkg-" + std::string(64, '0');
  EXPECT_EQ(form.content_type, "multipart/form-data; boundary=" + boundary);
  EXPECT_EQ(form.body.before,
            "--" + boundary + "\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n" +  //
                "--" + boundary + "\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\nx\r\ny\r\n" + "--" +
                boundary + "\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n2\r\n" + "--" + boundary +
                "\r\nContent-Disposition: form-data; name=\"content\"; filename=\"b.whl\"\r\n"
                "Content-Type: application/octet-stream\r\n\r\n");
  EXPECT_EQ(form.body.after, "\r\n--" + boundary + "--\r\n");
  EXPECT_EQ(form.body.size(), form.body.before.size() + 7 + form.body.after.size());
}

TEST(MultipartTest, TheFilesPartMayHaveMoreHeaders) {
  const FormBody form =
      MakeFormBody({.file_field = "f", .file_headers = {{"X-File-Name", "b.whl"}}}, Wheel());
  EXPECT_THAT(form.body.before, HasSubstr("octet-stream\r\nX-File-Name: b.whl\r\n\r\n"));
}

TEST(MultipartTest, FieldsMayComeAfterTheFile) {
  const FormBody form = MakeFormBody({.file_field = "f", .later_fields = {{"attestation", "{}"}}}, Wheel());
  const std::string boundary = "ptpkg-" + std::string(64, '0');
  EXPECT_EQ(form.body.after, "\r\n--" + boundary +
                                 "\r\nContent-Disposition: form-data; name=\"attestation\"\r\n\r\n{}\r\n--" +
                                 boundary + "--\r\n");
  const FormBody other = MakeFormBody({.file_field = "f", .later_fields = {{"a", boundary}}}, Wheel());
  EXPECT_THAT(other.content_type, HasSubstr(boundary + "-"));
}

TEST(MultipartTest, TheBoundaryOccursInNoField) {
  const std::string usual = "ptpkg-" + std::string(64, '0');
  const FormBody form = MakeFormBody({.fields = {{"a", usual + "-"}}, .file_field = "f"}, Wheel());
  EXPECT_THAT(form.content_type, HasSubstr(usual + "--"));
}

}  // namespace
}  // namespace ptpkg::publish
