#pragma once
// API client of anaconda.org. Layer: publish. Source: anaconda-client 1.16.

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "publish/artifact_id.h"
#include "publish/http/exchange.h"
#include "support/text/json.h"

namespace ptpkg::publish {

/// The label that a file gets by default.
inline constexpr const char* kMainLabel = "main";

/// The server's record of a file.
struct AnacondaFile {
  std::string sha256 = {};               ///< "" for entries of its first years, which have only an MD5.
  std::vector<std::string> labels = {};  ///< The channels that show it; sorted.
  bool tells_labels = false;

  [[nodiscard]] bool HasLabel(const std::string& label) const;
  /// "the labels 'a' and 'b'", for messages.
  [[nodiscard]] std::string LabelWords() const;
};

class AnacondaApi {
 public:
  /// Errors: kInvalidInput (no URL).
  static Result<std::unique_ptr<AnacondaApi>> Make(Env& env, std::string api);

  /// Finds the token, and asks for the owner, so that a wrong token is reported first. Errors: any from
  /// Exchange, kRefused, kNotFound (unknown owner).
  Result<void> LogIn(const std::string& owner);
  /// nullopt: `owner` has no such file. Errors: any from Exchange::Send.
  Result<std::optional<AnacondaFile>> Find(const std::string& owner, const ArtifactId& artifact);
  /// An answer with one of `statuses`. Errors: AnswerError for any other status.
  Result<HttpAnswer> Expect(const Request& request, const std::set<long>& statuses, const std::string& doing);

  static Request JsonRequest(std::string method, std::string url, const Json& document);

  [[nodiscard]] std::string UserUrl(const std::string& owner) const;
  [[nodiscard]] std::string PackageUrl(const std::string& owner, const std::string& package) const;
  [[nodiscard]] std::string ReleaseUrl(const std::string& owner, const ArtifactId& artifact) const;
  /// `verb`: "dist", "stage", "commit", "copy/package".
  [[nodiscard]] std::string FileUrl(std::string_view verb, const std::string& owner,
                                    const ArtifactId& artifact) const;
  /// URL of a label, which the API calls channel.
  [[nodiscard]] std::string LabelUrl(const std::string& owner, const std::string& label) const;

  [[nodiscard]] const std::string& api() const { return api_; }
  [[nodiscard]] Exchange& exchange() { return exchange_; }
  [[nodiscard]] const Exchange& exchange() const { return exchange_; }

 private:
  AnacondaApi(Env& env, std::string api, std::string origin);

  std::string api_;
  Exchange exchange_;
};

}  // namespace ptpkg::publish
