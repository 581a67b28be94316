// Promotes, moves and removes files at anaconda.org.
//
// Labels of one owner are changed by /channels, which takes a single file, and a copy to another owner by
// /copy. A move adds the new label first and then removes the old one, so the file is always in one of
// them. The file's labels alone show the state after each step, so the next run resumes an interrupted
// move. Only a labelled file can be copied, since the API names the label to copy from.

#include "publish/servers/anaconda_store.h"

#include <fmt/core.h>

#include "publish/servers/anaconda_api.h"

namespace ptpkg::publish {
namespace {

Json SelectionOf(const ArtifactId& artifact) {
  return {{"package", artifact.package}, {"version", artifact.version}, {"basename", artifact.ChannelPath()}};
}

class AnacondaStore final : public Store {
 public:
  AnacondaStore(AnacondaPlace from, AnacondaPlace to, std::unique_ptr<AnacondaApi> api)
      : from_(std::move(from)), to_(std::move(to)), api_(std::move(api)) {}

  [[nodiscard]] std::string Title() const override {
    return fmt::format("channel '{}' at {}", from_.owner, api_->api());
  }

  [[nodiscard]] bool AcceptsFormat(ArtifactFormat format) const override { return IsCondaPackage(format); }

  [[nodiscard]] Result<void> Check(const Change& change) const override {
    const std::string name = change.artifact.ChannelPath();
    PTPKG_CHECK(RequireInChannel(change.artifact));
    switch (change.action) {
      case Action::kCopy:
        if (from_.owner == to_.owner && from_.label == ToLabel()) return SameSourceError();
        return Ok();
      case Action::kMove:
        return CheckMove();
      case Action::kYank:
      case Action::kUnyank:
        return Error(ErrorCode::kRefused,
                     fmt::format("{} cannot yank '{}': conda channels have no yanking", Title(), name))
            .WithHint(fmt::format("move it to another label: ptpkg promote --move --from anaconda:{0}/main "
                                  "--to anaconda:{0}/broken",
                                  from_.owner));
      case Action::kRemove:
        break;
    }
    if (from_.label.empty()) return Ok();
    return Error(ErrorCode::kRefused,
                 fmt::format("removing '{}' affects all labels, not only '{}'", name, from_.label))
        .WithHint(fmt::format("remove the file with --from anaconda:{}, or move it to another label with "
                              "'ptpkg promote --move'",
                              from_.owner));
  }

  [[nodiscard]] std::vector<std::string> Requests(const Change& change) const override {
    const std::string look = "GET " + api_->FileUrl("dist", from_.owner, change.artifact);
    std::vector<std::string> lines = {"GET " + api_->UserUrl(Writer(change)), look};
    if (change.action == Action::kRemove) {
      lines.push_back("DELETE " + api_->FileUrl("dist", from_.owner, change.artifact));
    } else if (to_.owner == from_.owner) {
      lines.push_back("POST " + api_->LabelUrl(to_.owner, ToLabel()));
      if (change.action == Action::kMove)
        lines.push_back("DELETE " + api_->LabelUrl(from_.owner, from_.label));
    } else {
      const std::string there = "GET " + api_->FileUrl("dist", to_.owner, change.artifact);
      lines.push_back(there);
      lines.push_back("POST " + api_->FileUrl("copy/package", from_.owner, change.artifact));
      lines.push_back(look);
      lines.push_back(there);
      return lines;
    }
    lines.push_back(look);
    return lines;
  }

  Result<void> LogIn() override { return api_->LogIn(to_.owner.empty() ? from_.owner : to_.owner); }

  Result<RemoteStatus> QueryStatus(const Change& change) override {
    PTPKG_TRY(const std::optional<AnacondaFile> file, api_->Find(from_.owner, change.artifact));
    if (change.action == Action::kRemove) {
      if (!file) return RemoteStatus{.state = ChangeState::kAbsent};
      return RemoteStatus{.state = ChangeState::kToDo, .sha256 = file->sha256};
    }
    if (to_.owner != from_.owner) return QuerySource(change, file);
    if (!file) return RemoteStatus{.state = ChangeState::kAbsent};
    const bool there = file->HasLabel(ToLabel());
    const bool here = from_.label.empty() || file->HasLabel(from_.label);
    if (!there && !here) return NotHere(change, *file);
    const bool so = there && (change.action == Action::kCopy || !here);
    return RemoteStatus{
        .state = so ? ChangeState::kDone : ChangeState::kToDo, .sha256 = file->sha256, .partly = there};
  }

  Result<void> Make(const Change& change, const RemoteStatus& standing) override {
    const std::string name = change.artifact.ChannelPath();
    if (change.action == Action::kRemove) {
      return NotAlreadyMade({.method = "DELETE",
                             .url = api_->FileUrl("dist", from_.owner, change.artifact),
                             .repeat = Repeat::kOnce},
                            fmt::format("removing '{}'", name));
    }
    const bool to_other = to_.owner != from_.owner;
    if (to_other && !standing.partly) return CopyToOther(change);
    // First there, then no longer here: at no time is it in neither.
    if (to_other || !standing.partly) {
      PTPKG_CHECK(NotAlreadyMade(AnacondaApi::JsonRequest("POST", api_->LabelUrl(to_.owner, ToLabel()),
                                                          SelectionOf(change.artifact)),
                                 fmt::format("adding '{}' to the label '{}'", name, ToLabel())));
    }
    if (change.action == Action::kCopy) return Ok();
    return NotAlreadyMade(AnacondaApi::JsonRequest("DELETE", api_->LabelUrl(from_.owner, from_.label),
                                                   SelectionOf(change.artifact)),
                          fmt::format("removing the label '{}' from '{}'", from_.label, name));
  }

 private:
  [[nodiscard]] std::string ToLabel() const { return to_.label.empty() ? kMainLabel : to_.label; }
  [[nodiscard]] const std::string& Writer(const Change& change) const {
    return change.action == Action::kRemove ? from_.owner : to_.owner;
  }

  static Error SameSourceError() {
    return Error(ErrorCode::kUsage, "--from and --to are the same")
        .WithHint("give two labels, or two owners");
  }

  [[nodiscard]] Result<void> CheckMove() const {
    if (from_.label.empty()) {
      return Error(ErrorCode::kUsage,
                   fmt::format("--move needs a label: '--from anaconda:{}' has none", from_.owner))
          .WithHint(fmt::format("give the label to move from: --from anaconda:{}/dev", from_.owner));
    }
    if (from_.owner != to_.owner) {
      return Error(ErrorCode::kRefused,
                   fmt::format("{} cannot move artifacts to another owner, '{}'", Title(), to_.owner))
          .WithHint("copy it there without --move, then remove it here with 'ptpkg remove'");
    }
    return from_.label == ToLabel() ? Result<void>(SameSourceError()) : Ok();
  }

  [[nodiscard]] Error NotHere(const Change& change, const AnacondaFile& file) const {
    return Error(ErrorCode::kNotFound,
                 fmt::format("'{}' has {} at {}, not '{}'", change.artifact.ChannelPath(), file.LabelWords(),
                             Title(), from_.label))
        .WithHint("use a label that it has in --from");
  }

  /// `file`: what the owner has from whom it is copied; it may be gone when the copy is there.
  Result<RemoteStatus> QuerySource(const Change& change, const std::optional<AnacondaFile>& file) {
    PTPKG_TRY(const std::optional<AnacondaFile> copy, api_->Find(to_.owner, change.artifact));
    if (copy) {
      const std::string wanted = file ? file->sha256 : change.sha256;
      if (copy->sha256 != wanted || wanted.empty()) {
        return Error(ErrorCode::kAlreadyExists,
                     fmt::format("channel '{}' has a different '{}': sha256 {} there, {} at {}", to_.owner,
                                 change.artifact.ChannelPath(), copy->sha256, wanted, Title()))
            .WithHint("raise the build number, or remove the other file first: ptpkg remove");
      }
      const bool so = copy->HasLabel(ToLabel());
      return RemoteStatus{
          .state = so ? ChangeState::kDone : ChangeState::kToDo, .sha256 = copy->sha256, .partly = true};
    }
    if (!file) return RemoteStatus{.state = ChangeState::kAbsent};
    if (!from_.label.empty() && !file->HasLabel(from_.label)) return NotHere(change, *file);
    if (file->labels.empty()) {
      return Error(ErrorCode::kRefused,
                   fmt::format("'{}' has no label at {}, and only labelled files can be copied",
                               change.artifact.ChannelPath(), Title()))
          .WithHint(fmt::format("add one first: ptpkg promote --from anaconda:{0} --to anaconda:{0}/main",
                                from_.owner));
    }
    return RemoteStatus{.state = ChangeState::kToDo, .sha256 = file->sha256};
  }

  Result<void> CopyToOther(const Change& change) {
    std::string label = from_.label;
    if (label.empty()) {
      PTPKG_TRY(const std::optional<AnacondaFile> file, api_->Find(from_.owner, change.artifact));
      if (!file || file->labels.empty())
        return Error(ErrorCode::kNetwork,
                     fmt::format("another client is changing '{}'", change.artifact.file_name));
      label = file->labels.front();
    }
    return NotAlreadyMade(AnacondaApi::JsonRequest(
                              "POST", api_->FileUrl("copy/package", from_.owner, change.artifact),
                              {{"to_owner", to_.owner}, {"from_channel", label}, {"to_channel", ToLabel()}}),
                          fmt::format("copying '{}' to '{}'", change.artifact.ChannelPath(), to_.owner));
  }

  Result<void> NotAlreadyMade(const Request& request, const std::string& doing) {
    PTPKG_TRY(const HttpAnswer answer, api_->Expect(request, {200, 201}, doing));
    static_cast<void>(answer);
    return Ok();
  }

  AnacondaPlace from_;
  AnacondaPlace to_;
  std::unique_ptr<AnacondaApi> api_;
};

}  // namespace

Result<std::unique_ptr<Store>> MakeAnacondaStore(Env& env, AnacondaPlace from, AnacondaPlace to) {
  PTPKG_TRY(std::unique_ptr<AnacondaApi> api, AnacondaApi::Make(env, from.api));
  return std::unique_ptr<Store>(
      std::make_unique<AnacondaStore>(std::move(from), std::move(to), std::move(api)));
}

}  // namespace ptpkg::publish
