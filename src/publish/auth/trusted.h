#pragma once
// Trusted publishing with CI identity tokens. Layer: publish. Source: PyPI's documentation of trusted
// publishers; uv and pypa/gh-action-pypi-publish take the same steps.

#include <optional>

#include "support/env.h"
#include "support/secret.h"

namespace ptpkg::publish {

/// A token of the index at `upload_url` that is good for some minutes. nullopt where no CI offers an
/// identity, over http:, and of an index without trusted publishing. Asks the index for its audience, the CI
/// for an identity with that audience, and the index for the token. Errors: kRefused (the index does not know
/// the identity), those of Exchange.
Result<std::optional<Secret>> TrustedPublishingToken(Env& env, const std::string& upload_url);

/// Ends such a token of the index at `upload_url` now, ahead of its minutes, also after an interrupt. An
/// index that cannot do that is none the worse. Source: PyPI's POST /_/oidc/burn-token (pypi/warehouse, pull
/// request 20197), as uv sends it. Errors: kRefused, those of Exchange: it ends by itself.
Result<void> RevokeTrustedToken(Env& env, const std::string& upload_url, const Secret& token);

/// Token of a conda channel's server, in prefix.dev's scheme: the host's name is the identity's audience,
/// and the server answers with the token itself. nullopt as above. On GitLab the variable is
/// PREFIX_DEV_ID_TOKEN (of another host likewise). Source: rattler's trusted_publishing.rs. No server is
/// known that ends such a token ahead of its time. Errors: those of TrustedPublishingToken.
Result<std::optional<Secret>> TrustedChannelToken(Env& env, const std::string& server);

}  // namespace ptpkg::publish
