// Requests to anaconda.org's API, with the URLs of anaconda-client 1.16. Changes go as Repeat::kOnce,
// because the caller must look before it tries again. The answer about a file is believed only if it names
// that file: some servers fall back to another file of the release.

#include "publish/servers/anaconda_api.h"

#include <algorithm>
#include <fmt/core.h>

#include "publish/auth/credential.h"
#include "support/net/url.h"
#include "support/text/text.h"

namespace ptpkg::publish {

bool AnacondaFile::HasLabel(const std::string& label) const {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::string AnacondaFile::LabelWords() const {
  if (labels.empty()) return "no label";
  return fmt::format("the {} '{}'", labels.size() == 1 ? "label" : "labels", Join(labels, "', '"));
}

AnacondaApi::AnacondaApi(Env& env, std::string api, std::string origin)
    : api_(std::move(api)),
      exchange_(
          env, std::move(origin),
          {{"User-Agent", "ptpkg"}, {"Accept", "application/json"}, {"x-binstar-api-version", "1.16.0"}}) {}

Result<std::unique_ptr<AnacondaApi>> AnacondaApi::Make(Env& env, std::string api) {
  PTPKG_TRY(std::string origin, OriginOf(api));
  return std::unique_ptr<AnacondaApi>(new AnacondaApi(env, std::move(api), std::move(origin)));
}

Result<void> AnacondaApi::LogIn(const std::string& owner) {
  PTPKG_TRY(const Secret token, AnacondaToken(exchange_.env(), api_));
  exchange_.SetHeader("Authorization", "token " + token.Reveal());
  PTPKG_TRY(const HttpAnswer user,
            Expect({.url = UserUrl(owner)}, {200}, fmt::format("looking up the user '{}'", owner)));
  static_cast<void>(user);
  return Ok();
}

Result<std::optional<AnacondaFile>> AnacondaApi::Find(const std::string& owner, const ArtifactId& artifact) {
  PTPKG_TRY(const HttpAnswer answer, Expect({.url = FileUrl("dist", owner, artifact)}, {200, 404},
                                            fmt::format("looking up '{}'", artifact.ChannelPath())));
  if (answer.status == 404) return std::optional<AnacondaFile>();
  PTPKG_TRY(const Json json, ParseJson(answer.body, "answer of the server"));
  // A server that falls back to another file of the release, or ignores the name, has said nothing of this
  // one.
  const auto basename = JsonString(json, "basename", "answer of the server");
  if (basename && *basename != artifact.ChannelPath() && *basename != artifact.file_name)
    return std::optional<AnacondaFile>();
  AnacondaFile file;
  if (const auto sha256 = JsonString(json, "sha256", "answer of the server")) file.sha256 = ToLower(*sha256);
  if (json.is_object() && json.contains("labels") && json["labels"].is_array()) {
    file.tells_labels = true;
    for (const Json& label : json["labels"]) {
      if (label.is_string()) file.labels.push_back(label.get<std::string>());
    }
    std::sort(file.labels.begin(), file.labels.end());
  }
  return std::optional(std::move(file));
}

Result<HttpAnswer> AnacondaApi::Expect(const Request& request, const std::set<long>& statuses,
                                       const std::string& doing) {
  PTPKG_TRY(HttpAnswer answer, exchange_.Send(request));
  if (statuses.contains(answer.status)) return answer;
  return AnswerError(answer, doing);
}

Request AnacondaApi::JsonRequest(std::string method, std::string url, const Json& document) {
  return {.method = std::move(method),
          .url = std::move(url),
          .headers = {{"Content-Type", "application/json"}},
          .body = {.before = document.dump()},
          .repeat = Repeat::kOnce};
}

std::string AnacondaApi::UserUrl(const std::string& owner) const {
  return fmt::format("{}/user/{}", api_, PercentEncode(owner));
}

std::string AnacondaApi::PackageUrl(const std::string& owner, const std::string& package) const {
  return fmt::format("{}/package/{}/{}", api_, PercentEncode(owner), PercentEncode(package));
}

std::string AnacondaApi::ReleaseUrl(const std::string& owner, const ArtifactId& artifact) const {
  return fmt::format("{}/release/{}/{}/{}", api_, PercentEncode(owner), PercentEncode(artifact.package),
                     PercentEncode(artifact.version));
}

std::string AnacondaApi::FileUrl(std::string_view verb, const std::string& owner,
                                 const ArtifactId& artifact) const {
  return fmt::format("{}/{}/{}/{}/{}/{}/{}", api_, verb, PercentEncode(owner),
                     PercentEncode(artifact.package), PercentEncode(artifact.version),
                     PercentEncode(artifact.subdir), PercentEncode(artifact.file_name));
}

std::string AnacondaApi::LabelUrl(const std::string& owner, const std::string& label) const {
  return fmt::format("{}/channels/{}/{}", api_, PercentEncode(owner), PercentEncode(label));
}

}  // namespace ptpkg::publish
