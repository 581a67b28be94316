#include "support/net/curl_library.h"

#include "support/assert.h"
#include "support/process/shared_library.h"

namespace ptpkg {
namespace {

Result<CurlLibrary> LoadCurl() {
  PTPKG_TRY(const SharedLibrary library, SharedLibrary::Load(PTPKG_LIBCURL_SONAME),
            "while preparing to fetch");
  CurlLibrary curl;
  PTPKG_CHECK(library.Find("curl_easy_init", curl.easy_init));
  PTPKG_CHECK(library.Find("curl_easy_cleanup", curl.easy_cleanup));
  PTPKG_CHECK(library.Find("curl_easy_setopt", curl.easy_setopt));
  PTPKG_CHECK(library.Find("curl_easy_getinfo", curl.easy_getinfo));
  PTPKG_CHECK(library.Find("curl_easy_perform", curl.easy_perform));
  PTPKG_CHECK(library.Find("curl_easy_strerror", curl.easy_strerror));
  PTPKG_CHECK(library.Find("curl_free", curl.free));
  PTPKG_CHECK(library.Find("curl_getdate", curl.getdate));
  PTPKG_CHECK(library.Find("curl_slist_append", curl.slist_append));
  PTPKG_CHECK(library.Find("curl_slist_free_all", curl.slist_free_all));
  PTPKG_CHECK(library.Find("curl_url", curl.url));
  PTPKG_CHECK(library.Find("curl_url_cleanup", curl.url_cleanup));
  PTPKG_CHECK(library.Find("curl_url_get", curl.url_get));
  PTPKG_CHECK(library.Find("curl_url_set", curl.url_set));
  decltype(&curl_global_init) global_init = nullptr;
  PTPKG_CHECK(library.Find("curl_global_init", global_init));
  // Never undone: other libraries of the process may use libcurl until the very end.
  PTPKG_ASSERT(global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
  return curl;
}

const Result<CurlLibrary>& Loaded() {
  static const Result<CurlLibrary> kLibrary = LoadCurl();
  return kLibrary;
}

}  // namespace

Result<void> LoadCurl() {
  if (!Loaded()) return Loaded().error();
  return Ok();
}

const CurlLibrary& Curl() { return *Loaded(); }

}  // namespace ptpkg
