#pragma once
// Interface for promoting, yanking and removing artifacts. Layer: publish. The kinds
// of server are in servers/, s3/ and output/; change_artifacts.h drives them all in the same way. remote.h is
// the interface for uploads.

#include <memory>
#include <string>
#include <vector>

#include "publish/artifact_id.h"
#include "support/env.h"

namespace ptpkg::publish {

enum class Action : std::uint8_t {
  kCopy,    ///< Also under the other label or channel.
  kMove,    ///< There, and no longer here.
  kYank,    ///< Stays in place; installers take it only if pinned (PEP 592).
  kUnyank,  ///< Undoes kYank.
  kRemove,  ///< Removed for everybody.
};

/// A change to one artifact.
struct Change {
  Action action = Action::kCopy;
  ArtifactId artifact = {};
  std::string sha256 = {};  ///< The change is for a file with this digest; "" = for whatever is there.
  std::string reason = {};  ///< For kYank: the reason shown to users; "" = none.
};

enum class ChangeState : std::uint8_t {
  kToDo,
  kDone,    ///< The change is complete.
  kAbsent,  ///< There is no file of that name.
};

struct RemoteStatus {
  ChangeState state = ChangeState::kToDo;
  std::string sha256 = {};  ///< Digest of the file there; "" = there is no file, or its digest is unknown.
  bool partly = false;      ///< For kToDo: part of it is done. The store knows which part.
};

/// REQUIRES of all but the first four: LogIn() succeeded. Look and Make may be called from several threads,
/// for different artifacts.
class Store {
 public:
  virtual ~Store() = default;

  /// "channel 'me' at https://…", for messages.
  [[nodiscard]] virtual std::string Title() const = 0;
  /// True if it stores artifacts of this kind: selects files of an output directory.
  [[nodiscard]] virtual bool AcceptsFormat(ArtifactFormat format) const = 0;
  /// Errors: kRefused with a hint, for a change that this kind of server cannot make, or not to this
  /// artifact.
  [[nodiscard]] virtual Result<void> Check(const Change& change) const = 0;
  /// The requests that a change takes, one a line: "DELETE https://…". Nothing is sent.
  [[nodiscard]] virtual std::vector<std::string> Requests(const Change& change) const = 0;

  /// Finds the credentials, and checks them if the server offers a request for that. Call it once, first.
  virtual Result<void> LogIn() = 0;
  /// State of the change. Errors: any from Exchange::Send. Also kAlreadyExists if the destination has another
  /// file under the name, and kNotFound if the source lacks the file.
  virtual Result<RemoteStatus> QueryStatus(const Change& change) = 0;
  /// Edits the index that readers use, before the first Make. `changes`: all that will be made, and removals
  /// of files that are already absent. A repeated call has no further effect. Errors: nothing else was
  /// changed.
  virtual Result<void> Edit(const std::vector<Change>& /*changes*/) { return Ok(); }
  /// True if Edit removes entries from an index.
  [[nodiscard]] virtual bool HasIndex() const { return false; }
  /// Makes the change, once. `standing`: from the last QueryStatus. Errors: after kNetwork, kNotFound and
  /// kAlreadyExists, only QueryStatus can tell whether the change was made; all others are final.
  virtual Result<void> Make(const Change& change, const RemoteStatus& standing) = 0;
  /// Tidies up, after all changes were tried.
  virtual Result<void> Finish() { return Ok(); }
};

}  // namespace ptpkg::publish
