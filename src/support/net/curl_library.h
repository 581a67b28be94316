#pragma once
// libcurl, loaded by the first request. It draws in 30 other libraries: linked to the program they took 4 MB
// and half the start-up time of every run, most of which fetch nothing. Layer: support, private to it.

#include <curl/curl.h>

#include "support/result.h"

namespace ptpkg {

struct CurlLibrary {
  decltype(&curl_easy_init) easy_init = nullptr;
  decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&curl_easy_setopt) easy_setopt = nullptr;
  decltype(&curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&curl_easy_perform) easy_perform = nullptr;
  decltype(&curl_easy_strerror) easy_strerror = nullptr;
  decltype(&curl_free) free = nullptr;
  decltype(&curl_getdate) getdate = nullptr;
  decltype(&curl_slist_append) slist_append = nullptr;
  decltype(&curl_slist_free_all) slist_free_all = nullptr;
  decltype(&curl_url) url = nullptr;
  decltype(&curl_url_cleanup) url_cleanup = nullptr;
  decltype(&curl_url_get) url_get = nullptr;
  decltype(&curl_url_set) url_set = nullptr;
};

/// Loads and initialises libcurl; later calls return what the first one did. Never unloaded.
/// Errors: kUnsupported when it is not installed or lacks a function.
Result<void> LoadCurl();

/// REQUIRES: LoadCurl() succeeded.
const CurlLibrary& Curl();

}  // namespace ptpkg
