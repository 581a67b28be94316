// Trusted publishing: exchanges the identity of a CI job for a short-lived upload token.
//
// The index names the audience, the CI service signs an identity for it, and the index gives a token in
// return. GitHub signs on request, while GitLab makes a variable for each audience in advance. An identity
// works only at its audience, and for servers below prefix.dev that is prefix.dev. For another host its own
// name is the audience, so that it can use the identity nowhere else.
//
// ptpkg requests no identity over plain HTTP from another machine: whoever reads the identity on the way can
// use it. ptpkg treats a CI service with such a URL as absent. The error names the URL if no other source has
// a token.
// A server without this feature answers 404, which means "no token" and not an error, so that other sources
// of a token are tried.

#include "publish/auth/trusted.h"

#include <fmt/core.h>

#include "publish/http/exchange.h"
#include "support/net/url.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

Result<Json> JsonAnswer(Exchange& exchange, const Request& request, const std::string& doing) {
  PTPKG_TRY(const HttpAnswer answer, exchange.Send(request));
  if (answer.status != 200) return AnswerError(answer, doing);
  return ParseJson(answer.body, "answer of the server");
}

/// The identity that GitHub Actions vouches for, with the right to ask for it ("id-token: write").
Result<Secret> GithubIdentity(Env& env, const std::string& audience) {
  const std::string url = env.Variable("ACTIONS_ID_TOKEN_REQUEST_URL");
  PTPKG_TRY(const std::string origin, OriginOf(url), "while reading ACTIONS_ID_TOKEN_REQUEST_URL");
  Exchange ci(env, origin, {{"Authorization", "bearer " + env.Variable("ACTIONS_ID_TOKEN_REQUEST_TOKEN")}});
  const std::string separator = url.find('?') == std::string::npos ? "?" : "&";
  PTPKG_TRY(const Json answer,
            JsonAnswer(ci, {.url = url + separator + "audience=" + PercentEncode(audience)},
                       "requesting an identity token of this CI job"));
  PTPKG_TRY(std::string identity, JsonString(answer, "value", "answer of the server"));
  return Secret(std::move(identity));
}

bool OffersGithubIdentity(const Env& env) {
  return !env.Variable("ACTIONS_ID_TOKEN_REQUEST_URL").empty() &&
         !env.Variable("ACTIONS_ID_TOKEN_REQUEST_TOKEN").empty();
}

/// An identity of GitHub Actions is offered, and nobody on the way can read it.
bool IsOnGithub(const Env& env) { return OffersGithubIdentity(env) && !WhyNoIdentity(env); }

/// For whom an identity is to be; nullopt: this index knows no trusted publishing.
Result<std::optional<std::string>> AudienceOf(Exchange& index) {
  PTPKG_TRY(const HttpAnswer answer, index.Send({.url = index.origin() + "/_/oidc/audience"}));
  if (answer.status == 404) return std::optional<std::string>();
  if (answer.status != 200) return AnswerError(answer, "looking up the audience for identity tokens");
  PTPKG_TRY(const Json json, ParseJson(answer.body, "answer of the server"));
  PTPKG_TRY(std::string name, JsonString(json, "audience", "answer of the server"));
  return std::optional(std::move(name));
}

/// The identity of this job for that audience; "" = the CI offers none.
Result<Secret> IdentityFor(Env& env, const std::string& audience) {
  if (IsOnGithub(env)) return GithubIdentity(env, audience);
  // GitLab makes a variable for each audience, whatever the index says: one for PyPI is not for others.
  if (audience == "pypi") return Secret(env.Variable("PYPI_ID_TOKEN"));
  if (audience == "testpypi") return Secret(env.Variable("TESTPYPI_ID_TOKEN"));
  return Secret();
}

/// "prefix.dev" → "PREFIX_DEV_ID_TOKEN"
std::string GitlabVariable(const std::string& audience) {
  std::string name;
  for (const char c : audience) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    name += letter ? static_cast<char>(c & ~0x20) : c >= '0' && c <= '9' ? c : '_';
  }
  return name + "_ID_TOKEN";
}

/// For a host below prefix.dev the audience is prefix.dev; for another host its own, so that it can use
/// the identities nowhere else.
std::string ChannelAudience(const std::string& origin) {
  std::string host = origin.substr(origin.find("://") + 3);
  if (!host.starts_with('[')) host = host.substr(0, host.find(':'));
  return host.ends_with(".prefix.dev") ? "prefix.dev" : host;
}

}  // namespace

std::optional<Error> WhyNoIdentity(const Env& env) {
  if (!OffersGithubIdentity(env)) return std::nullopt;
  const auto origin = OriginOf(env.Variable("ACTIONS_ID_TOKEN_REQUEST_URL"));
  if (!origin || origin->starts_with("https:") || IsLoopback(*origin)) return std::nullopt;
  return Error(ErrorCode::kRefused,
               fmt::format("no token found, and ACTIONS_ID_TOKEN_REQUEST_URL leads to {}, where others can "
                           "read the job's identity on the way",
                           *origin))
      .WithHint("have the CI service use https, or give ptpkg a token; see 'ptpkg explain publishing'");
}

Result<void> RevokeTrustedToken(Env& env, const std::string& upload_url, const Secret& token) {
  PTPKG_TRY(const std::string origin, OriginOf(upload_url));
  Exchange index(env, origin, {{"User-Agent", "ptpkg"}});
  // The token must be revoked after an interrupt too.
  index.IgnoreCancel();
  PTPKG_TRY(const HttpAnswer answer,
            index.Send({.method = "POST",
                        .url = origin + "/_/oidc/burn-token",
                        .headers = {{"Content-Type", "application/json"}},
                        .body = {.before = Json({{"token", token.Reveal()}}).dump()}}));
  const bool unknown = answer.status == 404 || answer.status == 405;
  if (answer.status / 100 == 2 || unknown) return Ok();
  return AnswerError(answer, "revoking the token of this run");
}

Result<std::optional<Secret>> TrustedChannelToken(Env& env, const std::string& server) {
  PTPKG_TRY(const std::string origin, OriginOf(server));
  // An identity that somebody reads on the way is his.
  if (!origin.starts_with("https:")) return std::optional<Secret>();
  const std::string audience = ChannelAudience(origin);
  Secret identity(env.Variable(GitlabVariable(audience)));
  if (IsOnGithub(env)) {
    PTPKG_TRY(identity, GithubIdentity(env, audience));
  }
  if (identity.empty()) return std::optional<Secret>();
  Exchange channel(env, origin, {{"User-Agent", "ptpkg"}});
  PTPKG_TRY(const HttpAnswer answer,
            channel.Send({.method = "POST",
                          .url = origin + "/api/oidc/mint_token",
                          .headers = {{"Content-Type", "application/json"}},
                          .body = {.before = Json({{"token", identity.Reveal()}}).dump()}}));
  // The server does not offer trusted publishing: keyring is tried next.
  if (answer.status == 404) return std::optional<Secret>();
  if (answer.status != 200)
    return AnswerError(answer, "requesting a token for this CI job (trusted publishing)");
  Secret token{std::string(Trim(answer.body))};
  // A header may hold no more.
  if (token.empty() || token.Reveal().find_first_of("\r\n") != std::string::npos)
    return Error(ErrorCode::kRefused, "the server's answer is not a token (trusted publishing)");
  return std::optional(std::move(token));
}

Result<std::optional<Secret>> TrustedPublishingToken(Env& env, const std::string& upload_url) {
  const bool github = IsOnGithub(env);
  const bool gitlab = !env.Variable("PYPI_ID_TOKEN").empty() || !env.Variable("TESTPYPI_ID_TOKEN").empty();
  PTPKG_TRY(const std::string origin, OriginOf(upload_url));
  // An identity that somebody reads on the way is his.
  if ((!github && !gitlab) || !origin.starts_with("https:")) return std::optional<Secret>();
  Exchange index(env, origin, {{"User-Agent", "ptpkg"}});
  PTPKG_TRY(const std::optional<std::string> audience, AudienceOf(index));
  if (!audience) return std::optional<Secret>();
  PTPKG_TRY(const Secret identity, IdentityFor(env, *audience));
  if (identity.empty()) return std::optional<Secret>();
  PTPKG_TRY(const Json minted, JsonAnswer(index,
                                          {.method = "POST",
                                           .url = origin + "/_/oidc/mint-token",
                                           .headers = {{"Content-Type", "application/json"}},
                                           .body = {.before = Json({{"token", identity.Reveal()}}).dump()}},
                                          "requesting a token for this CI job (trusted publishing)"));
  PTPKG_TRY(std::string token, JsonString(minted, "token", "answer of the server"));
  return std::optional(Secret(std::move(token)));
}

}  // namespace ptpkg::publish
