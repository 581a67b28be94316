// The requests in which quetz, Artifactory and prefix.dev differ: upload, removal, quota, token header.
// Everything else about these servers is common (channel_servers.cpp, server_store.cpp). Uploads carry the
// digest, so that the server can compare it with the bytes that arrived.

#include "publish/servers/channel_dialect.h"

#include <fmt/core.h>

#include "publish/auth/trusted.h"
#include "publish/http/multipart.h"
#include "support/net/url.h"

namespace ptpkg::publish {
namespace {

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

std::string RemovalFromQuetz(const ChannelPlace& place, const ArtifactId& artifact) {
  return fmt::format("{}/api/channels/{}/packages/{}/versions/{}", place.server, EncodePath(place.channel),
                     PercentEncode(artifact.package), EncodePath(artifact.ChannelPath()));
}

std::string ChannelOfQuetz(const ChannelPlace& place) {
  return fmt::format("{}/api/channels/{}", place.server, EncodePath(place.channel));
}

std::string FilesOfChannel(const ChannelPlace& place) {
  return fmt::format("{}/{}", place.server, EncodePath(place.channel));
}

std::string FileOfChannel(const ChannelPlace& place, const ArtifactId& artifact) {
  return fmt::format("{}/{}", FilesOfChannel(place), EncodePath(artifact.ChannelPath()));
}

std::string RemovalFromPrefixDev(const ChannelPlace& place, const ArtifactId& artifact) {
  return fmt::format("{}/api/v1/delete/{}/{}", place.server, EncodePath(place.channel),
                     EncodePath(artifact.ChannelPath()));
}

}  // namespace

const ChannelDialect& QuetzDialect() {
  static const ChannelDialect dialect{.name = "quetz",
                                      .variables = {"QUETZ_API_KEY"},
                                      .token_header = "X-API-Key",
                                      .token_prefix = "",
                                      .files =
                                          [](const ChannelPlace& place) {
                                            return fmt::format("{}/get/{}", place.server,
                                                               EncodePath(place.channel));
                                          },
                                      .send = SendToQuetz,
                                      .removal = RemovalFromQuetz,
                                      .room = ChannelOfQuetz};
  return dialect;
}

const ChannelDialect& ArtifactoryDialect() {
  static const ChannelDialect dialect{.name = "Artifactory",
                                      .variables = {"ARTIFACTORY_TOKEN"},
                                      .token_header = "Authorization",
                                      .token_prefix = "Bearer ",
                                      .files = FilesOfChannel,
                                      .send = SendToArtifactory,
                                      .removal = FileOfChannel};
  return dialect;
}

const ChannelDialect& PrefixDevDialect() {
  static const ChannelDialect dialect{.name = "prefix.dev",
                                      .variables = {"PREFIX_API_KEY"},
                                      .token_header = "Authorization",
                                      .token_prefix = "Bearer ",
                                      .files = FilesOfChannel,
                                      .send = SendToPrefixDev,
                                      .takes_attestations = true,
                                      .removal = RemovalFromPrefixDev,
                                      .trusted = TrustedChannelToken};
  return dialect;
}

Result<void> LogInTo(const ChannelDialect& dialect, const ChannelPlace& place, Exchange& exchange) {
  PTPKG_TRY(const Secret token, TokenFrom(exchange.env(), dialect.variables, place.server, dialect.trusted));
  exchange.SetHeader(dialect.token_header, dialect.token_prefix + token.Reveal());
  return Ok();
}

}  // namespace ptpkg::publish
