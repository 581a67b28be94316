#pragma once
// Finds tokens like the ecosystem's own clients. Layer: publish. docs/publishing.md lists them. No message
// shows a token.

#include <map>
#include <optional>
#include <string>

#include "support/env.h"
#include "support/secret.h"

namespace ptpkg::publish {

/// Token for anaconda.org's API at `api`. Searched in this order: BINSTAR_API_TOKEN, ANACONDA_API_TOKEN,
/// rattler-build's ANACONDA_API_KEY, `<quoted api>.token` in the token directories of anaconda-client
/// (BINSTAR_CONFIG_DIR, the user's data directory, ~/.continuum/anaconda-client/tokens), the keyring. Errors:
/// kRefused with a hint when there is none, kUsage for one of several lines, kIo.
Result<Secret> AnacondaToken(Env& env, const std::string& api);

/// A token for a CI job that the server at the URL trusts. nullopt: this is not such a job, or the server
/// does not support these tokens.
using TrustedToken = Result<std::optional<Secret>>(Env&, const std::string& url);

/// Token for servers without credential files of their own: the first of `variables` that is set, then
/// `trusted`, unless it is null, then the keyring. Errors: as AnacondaToken, any from `trusted`.
Result<Secret> TokenFrom(Env& env, const std::vector<std::string>& variables, const std::string& url,
                         TrustedToken* trusted);

struct Login {
  std::string user;
  Secret password;
  bool minted = false;  ///< From trusted publishing, for this run alone: RevokeTrustedToken.
};

/// One section of ~/.pypirc.
struct PypircSection {
  std::string repository = {};  ///< URL; "" = not said.
  std::optional<std::string> user = {};
  std::optional<Secret> password = {};
};

/// Section `name` of ~/.pypirc, or of the file that TWINE_CONFIG_FILE names. nullopt: no such section or
/// file. Values of the section [DEFAULT] count where the section has none. Source: PyPA specification
/// ".pypirc", as twine 7 reads it. User name and password can have several lines, which no server gets.
/// Errors: as ReadIniSection.
Result<std::optional<PypircSection>> ReadPypirc(Env& env, const std::string& name);

/// Login for the index `name` at `url`. Tried in this order: UV_PUBLISH_TOKEN, UV_PUBLISH_USERNAME and
/// _PASSWORD, TWINE_USERNAME and TWINE_PASSWORD, ~/.pypirc, trusted publishing where the CI offers it, the
/// keyring. Trusted publishing uses ACTIONS_ID_TOKEN_REQUEST_URL and _TOKEN on GitHub, PYPI_ID_TOKEN on
/// GitLab. Errors: as AnacondaToken, any from ReadPypirc; kUsage for a user name or password of .pypirc that
/// has several lines.
Result<Login> IndexLogin(Env& env, const std::string& name, const std::string& url);

}  // namespace ptpkg::publish
