#pragma once
// Trusted publishing: a token of the index for an identity that the CI vouches for. Layer: publish.
// Source: PyPI's documentation of trusted publishers; uv and pypa/gh-action-pypi-publish take the same steps.

#include <optional>

#include "support/env.h"
#include "support/secret.h"

namespace ptpkg::publish {

/// A token of the index at `upload_url` that is good for some minutes. nullopt where no CI offers an
/// identity, over http:, and of an index without trusted publishing. Asks the index for its audience, the CI
/// for an identity with that audience, and the index for the token. Errors: kRefused (the index does not know
/// the identity), those of Exchange.
Result<std::optional<Secret>> TrustedPublishingToken(Env& env, const std::string& upload_url);

}  // namespace ptpkg::publish
