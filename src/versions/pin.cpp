// Turns a version into the constraint of a pin: '>=' with the kept segments, '<' with the last kept segment
// counted up (pin_subpackage and pin_compatible, CEP 39).
// The upper bound ends in ".0a0" or "a", so that pre-releases of the next version stay outside: 2.0rc1 sorts
// below 2.0, and "<2.0" alone would admit it.
// Segments keep their separators, because joining them by dots would change a version like 1.2_3.

#include "versions/pin.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <span>
#include <vector>

#include "support/text/text.h"
#include "versions/conda_version.h"

namespace ptpkg::versions {
namespace {

/// Number of segments of a bound "x.x.x", 0 if it is not of that form.
std::size_t SegmentsOfBound(const std::string& bound) {
  const std::vector<std::string> parts = Split(bound, '.');
  return std::all_of(parts.begin(), parts.end(), [](const std::string& part) { return part == "x"; })
             ? parts.size()
             : 0;
}

/// Text that is not of that form is a version itself, and begins with a digit ("x.y" is neither).
bool IsVersionBound(const std::string& bound) {
  return bound.front() >= '0' && bound.front() <= '9' && Version::Parse(bound).has_value();
}

Error BadBound(const std::string& bound) {
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a bound of a pin", bound))
      .WithHint("write 'x.x' with as many segments as the bound keeps, or a version");
}

/// "1.2_3" → "1", ".2", "_3": the segments of Version, each but the first with its separator in front. As
/// there, a '_' at the end belongs to the last one.
std::vector<std::string> SegmentsOf(std::string_view release) {
  std::vector<std::string> segments(1);
  for (std::size_t i = 0; i < release.size(); ++i) {
    const bool separates =
        release[i] == '.' || ((release[i] == '_' || release[i] == '-') && i + 1 < release.size());
    if (separates) segments.emplace_back();
    segments.back() += release[i];
  }
  return segments;
}

/// "9d" → "10a", ".4" → ".5.0a0": the next segment, marked so that its own pre-releases stay outside.
Result<std::string> CountUp(std::string_view segment, const std::string& version) {
  const std::size_t begin = segment.find_first_of("._-") == 0 ? 1 : 0;
  const std::string_view separator = segment.substr(0, begin);
  segment.remove_prefix(begin);
  const std::size_t digits = std::min(segment.find_first_not_of("0123456789"), segment.size());
  std::uint32_t number = 0;
  const auto read = std::from_chars(segment.data(), segment.data() + digits, number);
  // Dates are the longest numbers in use (20251231); a longer one would be no version of CEP 33 when counted
  // up.
  constexpr std::uint32_t kMost = 0x7FFFFFFE;
  if (digits == 0 || read.ec != std::errc() || number > kMost) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("segment '{}' of version '{}' cannot be incremented", segment, version))
        .WithHint("give upper_bound as a version, or upper_bound=none");
  }
  return fmt::format("{}{}{}", separator, number + 1, digits == segment.size() ? ".0a0" : "a");
}

}  // namespace

Result<std::string> PinConstraint(const std::string& version, const PinBounds& bounds) {
  if (const Result<Version> parsed = Version::Parse(version); !parsed) return Error(parsed.error());
  const std::string release = version.substr(0, version.find('+'));
  const std::size_t epoch_end = release.find('!');
  const std::string epoch = epoch_end == std::string::npos ? "" : release.substr(0, epoch_end + 1);
  std::vector<std::string> segments = SegmentsOf(std::string_view(release).substr(epoch.size()));

  std::vector<std::string> clauses;
  if (!bounds.lower.empty()) {
    const std::size_t kept = SegmentsOfBound(bounds.lower);
    if (kept == 0 && !IsVersionBound(bounds.lower)) return BadBound(bounds.lower);
    const std::span<const std::string> all(segments);
    std::string lower = bounds.lower;
    // A local version ("+cu121") belongs to the whole version, not to its first segments.
    if (kept >= segments.size()) {
      lower = version;
    } else if (kept > 0) {
      lower = epoch + Join(all.first(kept), "");
    }
    clauses.push_back(">=" + lower);
  }
  if (!bounds.upper.empty()) {
    const std::size_t kept = SegmentsOfBound(bounds.upper);
    if (kept == 0 && !IsVersionBound(bounds.upper)) return BadBound(bounds.upper);
    std::string upper = bounds.upper;
    if (kept > 0) {
      segments.resize(kept, ".0");
      PTPKG_TRY(segments.back(), CountUp(segments.back(), version));
      upper = epoch + Join(segments, "");
    }
    clauses.push_back("<" + upper);
  }
  return Join(clauses, ",");
}

}  // namespace ptpkg::versions
