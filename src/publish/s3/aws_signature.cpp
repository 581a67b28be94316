#include "publish/s3/aws_signature.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/digest/hash.h"
#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kPayloadHeader = "x-amz-content-sha256";
constexpr std::string_view kDateHeader = "x-amz-date";

/// What a URL is made of, for a signature.
struct UrlParts {
  std::string host;  ///< As libcurl sends it: without the port that the scheme has anyway.
  std::string path;
  std::string query;
};

UrlParts PartsOf(const std::string& url) {
  const std::size_t begin = url.find("://") + 3;
  const std::size_t path = std::min(url.find_first_of("/?", begin), url.size());
  const std::size_t query = std::min(url.find('?', path), url.size());
  UrlParts parts{.host = ToLower(url.substr(begin, path - begin)),
                 .path = url.substr(path, query - path),
                 .query = query < url.size() ? url.substr(query + 1) : ""};
  const std::string usual = url.starts_with("https:") ? ":443" : ":80";
  if (parts.host.ends_with(usual)) parts.host.resize(parts.host.size() - usual.size());
  if (parts.path.empty()) parts.path = "/";
  return parts;
}

/// Sorted by name, then by value; a name alone gets its '='.
std::string CanonicalQuery(const std::string& query) {
  if (query.empty()) return "";
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& part : Split(query, '&')) {
    const std::size_t sign = std::min(part.find('='), part.size());
    pairs.emplace_back(part.substr(0, sign), sign < part.size() ? part.substr(sign + 1) : "");
  }
  std::sort(pairs.begin(), pairs.end());
  std::vector<std::string> sorted;
  for (const auto& [name, value] : pairs) sorted.push_back(fmt::format("{}={}", name, value));
  return Join(sorted, "&");
}

std::string WithSingleSpaces(std::string_view text) {
  std::string out;
  for (const char c : Trim(text)) {
    if (c != ' ' || !out.ends_with(' ')) out += c;
  }
  return out;
}

/// By name in lower case.
std::map<std::string, std::string> SignedHeaders(const HttpCall& call) {
  std::map<std::string, std::string> headers{{"host", PartsOf(call.url).host}};
  for (const auto& [name, value] : call.headers) headers[ToLower(name)] = WithSingleSpaces(value);
  headers.erase("user-agent");
  headers.erase("authorization");
  return headers;
}

std::string NamesOf(const std::map<std::string, std::string>& headers) {
  std::vector<std::string> names;
  for (const auto& [name, value] : headers) names.push_back(name);
  return Join(names, ";");
}

std::string HeaderOf(const HttpCall& call, std::string_view name) {
  const auto headers = SignedHeaders(call);
  const auto found = headers.find(std::string(name));
  return found == headers.end() ? "" : found->second;
}

/// "20260101/eu-west-1/s3/aws4_request"
std::string ScopeText(const std::string& time, const AwsScope& scope) {
  constexpr std::size_t kDay = 8;
  return fmt::format("{}/{}/{}/aws4_request", time.substr(0, kDay), scope.region, scope.service);
}

/// "20260101T000000Z"
std::string TimeText(std::chrono::system_clock::time_point now) {
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(now - day));
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::string RawBytes(const Sha256& digest) { return {digest.bytes.begin(), digest.bytes.end()}; }

std::string HexOf(const std::string& bytes) {
  Sha256 digest;
  std::copy(bytes.begin(), bytes.end(), digest.bytes.begin());
  return digest.Hex();
}

}  // namespace

std::string HmacSha256(std::string_view key, std::string_view text) {
  constexpr std::size_t kBlock = 64;
  std::string padded = key.size() > kBlock ? RawBytes(HashText(key)) : std::string(key);
  padded.resize(kBlock, '\0');
  const auto mixed = [&](unsigned char with) {
    std::string block = padded;
    for (char& c : block) c = static_cast<char>(static_cast<unsigned char>(c) ^ with);
    return block;
  };
  return RawBytes(HashText(mixed(0x5c) + RawBytes(HashText(mixed(0x36) + std::string(text)))));
}

std::string AwsCanonicalRequest(const HttpCall& call) {
  const UrlParts parts = PartsOf(call.url);
  const auto headers = SignedHeaders(call);
  const auto payload = headers.find(std::string(kPayloadHeader));
  std::string text = fmt::format("{}\n{}\n{}\n", call.method, parts.path, CanonicalQuery(parts.query));
  for (const auto& [name, value] : headers) text += fmt::format("{}:{}\n", name, value);
  return text + fmt::format("\n{}\n{}", NamesOf(headers),
                            payload != headers.end() ? payload->second : HashText("").Hex());
}

std::string AwsStringToSign(const HttpCall& call, const AwsScope& scope) {
  const std::string time = HeaderOf(call, kDateHeader);
  return fmt::format("{}\n{}\n{}\n{}", kAlgorithm, time, ScopeText(time, scope),
                     HashText(AwsCanonicalRequest(call)).Hex());
}

void SignForAws(HttpCall& call, const AwsKeys& keys, const AwsScope& scope,
                std::chrono::system_clock::time_point now) {
  const std::string time = TimeText(now);
  call.headers[std::string(kDateHeader)] = time;
  if (!keys.session_token.empty()) call.headers["x-amz-security-token"] = keys.session_token.Reveal();
  const std::vector<std::string> steps = Split(ScopeText(time, scope), '/');
  std::string key = "AWS4" + keys.key.Reveal();
  for (const std::string& step : steps) key = HmacSha256(key, step);
  call.headers["Authorization"] =
      fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", kAlgorithm, keys.id.Reveal(),
                  ScopeText(time, scope), NamesOf(SignedHeaders(call)),
                  HexOf(HmacSha256(key, AwsStringToSign(call, scope))));
}

}  // namespace ptpkg::publish
