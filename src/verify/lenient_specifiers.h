#pragma once
// Conditions on versions that PEP 440 does not allow, and uv mends. Layer: verify.
// Source: uv 0.13.8 (uv-pypi-types, lenient_requirement.rs), asked by tests/peers/wheel_targets.py.

#include <string>
#include <string_view>

namespace ptpkg::verify {

/// A Requires-Dist or Requires-Python value as uv reads it when it does not parse: ".*" behind an order goes
/// (">=3.8.*"), missing commas and dots come ("<3>=2", "!=3.0*"), quotes around versions go. What only single
/// old releases have (">dev", "!=~5.0") is left. The marker stays as it is.
std::string AsUvReads(std::string_view text);

}  // namespace ptpkg::verify
