#pragma once
// Build hash and the version prefix of build strings. Layer: variant.
// Matches: rattler-build (stage1/hash.rs) and conda-build (metadata.py, hash_dependencies); byte by byte in
// docs/formats/build-string.md.

#include <map>
#include <string>

#include "recipe/document/value.h"
#include "support/text/json_fwd.h"

namespace ptpkg::variant {

/// The first seven hex digits of the SHA-1 of `input` as Python's json.dumps(sort_keys=True) writes it.
/// REQUIRES: `input` is an object.
std::string BuildHash(const Json& input);

/// "np126py311" of numpy 1.26 and python 3.11: for numpy, python, perl, lua and r_base, in this order, those
/// that are in `used`, with the first two segments of their version (perl: three). "py" for a noarch
/// Python package whatever is used.
std::string BuildStringPrefix(const std::map<std::string, recipe::Value>& used, bool noarch_python);

}  // namespace ptpkg::variant
