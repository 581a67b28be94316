#pragma once
// Parses --to and --from targets. Layer: publish.

#include <memory>
#include <string>
#include <variant>

#include "publish/artifact_store.h"
#include "publish/remote.h"
#include "publish/s3/s3_bucket.h"

namespace ptpkg::publish {

struct TargetOptions {
  std::string to = {};         ///< "anaconda:OWNER[/LABEL]", "pypi:NAME", "s3://BUCKET", …: TargetForms().
  std::string server = {};     ///< Base URL in place of the usual one; "" = that.
  std::string check_url = {};  ///< Simple index of a package index; "" = its own, or UV_PUBLISH_CHECK_URL.
};

/// A directory, or a server.
using Target = std::variant<AbsPath, std::unique_ptr<Remote>>;

/// Sends no requests. Errors: kUsage naming the mistake in `to` or the option that it also needs,
/// kInvalidInput (not a URL).
Result<Target> MakeTarget(Env& env, const TargetOptions& options);

struct StoreOptions {
  std::string from = {};    ///< Current place of the artifacts, in the form of TargetOptions::to.
  std::string to = {};      ///< Destination label or channel; "" = none.
  std::string server = {};  ///< For both: see TargetOptions::server.
};

/// Sends no requests. Errors: kUsage naming the mistake, kInvalidInput (not a URL). Also kRefused if
/// artifacts at this kind of target cannot be changed, with a hint at the alternative.
Result<std::unique_ptr<Store>> MakeStore(Env& env, const StoreOptions& options);

/// The bucket of "s3://BUCKET[/PREFIX]", with the region and endpoint of AWS's own settings. `option`: where
/// `url` comes from, for errors. Errors: kUsage, and any from ReadAwsSettings.
Result<S3Place> ParseBucket(Env& env, const std::string& url, const std::string& option);

/// Each form with its meaning, for --help: "anaconda:OWNER[/LABEL]  a channel of anaconda.org".
std::string TargetForms();

}  // namespace ptpkg::publish
