#include "support/curl_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "support/assert.h"

namespace ptpkg {
namespace {

constexpr const char* kName = "libcurl.so.4";  // its interface version since 2006

Error Missing(std::string_view what) {
  return Error(ErrorCode::kUnsupported, fmt::format("{}, so nothing can be fetched", what))
      .WithHint(fmt::format("install libcurl, which provides '{}'", kName));
}

/// Puts the address of `name` into `function`.
template <class Function>
Result<void> Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) return Missing(fmt::format("'{}' has no function '{}'", kName, name));
  return Ok();
}

Result<CurlLibrary> Load() {
  void* const library = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the text is the thread's own in glibc
    return Missing(fmt::format("cannot load '{}': {}", kName, ::dlerror()));
  }
  CurlLibrary curl;
  PTPKG_CHECK(Find(library, "curl_easy_init", curl.easy_init));
  PTPKG_CHECK(Find(library, "curl_easy_cleanup", curl.easy_cleanup));
  PTPKG_CHECK(Find(library, "curl_easy_setopt", curl.easy_setopt));
  PTPKG_CHECK(Find(library, "curl_easy_getinfo", curl.easy_getinfo));
  PTPKG_CHECK(Find(library, "curl_easy_perform", curl.easy_perform));
  PTPKG_CHECK(Find(library, "curl_easy_strerror", curl.easy_strerror));
  PTPKG_CHECK(Find(library, "curl_slist_append", curl.slist_append));
  PTPKG_CHECK(Find(library, "curl_slist_free_all", curl.slist_free_all));
  decltype(&curl_global_init) global_init = nullptr;
  PTPKG_CHECK(Find(library, "curl_global_init", global_init));
  // Never undone: other libraries of the process may use libcurl until the very end.
  PTPKG_ASSERT(global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
  return curl;
}

const Result<CurlLibrary>& Loaded() {
  static const Result<CurlLibrary> kLibrary = Load();
  return kLibrary;
}

}  // namespace

Result<void> LoadCurl() {
  if (!Loaded()) return Loaded().error();
  return Ok();
}

const CurlLibrary& Curl() { return *Loaded(); }

}  // namespace ptpkg
