#pragma once
// Interface for promoting, yanking and removing artifacts. Layer: publish. One source for each kind beside
// this header; change.h drives them all in the same way. remote.h has how they get there.

#include <memory>
#include <string>
#include <vector>

#include "publish/artifact_id.h"
#include "support/env.h"

namespace ptpkg::publish {

enum class Action : std::uint8_t {
  kCopy,    ///< Also under the other label or channel.
  kMove,    ///< There, and no longer here.
  kYank,    ///< Stays for whoever pins it; no installer chooses it (PEP 592).
  kUnyank,  ///< As if it had never been yanked.
  kRemove,  ///< Gone, for everybody.
};

/// Of one artifact.
struct Change {
  Action action = Action::kCopy;
  ArtifactId artifact = {};
  std::string sha256 = {};  ///< The change is for a file with this digest; "" = for whatever is there.
  std::string reason = {};  ///< Of kYank, for people; "" = none.
};

enum class ChangeState : std::uint8_t {
  kToDo,
  kDone,    ///< All is as the change wants it.
  kAbsent,  ///< There is no file of that name.
};

struct RemoteStatus {
  ChangeState state = ChangeState::kToDo;
  std::string sha256 = {};  ///< Of the file there; "" = there is none, or nobody tells its digest.
  bool partly = false;      ///< Of kToDo: a part of it is done. What that is, the store knows.
};

/// REQUIRES of all but the first four: LogIn() succeeded. Look and Make may be called from several threads,
/// for different artifacts.
class Store {
 public:
  virtual ~Store() = default;

  /// "channel 'me' at https://…", for messages.
  [[nodiscard]] virtual std::string Title() const = 0;
  /// Whether it has artifacts of this kind: what of an output folder is meant.
  [[nodiscard]] virtual bool AcceptsFormat(ArtifactFormat format) const = 0;
  /// Errors: kRefused with a hint, for a change that this kind of place cannot make, or not of this artifact.
  [[nodiscard]] virtual Result<void> Check(const Change& change) const = 0;
  /// The requests that a change takes, one a line: "DELETE https://…". Nothing is sent.
  [[nodiscard]] virtual std::vector<std::string> Requests(const Change& change) const = 0;

  /// Finds the credentials, and asks the server whether they are good, where it can be asked. Once, first.
  virtual Result<void> LogIn() = 0;
  /// How it stands. Errors: kAlreadyExists: where the artifact is to go, another file has the name;
  /// kNotFound: it is not where it is to be taken from; as Exchange::Send.
  virtual Result<RemoteStatus> QueryStatus(const Change& change) = 0;
  /// Before the first Make, with all that are to be made, and removals of what is absent already: what
  /// readers find files by. Done twice it does what it does once. Errors: nothing else was changed.
  virtual Result<void> Edit(const std::vector<Change>& /*changes*/) { return Ok(); }
  /// Whether Edit takes what is to be removed out of an index.
  [[nodiscard]] virtual bool HasIndex() const { return false; }
  /// Makes the change, once. `standing`: of the last Look. Errors: kNetwork, kNotFound, kAlreadyExists:
  /// whether it is made now, only Look can tell; all others are final.
  virtual Result<void> Make(const Change& change, const RemoteStatus& standing) = 0;
  /// After all were tried: tidies up.
  virtual Result<void> Finish() { return Ok(); }
};

}  // namespace ptpkg::publish
