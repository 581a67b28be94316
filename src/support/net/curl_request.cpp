#include "support/net/curl_request.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <pthread.h>
#include <unistd.h>
#include <utility>

#include "support/secret.h"
#include "support/text/text.h"

namespace ptpkg {
namespace {

std::string_view TrimSpace(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

char LowerLetter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

Error UnusableAuthorities(const HttpLimits& limits) {
  std::string message = fmt::format("cannot use '{}' as a file of CA certificates", limits.ca_file);
  if (limits.ca_variable.empty()) return {ErrorCode::kInvalidInput, std::move(message)};
  return Error(ErrorCode::kInvalidInput, fmt::format("{}: {} names it", message, limits.ca_variable))
      .WithHint(
          fmt::format("set {} to a readable file of PEM certificates, or unset it", limits.ca_variable));
}

/// "" if libcurl was built with the place of the system's certificates. The libcurl of the wheel was not.
const std::string& DefaultAuthorities() {
  static const std::string kFile = [] {
    const curl_version_info_data* info = curl_version_info(CURLVERSION_NOW);
    const bool built_in = info->cainfo != nullptr || info->capath != nullptr;
    return built_in ? std::string() : SystemAuthorities("");
  }();
  return kFile;
}

}  // namespace

SigpipeGuard::SigpipeGuard() {
  ::sigemptyset(&pipe_);
  ::sigaddset(&pipe_, SIGPIPE);
  sigset_t pending;
  ::sigpending(&pending);
  was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
  ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
}

SigpipeGuard::~SigpipeGuard() {
  constexpr timespec kNow{0, 0};
  // A SIGPIPE that was pending before belongs to somebody else and stays.
  if (!was_pending_) ::sigtimedwait(&pipe_, nullptr, &kNow);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::string Redacted(const std::string& url) {
  // Signed URLs carry their signature in the query.
  std::string text = url.substr(0, url.find_first_of("?#"));
  if (StartsWithNoCase(text, "file:")) return text;
  // libcurl takes "user:password@host", "http:host" and "http:///host" too: what comes before the first '/'
  // that is not of the scheme is the authority.
  const std::size_t colon = text.find(':');
  const std::size_t scheme_end = colon == std::string::npos ? 0 : colon + 1;
  const std::size_t first_slash = text.find('/');
  std::size_t authority = first_slash < scheme_end ? 0 : scheme_end;
  while (authority < text.size() && text[authority] == '/') ++authority;
  const std::size_t at = text.substr(0, text.find('/', authority)).rfind('@');
  if (at != std::string::npos && at >= authority) {
    const bool has_scheme = authority > scheme_end;
    const std::size_t from = has_scheme ? authority : 0;
    text.erase(from, at + 1 - from);
  }
  return text;
}

bool StartsWithNoCase(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), text.begin(),
                                                    [](char a, char b) { return a == LowerLetter(b); });
}

CurlHandle NewCurlHandle() {
  // Never undone: other libraries of the process may use libcurl until the very end.
  static const CURLcode kReady = curl_global_init(CURL_GLOBAL_DEFAULT);
  return CurlHandle(kReady == CURLE_OK ? curl_easy_init() : nullptr);
}

Result<CurlHeaders> BuildHeaders(const std::map<std::string, std::string>& headers) {
  CurlHeaders list;
  for (const auto& [name, value] : headers) {
    const std::string line = fmt::format("{}: {}", name, value);
    // The value may be a credential: the message names only the header.
    if (name.empty() || line.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
      return Error(ErrorCode::kInvalidInput, fmt::format("HTTP header '{}' is not valid", name));
    }
    curl_slist* longer = curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) return Error(ErrorCode::kIo, "out of memory");
    // curl_slist_append returns the head of the same list: both pointers would own it.
    static_cast<void>(list.release());
    list.reset(longer);
  }
  return list;
}

void TakeHeaderLine(std::string_view line, std::map<std::string, std::string>& headers) {
  if (line.starts_with("HTTP/")) headers.clear();
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  headers.insert_or_assign(ToLower(TrimSpace(line.substr(0, colon))),
                           std::string(TrimSpace(line.substr(colon + 1))));
}

std::string SystemAuthorities(const std::string& root) {
  constexpr std::array<std::string_view, 4> kFiles = {
      "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Alpine
      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
      "/etc/pki/tls/certs/ca-bundle.crt",                   // the same, before 2025
      "/etc/ssl/ca-bundle.pem",                             // SUSE
  };
  for (const std::string_view file : kFiles) {
    std::string path = root + std::string(file);
    if (::access(path.c_str(), R_OK) == 0) return path;
  }
  return {};
}

void SetCommonOptions(CURL* easy, const std::string& url, curl_slist* headers, const HttpLimits& limits) {
  RememberSecretsOf(url);
  // NOLINTBEGIN(cppcoreguidelines-pro-type-vararg): the interface of libcurl.
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);  // threads: no SIGALRM for name lookups
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "ptpkg");
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, limits.connect_timeout.count());
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 512L * 1024L);  // the largest libcurl takes
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  const std::string& ca_file = limits.ca_file.empty() ? DefaultAuthorities() : limits.ca_file;
  // libcurl then uses the place that it was built with.
  if (ca_file.empty()) return;
  // The directory that libcurl was built with would be trusted besides the file.
  constexpr const char* kNoFolder = nullptr;
  curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file.c_str());
  curl_easy_setopt(easy, CURLOPT_CAPATH, kNoFolder);
  curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO, ca_file.c_str());
  curl_easy_setopt(easy, CURLOPT_PROXY_CAPATH, kNoFolder);
  // NOLINTEND(cppcoreguidelines-pro-type-vararg)
}

Error RequestError(const std::string& url, const HttpLimits& limits, const CurlFailure& failure) {
  const std::string shown = Redacted(url);
  switch (failure.code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}' is not a URL that can be {}", shown, failure.wanted))
          .WithHint(fmt::format("use a URL that begins with {}", failure.schemes));
    case CURLE_FILE_COULDNT_READ_FILE:
      return Error(ErrorCode::kNotFound, fmt::format("'{}' does not exist or cannot be read", shown));
    case CURLE_OUT_OF_MEMORY:
      return Error(ErrorCode::kIo, "out of memory");
    case CURLE_SSL_CACERT_BADFILE:
      if (!limits.ca_file.empty()) return UnusableAuthorities(limits);
      break;
    default:
      break;
  }
  const std::string reason = *failure.detail != '\0' ? failure.detail : curl_easy_strerror(failure.code);
  Error error = Error(ErrorCode::kNetwork, fmt::format("{}: {}", failure.lead, reason));
  if (failure.code == CURLE_COULDNT_RESOLVE_HOST || failure.code == CURLE_COULDNT_RESOLVE_PROXY ||
      failure.code == CURLE_COULDNT_CONNECT) {
    return std::move(error).WithHint("check the network connection and the proxy settings");
  }
  if (failure.code == CURLE_PEER_FAILED_VERIFICATION || failure.code == CURLE_SSL_CACERT_BADFILE) {
    return std::move(error).WithHint(
        limits.ca_variable.empty()
            ? "check the system's CA certificates and its clock"
            : fmt::format("check the CA certificates that {} names, and the clock", limits.ca_variable));
  }
  return error;
}

}  // namespace ptpkg
