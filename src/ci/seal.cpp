#include "ci/seal.h"

#include "support/digest/hash.h"

namespace ptpkg::ci {
namespace {

constexpr std::string_view kOpening = "# ptpkg ci, sha256 of the lines below: ";

}  // namespace

std::string Sealed(std::string_view body) {
  return std::string(kOpening) + HashText(body).Hex() + "\n" + std::string(body);
}

Origin OriginOf(std::string_view text) {
  if (!text.starts_with(kOpening)) return Origin::kForeign;
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return Origin::kEdited;
  return Sealed(text.substr(end + 1)) == text ? Origin::kOurs : Origin::kEdited;
}

}  // namespace ptpkg::ci
