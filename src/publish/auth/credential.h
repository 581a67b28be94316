#pragma once
// Finds tokens like the ecosystem's own clients. Layer: publish. docs/publishing.md lists them. No message
// shows a token.

#include <map>
#include <optional>
#include <string>

#include "support/env.h"
#include "support/secret.h"

namespace ptpkg::publish {

/// Token for anaconda.org's API at `api`: BINSTAR_API_TOKEN, ANACONDA_API_TOKEN, ANACONDA_API_KEY (that of
/// rattler-build), then `<quoted api>.token` in the directories where anaconda-client keeps tokens
/// (BINSTAR_CONFIG_DIR, the user's data directory, ~/.continuum/anaconda-client/tokens), then the keyring.
/// Errors: kRefused with a hint when there is none; kIo.
Result<Secret> AnacondaToken(Env& env, const std::string& api);

/// A token for a CI job that the server at the URL trusts; nullopt: it is none, or the server knows no such.
using TrustedToken = Result<std::optional<Secret>>(Env&, const std::string& url);

/// The first of `variables` that is set, then `trusted`, unless it is null, then the keyring, for servers
/// without files of their own. Errors: those of AnacondaToken; those of `trusted`.
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

/// ~/.pypirc, or what TWINE_CONFIG_FILE names; nullopt when it has no such section, or is not there. Source:
/// PyPA specification ".pypirc". Errors: kInvalidInput at the line that is none.
Result<std::optional<PypircSection>> ReadPypirc(Env& env, const std::string& name);

/// Login for the index `name` at `url`: UV_PUBLISH_TOKEN; UV_PUBLISH_USERNAME and _PASSWORD;
/// TWINE_USERNAME and TWINE_PASSWORD; ~/.pypirc; trusted publishing where the CI offers it (GitHub:
/// ACTIONS_ID_TOKEN_REQUEST_URL and _TOKEN; GitLab: PYPI_ID_TOKEN); the keyring. Errors: as AnacondaToken.
Result<Login> IndexLogin(Env& env, const std::string& name, const std::string& url);

}  // namespace ptpkg::publish
