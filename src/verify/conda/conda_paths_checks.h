#pragma once
// Compares info/paths.json with the payload. Layer: verify. Source: CEP 34.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "conda/package.h"
#include "conda/tree_writer.h"
#include "model/finding.h"
#include "support/env.h"

namespace ptpkg::verify {

/// Fix for findings in which info/ and the payload disagree.
inline constexpr std::string_view kRebuildInfo = "rebuild the package, so that info/ matches its content";

/// Unpacked files below `folder`, by path.
struct CondaPayload {
  const AbsPath& folder;
  const std::map<std::string, conda::WrittenFile>& files;
};

/// Checks each entry of paths.json against its file, and that every file has an entry. Then replaces
/// prefix placeholders in the unpacked files as an installer does, so that later checks see installed files.
/// Errors: kIo; everything else is a finding.
Result<void> CheckCondaPaths(Env& env, const conda::PackageInfo& info, const CondaPayload& payload,
                             std::vector<Finding>& findings);

}  // namespace ptpkg::verify
