#pragma once
// Interface of a server that accepts uploads. Layer: publish. The kinds of server are in
// servers/, s3/ and output/; send.h drives them all in the same way.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "publish/upload.h"

namespace ptpkg::publish {

/// File that a server has under an artifact's name.
struct RemoteFile {
  std::string sha256 = {};  ///< Lower-case hexadecimal; "": another file, or one without a known digest.
  std::string words = {};   ///< Without a digest, a description of the file: "9 bytes".
};

/// REQUIRES of all: LogIn() succeeded. Calls may come from several threads, for different uploads.
class Remote {
 public:
  virtual ~Remote() = default;

  /// "channel 'me' at https://…", for messages.
  [[nodiscard]] virtual std::string Title() const = 0;
  /// The profile that checks artifacts before an upload (verify/profile.h); "": the default of the artifact's
  /// kind.
  [[nodiscard]] virtual std::string ProfileName() const = 0;
  /// True if it takes artifacts of this kind: selects files of an output directory.
  [[nodiscard]] virtual bool AcceptsFormat(ArtifactFormat format) const {
    const bool wheel = format == ArtifactFormat::kWheel;
    return format != ArtifactFormat::kZip && wheel == (ProfileName() != "conda");
  }
  /// True if sidecars (publish/output/sidecar.h) are uploaded too, as files of their own.
  [[nodiscard]] virtual bool AcceptsSidecars() const { return false; }
  /// True if Send uploads an artifact's attestations with it.
  [[nodiscard]] virtual bool AcceptsAttestations() const { return false; }
  /// Checks the server's rules before a byte is sent: kind of file, names, tags, sizes. Errors:
  /// kRefused with a hint.
  [[nodiscard]] virtual Result<void> CheckRules(const Upload& upload) const = 0;
  /// True if Send can replace a different file of the same name.
  [[nodiscard]] virtual bool CanReplace() const { return true; }
  /// The requests that Find and Send would make, one a line: "POST https://…". `replace`: another file that
  /// is there will be replaced. Nothing is sent.
  [[nodiscard]] virtual std::vector<std::string> Requests(const Upload& upload, bool replace) const = 0;

  /// Finds the credentials, and checks them if the server offers a request for that. Call it once, first.
  virtual Result<void> LogIn() = 0;
  /// True if `bytes` more fit, as far as the server reports its quota in advance. Errors: any from Exchange,
  /// kRefused with a hint.
  virtual Result<void> CheckRoom(std::uint64_t /*bytes*/) { return Ok(); }
  /// Revokes the credentials that LogIn got for this run alone. Called last, whatever the result, also after
  /// an interrupt. Errors: the credentials expire by themselves some minutes later.
  virtual Result<void> LogOut() { return Ok(); }
  /// nullopt: the name is free. Errors: any from Exchange::Send.
  virtual Result<std::optional<RemoteFile>> Find(const Upload& upload) = 0;
  /// Sends the file, once. `replace`: Find returned another file, which goes. `on_sent`: bytes of the
  /// artifact sent so far. Errors: after kNetwork, only Find can tell whether the server has it now; all
  /// others are final.
  virtual Result<void> Send(const Upload& upload, bool replace,
                            const std::function<void(std::uint64_t)>& on_sent) = 0;
  /// Called after all uploads: writes the indexes that readers use. `there`: the uploads that the server now
  /// has, from this run or before. Errors: the server has the files but does not list them; a later call with
  /// the same uploads continues.
  virtual Result<void> Finish(const std::vector<const Upload*>& /*there*/) { return Ok(); }
  /// Called after an upload failed: removes what this run has made for it, and nothing else. Also after an
  /// interrupt.
  virtual Result<void> CleanUp(const Upload& /*upload*/) { return Ok(); }
};

}  // namespace ptpkg::publish
