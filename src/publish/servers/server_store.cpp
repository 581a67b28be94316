// Removes packages at quetz, prefix.dev and Artifactory. Only Artifactory also copies and moves.
//
// A copy would replace another file at the destination without a word, so both places are looked up first
// and digests are compared. A move that was interrupted after its copy leaves the file at both places: then
// only the removal is left. A mistyped channel has no files of any name, which would look like success for
// a removal. Hence the login asks for the channel itself where the server allows it.

#include "publish/servers/server_store.h"

#include <fmt/core.h>

#include "publish/servers/channel_dialect.h"
#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

class ServerStore final : public Store {
 public:
  /// `to`: where the server itself copies to; "" where it cannot.
  ServerStore(Env& env, const ChannelDialect& dialect, ChannelPlace place, std::string to, std::string origin)
      : dialect_(dialect),
        place_(std::move(place)),
        to_{.server = place_.server, .channel = std::move(to)},
        exchange_(env, std::move(origin), {{"User-Agent", "ptpkg"}}) {}

  [[nodiscard]] std::string Title() const override { return TitleOf(place_); }
  [[nodiscard]] bool AcceptsFormat(ArtifactFormat format) const override { return IsCondaPackage(format); }

  [[nodiscard]] Result<void> Check(const Change& change) const override {
    const std::string name = change.artifact.ChannelPath();
    PTPKG_CHECK(RequireInChannel(change.artifact));
    if (change.action == Action::kRemove) return Ok();
    if (change.action == Action::kYank || change.action == Action::kUnyank) {
      return Error(ErrorCode::kRefused,
                   fmt::format("{} cannot yank '{}': conda channels have no yanking", Title(), name))
          .WithHint("remove it from the channel: ptpkg remove");
    }
    if (to_.channel == place_.channel)
      return Error(ErrorCode::kUsage, "--from and --to are the same").WithHint("give two repositories");
    return Ok();
  }

  [[nodiscard]] std::vector<std::string> Requests(const Change& change) const override {
    const std::string look = "HEAD " + FileUrl(place_, change.artifact);
    if (change.action == Action::kRemove) {
      std::vector<std::string> lines = {look, "DELETE " + dialect_.removal(place_, change.artifact), look};
      if (dialect_.room != nullptr) lines.insert(lines.begin(), "GET " + dialect_.room(place_));
      return lines;
    }
    const std::string there = "HEAD " + FileUrl(to_, change.artifact);
    return {look, there, "POST " + CopyUrl(change), look, there};
  }

  /// A mistyped place has no file of any name. So the channel itself is looked up, if the server has a
  /// request for it.
  Result<void> LogIn() override {
    PTPKG_CHECK(LogInTo(dialect_, place_, exchange_));
    if (dialect_.room == nullptr) return Ok();
    PTPKG_TRY(const HttpAnswer answer, exchange_.Send({.url = dialect_.room(place_)}));
    if (answer.status == 200) return Ok();
    return AnswerError(answer, fmt::format("looking up the channel '{}'", place_.channel));
  }

  Result<RemoteStatus> QueryStatus(const Change& change) override {
    PTPKG_TRY(const std::optional<std::string> here, DigestAt(place_, change.artifact));
    if (change.action == Action::kRemove) {
      if (!here) return RemoteStatus{.state = ChangeState::kAbsent};
      return RemoteStatus{.state = ChangeState::kToDo, .sha256 = *here};
    }
    PTPKG_TRY(const std::optional<std::string> there, DigestAt(to_, change.artifact));
    if (!there) {
      if (!here) return RemoteStatus{.state = ChangeState::kAbsent};
      return RemoteStatus{.state = ChangeState::kToDo, .sha256 = *here};
    }
    // The server would replace it without a word.
    // After an interrupted move the source is gone: the digest found before is the one to expect.
    const std::string wanted = here ? *here : change.sha256;
    if (*there != wanted) {
      return Error(ErrorCode::kAlreadyExists,
                   fmt::format("{} has a different '{}': sha256 {} there, {} at {}", TitleOf(to_),
                               change.artifact.ChannelPath(), *there,
                               wanted.empty() ? "nothing" : "sha256 " + wanted, Title()))
          .WithHint("raise the build number, or remove the other file first: ptpkg remove");
    }
    const bool so = change.action == Action::kCopy || !here;
    return RemoteStatus{
        .state = so ? ChangeState::kDone : ChangeState::kToDo, .sha256 = *there, .partly = true};
  }

  Result<void> Make(const Change& change, const RemoteStatus& standing) override {
    const std::string name = change.artifact.ChannelPath();
    // If the file of a move is at both places, one remains to be removed.
    const bool removes = change.action == Action::kRemove || standing.partly;
    const Request request = removes
                                ? Request{.method = "DELETE",
                                          .url = dialect_.removal(place_, change.artifact),
                                          .repeat = Repeat::kOnce}
                                : Request{.method = "POST", .url = CopyUrl(change), .repeat = Repeat::kOnce};
    PTPKG_TRY(const HttpAnswer answer, exchange_.Send(request));
    if (answer.status / 100 == 2) return Ok();
    return AnswerError(answer, fmt::format("trying to {} '{}'", removes ? "remove" : "copy", name));
  }

 private:
  [[nodiscard]] std::string TitleOf(const ChannelPlace& place) const {
    return fmt::format("channel '{}' of {} at {}", place.channel, dialect_.name, place.server);
  }
  [[nodiscard]] std::string FileUrl(const ChannelPlace& place, const ArtifactId& artifact) const {
    return fmt::format("{}/{}", dialect_.files(place), EncodePath(artifact.ChannelPath()));
  }
  /// Artifactory's alone.
  [[nodiscard]] std::string CopyUrl(const Change& change) const {
    const std::string path = EncodePath(change.artifact.ChannelPath());
    return fmt::format("{}/api/{}/{}/{}?to=/{}/{}", place_.server,
                       change.action == Action::kMove ? "move" : "copy", EncodePath(place_.channel), path,
                       EncodePath(to_.channel), path);
  }

  /// nullopt: there is no such file. Read back where the server tells no digest.
  Result<std::optional<std::string>> DigestAt(const ChannelPlace& place, const ArtifactId& artifact) {
    const std::string url = FileUrl(place, artifact);
    const std::string doing = fmt::format("looking up '{}'", artifact.ChannelPath());
    PTPKG_TRY(const HttpAnswer answer, exchange_.Send({.method = "HEAD", .url = url}));
    if (answer.status == 404) return std::optional<std::string>();
    if (answer.status != 200) return AnswerError(answer, doing);
    const std::string told = HeaderOfAnswer(answer, "x-checksum-sha256");
    if (!told.empty()) return std::optional(ToLower(told));
    PTPKG_TRY(const HashedAnswer file, HashAnswer(exchange_.env(), UINT64_MAX, [&](ByteSink& sink) {
                return exchange_.Send({.url = url, .answer_sink = &sink});
              }));
    if (file.answer.status == 404) return std::optional<std::string>();
    if (file.answer.status != 200) return AnswerError(file.answer, doing);
    return std::optional(file.sha256.Hex());
  }

  const ChannelDialect& dialect_;
  ChannelPlace place_;
  ChannelPlace to_;
  Exchange exchange_;
};

Result<std::unique_ptr<Store>> MakeOf(Env& env, const ChannelDialect& dialect, ChannelPlace place,
                                      std::string to) {
  PTPKG_TRY(std::string origin, OriginOf(place.server));
  return std::unique_ptr<Store>(
      std::make_unique<ServerStore>(env, dialect, std::move(place), std::move(to), std::move(origin)));
}

}  // namespace

Result<std::unique_ptr<Store>> MakeQuetzStore(Env& env, ChannelPlace place) {
  return MakeOf(env, QuetzDialect(), std::move(place), "");
}

Result<std::unique_ptr<Store>> MakePrefixDevStore(Env& env, ChannelPlace place) {
  return MakeOf(env, PrefixDevDialect(), std::move(place), "");
}

Result<std::unique_ptr<Store>> MakeArtifactoryStore(Env& env, ChannelPlace place, std::string to) {
  return MakeOf(env, ArtifactoryDialect(), std::move(place), std::move(to));
}

}  // namespace ptpkg::publish
