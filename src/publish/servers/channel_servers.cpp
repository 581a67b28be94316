// Publishes conda packages to quetz, Artifactory and prefix.dev. The digest of an existing file comes from
// a header if the server sends one, and else from reading the file back. The quota is looked up before the
// first byte is sent, where the server has a request for it. An attestation that names another channel is
// refused.

#include "publish/servers/channel_servers.h"

#include <fmt/core.h>

#include "publish/servers/channel_dialect.h"
#include "publish/servers/read_back.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

class ChannelServer final : public Remote {
 public:
  ChannelServer(Env& env, const ChannelDialect& dialect, ChannelPlace place, std::string origin)
      : dialect_(dialect),
        place_(std::move(place)),
        exchange_(env, std::move(origin), {{"User-Agent", "ptpkg"}}) {}

  [[nodiscard]] std::string Title() const override {
    return fmt::format("channel '{}' of {} at {}", place_.channel, dialect_.name, place_.server);
  }
  [[nodiscard]] std::string ProfileName() const override { return "conda"; }

  [[nodiscard]] bool AcceptsAttestations() const override { return dialect_.takes_attestations; }

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
    std::vector<std::string> lines = {"HEAD " + FileUrl(upload)};
    if (dialect_.room != nullptr) lines.push_back("GET " + dialect_.room(place_));
    lines.push_back(request.method + " " + request.url +
                    (dialect_.takes_attestations ? WithAttestations(upload) : ""));
    lines.push_back("HEAD " + FileUrl(upload));
    return lines;
  }

  Result<void> LogIn() override { return LogInTo(dialect_, place_, exchange_); }

  Result<void> CheckRoom(std::uint64_t bytes) override {
    if (dialect_.room == nullptr) return Ok();
    PTPKG_TRY(const HttpAnswer answer, exchange_.Send({.url = dialect_.room(place_)}));
    if (answer.status != 200)
      return AnswerError(answer, fmt::format("looking up the channel '{}'", place_.channel));
    PTPKG_TRY(const Json channel, ParseJson(answer.body, "answer of the server"));
    const auto limit = JsonInteger(channel, "size_limit", "");
    if (!limit || *limit < 0) return Ok();  // null: none
    const auto size = JsonInteger(channel, "size", "");
    const std::uint64_t used = size && *size > 0 ? static_cast<std::uint64_t>(*size) : 0;
    const auto most = static_cast<std::uint64_t>(*limit);
    if (used <= most && bytes <= most - used) return Ok();
    return Error(ErrorCode::kRefused,
                 fmt::format("{} has room for {}, already has {}, and {} more are to be sent", Title(),
                             HumanBytes(most), size ? HumanBytes(used) : "an unknown amount",
                             HumanBytes(bytes)))
        .WithHint("remove files first (ptpkg remove), or ask for a higher limit");
  }

  Result<std::optional<RemoteFile>> Find(const Upload& upload) override {
    PTPKG_TRY(const HttpAnswer answer, exchange_.Send({.method = "HEAD", .url = FileUrl(upload)}));
    if (answer.status == 404) return std::optional<RemoteFile>();
    if (answer.status != 200)
      return AnswerError(answer, fmt::format("looking up '{}'", upload.ChannelPath()));
    const std::string told = HeaderOfAnswer(answer, "x-checksum-sha256");
    if (!told.empty()) return std::optional(RemoteFile{.sha256 = ToLower(told)});
    return ReadBack(exchange_, FileUrl(upload), answer, upload);
  }

  Result<void> Send(const Upload& upload, bool replace,
                    const std::function<void(std::uint64_t)>& on_sent) override {
    Request request = dialect_.send(place_, upload, replace);
    request.on_sent = on_sent;
    PTPKG_TRY(const HttpAnswer answer, exchange_.Send(request));
    if (answer.status / 100 == 2) return Ok();
    return AnswerError(answer, fmt::format("uploading '{}'", upload.ChannelPath()));
  }

 private:
  [[nodiscard]] std::string FileUrl(const Upload& upload) const {
    return fmt::format("{}/{}", dialect_.files(place_), EncodePath(upload.ChannelPath()));
  }

  const ChannelDialect& dialect_;
  ChannelPlace place_;
  Exchange exchange_;
};

Result<std::unique_ptr<Remote>> Make(Env& env, const ChannelDialect& dialect, ChannelPlace place) {
  PTPKG_TRY(std::string origin, OriginOf(place.server));
  return std::unique_ptr<Remote>(
      std::make_unique<ChannelServer>(env, dialect, std::move(place), std::move(origin)));
}

}  // namespace

Result<std::unique_ptr<Remote>> MakeQuetz(Env& env, ChannelPlace place) {
  return Make(env, QuetzDialect(), std::move(place));
}

Result<std::unique_ptr<Remote>> MakeArtifactory(Env& env, ChannelPlace place) {
  return Make(env, ArtifactoryDialect(), std::move(place));
}

Result<std::unique_ptr<Remote>> MakePrefixDev(Env& env, ChannelPlace place) {
  return Make(env, PrefixDevDialect(), std::move(place));
}

}  // namespace ptpkg::publish
