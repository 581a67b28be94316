#pragma once
// Bash scripts of CI jobs, shared by all services. Layer: ci. No value of a recipe or a flag stands in these
// texts. Values come in variables of the environment, several words as one variable with a line a word, so
// that nothing in them is ever read as code.
//
// | variable | holds |
// |---|---|
// | PTPKG_IMAGE | the image of the job, if a variable of the service names it |
// | PTPKG_ARGUMENTS | words of `ptpkg build` |
// | PTPKG_TARGET | words of `ptpkg publish` |
// | PTPKG_FOLDERS | how many output directories there must be |
// | PTPKG_CI | words of `ptpkg ci` |
// | PTPKG_CACHE_SIZE | of `ptpkg cache clean` |

#include <string>
#include <string_view>

namespace ptpkg::ci {

/// Reports what is missing where no ptpkg is installed, or an image that PTPKG_IMAGE names without digest.
[[nodiscard]] std::string LookForPtpkg();
/// The workflow is what `ptpkg ci` would write today.
[[nodiscard]] std::string CompareWorkflow();
/// Builds, checks and tests one variant into `output`, an expression of bash within double quotes.
[[nodiscard]] std::string Build(std::string_view output);
/// Puts the packages of the output directories in `folder` into `output`, where a build finds them.
[[nodiscard]] std::string CollectEarlierPackages(std::string_view folder, std::string_view output);
[[nodiscard]] std::string CleanCache();
/// Publishes what the output directories in `folder` list, all of them at once. `dry`: only says what it
/// would do.
[[nodiscard]] std::string Publish(std::string_view folder, bool dry);

}  // namespace ptpkg::ci
