#pragma once
// Trusted publishing with CI identity tokens. Layer: publish. Source: PyPI's documentation of trusted
// publishers; uv and pypa/gh-action-pypi-publish take the same steps.

#include <optional>

#include "support/env.h"
#include "support/secret.h"

namespace ptpkg::publish {

/// A short-lived token of the index at `upload_url`. nullopt where no CI offers an identity, over http:, and
/// for an index without trusted publishing. Asks the index for its audience, the CI for an identity with that
/// audience, and the index for the token. Errors: any from Exchange, kRefused (the index does not know the
/// identity).
Result<std::optional<Secret>> TrustedPublishingToken(Env& env, const std::string& upload_url);

/// Why the CI of this job is not asked for an identity: nullopt, or a kRefused that names its URL, which is
/// neither https: nor on this machine.
std::optional<Error> WhyNoIdentity(const Env& env);

/// Revokes such a token of the index at `upload_url` before it expires, also after an interrupt. Nothing is
/// lost if the index does not support this. Source: PyPI's POST /_/oidc/burn-token (pypi/warehouse, pull
/// request 20197), as uv sends it. Errors: any from Exchange, kRefused; the token then expires by itself.
Result<void> RevokeTrustedToken(Env& env, const std::string& upload_url, const Secret& token);

/// Token of a conda channel's server, in prefix.dev's scheme: the host's name is the identity's audience, and
/// the server answers with the token itself. nullopt as above. On GitLab the variable is PREFIX_DEV_ID_TOKEN
/// (other hosts likewise). Source: rattler's trusted_publishing.rs. No known server can revoke such a token.
/// Errors: as TrustedPublishingToken.
Result<std::optional<Secret>> TrustedChannelToken(Env& env, const std::string& server);

}  // namespace ptpkg::publish
