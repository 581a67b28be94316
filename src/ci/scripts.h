#pragma once
// Bash scripts of CI jobs, shared by all services. Layer: ci. These texts contain no values of recipes or
// flags. Values come in environment variables, several words as one variable with one word per line, so the
// shell never runs them as code.
//
// - PTPKG_IMAGE: the image of the job, if a variable of the service names it
// - PTPKG_ARGUMENTS: words of `ptpkg build`
// - PTPKG_TARGET: words of `ptpkg publish`
// - PTPKG_FOLDERS: the required number of output directories
// - PTPKG_CI: words of `ptpkg ci`
// - PTPKG_CACHE_SIZE: value for `ptpkg cache clean`

#include <string>
#include <string_view>

namespace ptpkg::ci {

/// Fails with a message if ptpkg is not installed, or if PTPKG_IMAGE names an image without digest.
[[nodiscard]] std::string LookForPtpkg();
/// Fails unless the workflow is the one that `ptpkg ci` would write today.
[[nodiscard]] std::string CompareWorkflow();
/// Builds, checks and tests one variant into `output`, a bash expression within double quotes.
[[nodiscard]] std::string Build(std::string_view output);
/// Puts the packages of the output directories in `folder` into `output`, where a build finds them.
[[nodiscard]] std::string CollectEarlierPackages(std::string_view folder, std::string_view output);
[[nodiscard]] std::string CleanCache();
/// Publishes everything that the output directories in `folder` list, all at once. `dry`: only prints what it
/// would do.
[[nodiscard]] std::string Publish(std::string_view folder, bool dry);

}  // namespace ptpkg::ci
