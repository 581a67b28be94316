#include "publish/channel_servers.h"

#include <fmt/core.h>

#include "publish/credential.h"
#include "publish/exchange.h"
#include "publish/multipart.h"
#include "publish/read_back.h"
#include "support/text.h"

namespace ptpkg::publish {
namespace {

/// What differs between the three.
struct Dialect {
  std::string name;                    ///< For people.
  std::vector<std::string> variables;  ///< Where the token is.
  std::string token_header;
  std::string token_prefix;  ///< Before the token in that header.
  /// Of a channel's files, below the server.
  std::string (*files)(const ChannelPlace& place);
  Request (*send)(const ChannelPlace& place, const Upload& upload, bool replace);
  bool takes_attestations = false;
};

Request SendToQuetz(const ChannelPlace& place, const Upload& upload, bool replace) {
  return {.method = "POST",
          .url = fmt::format("{}/api/channels/{}/upload/{}?force={}&sha256={}", place.server,
                             EncodePath(place.channel), PercentEncode(upload.Name()),
                             replace ? "true" : "false", upload.digests.sha256.Hex()),
          .headers = {{"Content-Type", "application/octet-stream"}},
          .body = {.file = upload.file, .file_bytes = upload.digests.size_bytes},
          .repeat = Repeat::kOnce};
}

Request SendToArtifactory(const ChannelPlace& place, const Upload& upload, bool /*replace*/) {
  return {.method = "PUT",
          .url = fmt::format("{}/{}/{}", place.server, EncodePath(place.channel),
                             EncodePath(upload.ChannelPath())),
          .headers = {{"Content-Type", "application/octet-stream"},
                      {"X-Checksum-Sha256", upload.digests.sha256.Hex()}},
          .body = {.file = upload.file, .file_bytes = upload.digests.size_bytes},
          .repeat = Repeat::kOnce};
}

Request SendToPrefixDev(const ChannelPlace& place, const Upload& upload, bool replace) {
  Form fields{
      .file_field = "file",
      .file_headers = {{"X-File-Name", upload.Name()}, {"X-File-SHA256", upload.digests.sha256.Hex()}}};
  // rattler-build sends it after the file; there is at most one.
  for (const Attestation& one : upload.attestations)
    fields.later_fields.emplace_back("attestation", one.text);
  FormBody form = MakeFormBody(fields, upload);
  return {.method = "POST",
          .url = fmt::format("{}/api/v1/upload/{}{}", place.server, EncodePath(place.channel),
                             replace ? "?force=true" : ""),
          .headers = {{"Content-Type", form.content_type}},
          .body = std::move(form.body),
          .repeat = Repeat::kOnce};
}

const Dialect& Quetz() {
  static const Dialect dialect{.name = "quetz",
                               .variables = {"QUETZ_API_KEY"},
                               .token_header = "X-API-Key",
                               .token_prefix = "",
                               .files =
                                   [](const ChannelPlace& place) {
                                     return fmt::format("{}/get/{}", place.server, EncodePath(place.channel));
                                   },
                               .send = SendToQuetz};
  return dialect;
}

const Dialect& Artifactory() {
  static const Dialect dialect{.name = "Artifactory",
                               .variables = {"ARTIFACTORY_TOKEN"},
                               .token_header = "Authorization",
                               .token_prefix = "Bearer ",
                               .files =
                                   [](const ChannelPlace& place) {
                                     return fmt::format("{}/{}", place.server, EncodePath(place.channel));
                                   },
                               .send = SendToArtifactory};
  return dialect;
}

const Dialect& PrefixDev() {
  static const Dialect dialect{.name = "prefix.dev",
                               .variables = {"PREFIX_API_KEY"},
                               .token_header = "Authorization",
                               .token_prefix = "Bearer ",
                               .files =
                                   [](const ChannelPlace& place) {
                                     return fmt::format("{}/{}", place.server, EncodePath(place.channel));
                                   },
                               .send = SendToPrefixDev,
                               .takes_attestations = true};
  return dialect;
}

class ChannelServer final : public Remote {
 public:
  ChannelServer(Env& env, const Dialect& dialect, ChannelPlace place, std::string origin)
      : dialect_(dialect),
        place_(std::move(place)),
        exchange_(env, std::move(origin), {{"User-Agent", "ptpkg"}}) {}

  [[nodiscard]] std::string Title() const override {
    return fmt::format("channel '{}' of {} at {}", place_.channel, dialect_.name, place_.server);
  }
  [[nodiscard]] std::string ProfileName() const override { return "conda"; }

  [[nodiscard]] bool TakesAttestations() const override { return dialect_.takes_attestations; }

  [[nodiscard]] Result<void> CheckRules(const Upload& upload) const override {
    PTPKG_CHECK(RequireCondaPackage(upload));
    if (!dialect_.takes_attestations) return Ok();
    const std::string channel = dialect_.files(place_);
    for (const Attestation& one : upload.attestations) {
      if (one.channel.empty() || one.channel == channel) continue;
      return Error(ErrorCode::kRefused, fmt::format("'{}' was made for the channel '{}', not for '{}'",
                                                    one.name, one.channel, channel))
          .WithHint("publish the package there, or attest its publication here");
    }
    return Ok();
  }

  [[nodiscard]] std::vector<std::string> Requests(const Upload& upload, bool replace) const override {
    const Request request = dialect_.send(place_, upload, replace);
    const std::string with = dialect_.takes_attestations ? WithAttestations(upload) : "";
    return {"HEAD " + FileUrl(upload), request.method + " " + request.url + with, "HEAD " + FileUrl(upload)};
  }

  Result<void> LogIn() override {
    PTPKG_TRY(const Secret token, TokenFrom(exchange_.env(), dialect_.variables, place_.server));
    exchange_.SetHeader(dialect_.token_header, dialect_.token_prefix + token.Reveal());
    return Ok();
  }

  Result<std::optional<RemoteFile>> Find(const Upload& upload) override {
    PTPKG_TRY(const HttpAnswer answer, exchange_.Send({.method = "HEAD", .url = FileUrl(upload)}));
    if (answer.status == 404) return std::optional<RemoteFile>();
    if (answer.status != 200) return AnswerError(answer, fmt::format("asked for '{}'", upload.ChannelPath()));
    const auto told = answer.headers.find("x-checksum-sha256");
    if (told != answer.headers.end()) return std::optional(RemoteFile{.sha256 = ToLower(told->second)});
    return ReadBack(exchange_, FileUrl(upload), answer, upload);
  }

  Result<void> Send(const Upload& upload, bool replace,
                    const std::function<void(std::uint64_t)>& on_sent) override {
    Request request = dialect_.send(place_, upload, replace);
    request.on_sent = on_sent;
    PTPKG_TRY(const HttpAnswer answer, exchange_.Send(request));
    if (answer.status / 100 == 2) return Ok();
    return AnswerError(answer, fmt::format("given '{}'", upload.ChannelPath()));
  }

 private:
  [[nodiscard]] std::string FileUrl(const Upload& upload) const {
    return fmt::format("{}/{}", dialect_.files(place_), EncodePath(upload.ChannelPath()));
  }

  const Dialect& dialect_;
  ChannelPlace place_;
  Exchange exchange_;
};

Result<std::unique_ptr<Remote>> Make(Env& env, const Dialect& dialect, ChannelPlace place) {
  PTPKG_TRY(std::string origin, OriginOf(place.server));
  return std::unique_ptr<Remote>(
      std::make_unique<ChannelServer>(env, dialect, std::move(place), std::move(origin)));
}

}  // namespace

Result<std::unique_ptr<Remote>> MakeQuetz(Env& env, ChannelPlace place) {
  return Make(env, Quetz(), std::move(place));
}

Result<std::unique_ptr<Remote>> MakeArtifactory(Env& env, ChannelPlace place) {
  return Make(env, Artifactory(), std::move(place));
}

Result<std::unique_ptr<Remote>> MakePrefixDev(Env& env, ChannelPlace place) {
  return Make(env, PrefixDev(), std::move(place));
}

}  // namespace ptpkg::publish
