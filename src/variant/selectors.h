#pragma once
// Line selectors of conda_build_config.yaml: `- gcc  # [linux]`. Layer: variant.
// Source: conda-build's documentation, "Preprocessing selectors", and select_lines() of its metadata.py.

#include <map>
#include <string>
#include <string_view>

#include "support/result.h"

namespace ptpkg::variant {

/// `text` with every line emptied whose selector is false on `target_platform`. Line numbers stay. A selector
/// sees conda-build's names of platforms (linux, unix, x86_64, linux64 …) and `os.environ`. Any other
/// name is false, like in conda-build. `file` is used in messages. Errors: kInvalidInput with a span for a
/// selector that is not an expression.
Result<std::string> ApplySelectors(std::string_view text, const std::string& file,
                                   const std::string& target_platform,
                                   const std::map<std::string, std::string>& environment);

}  // namespace ptpkg::variant
