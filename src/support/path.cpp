#include "support/path.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/text/text.h"

namespace ptpkg {

namespace {

Error BadPath(std::string_view text, std::string_view rule) {
  return {ErrorCode::kInvalidInput, fmt::format("'{}' is not a usable path: {}", text, rule)};
}

/// Components of `text` without empty ones and ".", ".." applied. nullopt if ".." climbs above the start
/// and `clamp` is false; with `clamp`, ".." at the top stays there, as in "/..".
std::optional<std::vector<std::string>> Normalise(std::string_view text, bool clamp) {
  std::vector<std::string> parts;
  for (std::string& part : Split(text, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(std::move(part));
    } else if (!parts.empty()) {
      parts.pop_back();
    } else if (!clamp) {
      return std::nullopt;
    }
  }
  return parts;
}

}  // namespace

Result<RelPath> RelPath::Parse(std::string_view text) {
  // Refused and not normalised: two spellings of one member would be two entries of a tree or archive.
  if (text.empty()) return BadPath(text, "it is empty");
  if (text.front() == '/') return BadPath(text, "it is absolute");
  if (text.find('\0') != std::string_view::npos) return BadPath(text, "it contains a NUL byte");
  // By hand: a tree of 16,000 files has its paths parsed twice in each run of `ptpkg dev`.
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    if (part.empty()) return BadPath(text, "it has an empty component");
    if (part == "." || part == "..") return BadPath(text, fmt::format("it has a '{}' component", part));
    begin = end + 1;
  }
  return RelPath(std::string(text));
}

RelPath RelPath::Literal(std::string_view text) {
  auto path = Parse(text);
  PTPKG_ASSERT(path.has_value());
  return *std::move(path);
}

std::string_view RelPath::Name() const {
  return std::string_view(text_).substr(text_.rfind('/') + 1);  // npos + 1 = 0
}

std::string_view RelPath::Extension() const {
  const std::string_view name = Name();
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? std::string_view() : name.substr(dot);
}

std::string RelPath::ParentText() const {
  const std::size_t slash = text_.rfind('/');
  return slash == std::string::npos ? "" : text_.substr(0, slash);
}

std::vector<std::string> RelPath::Components() const { return Split(text_, '/'); }

RelPath RelPath::operator/(const RelPath& tail) const { return RelPath(text_ + "/" + tail.text_); }

RelPath RelPath::operator/(std::string_view tail) const { return *this / Literal(tail); }

bool RelPath::IsWithin(const RelPath& folder) const {
  // With the '/': "lib64/x" is not within "lib".
  return text_ == folder.text_ || text_.starts_with(folder.text_ + "/");
}

Result<AbsPath> AbsPath::Parse(std::string_view text) {
  if (text.empty()) return BadPath(text, "it is empty");
  if (text.front() != '/') return BadPath(text, "it is not absolute");
  if (text.find('\0') != std::string_view::npos) return BadPath(text, "it contains a NUL byte");
  // ".." is resolved as text. Callers use Fs::RealPath where symlinks matter.
  return AbsPath("/" + Join(*Normalise(text, /*clamp=*/true), "/"));
}

Result<AbsPath> AbsPath::Resolve(const AbsPath& base, std::string_view text) {
  if (text.empty()) return BadPath(text, "it is empty");
  if (text.front() == '/') return Parse(text);
  return Parse(base.text_ + "/" + std::string(text));
}

AbsPath AbsPath::Literal(std::string_view text) {
  auto path = Parse(text);
  PTPKG_ASSERT(path.has_value());
  return *std::move(path);
}

std::string_view AbsPath::Name() const { return std::string_view(text_).substr(text_.rfind('/') + 1); }

AbsPath AbsPath::Parent() const {
  const std::size_t slash = text_.rfind('/');
  return AbsPath(slash == 0 ? "/" : text_.substr(0, slash));
}

AbsPath AbsPath::operator/(const RelPath& tail) const {
  return AbsPath(text_ == "/" ? "/" + tail.str() : text_ + "/" + tail.str());
}

AbsPath AbsPath::operator/(std::string_view tail) const { return *this / RelPath::Literal(tail); }

bool AbsPath::IsWithin(const AbsPath& folder) const {
  return text_ == folder.text_ || folder.text_ == "/" || text_.starts_with(folder.text_ + "/");
}

Result<RelPath> AbsPath::RelativeTo(const AbsPath& folder) const {
  if (text_ == folder.text_ || !IsWithin(folder)) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not below '{}'", text_, folder.text_));
  }
  return RelPath::Parse(std::string_view(text_).substr(folder.text_ == "/" ? 1 : folder.text_.size() + 1));
}

std::optional<std::string> ResolveInTree(std::string_view base, std::string_view relative) {
  const auto parts = Normalise(fmt::format("{}/{}", base, relative), /*clamp=*/false);
  if (!parts) return std::nullopt;
  return Join(*parts, "/");
}

std::string RelativeFrom(std::string_view from, std::string_view to) {
  const std::vector<std::string> source = *Normalise(from, /*clamp=*/true);
  const std::vector<std::string> target = *Normalise(to, /*clamp=*/true);
  const auto [at_source, at_target] =
      std::mismatch(source.begin(), source.end(), target.begin(), target.end());
  // Up from `from` to the common directory, then down to `to`.
  std::vector<std::string> parts(static_cast<std::size_t>(source.end() - at_source), "..");
  parts.insert(parts.end(), at_target, target.end());
  return parts.empty() ? "." : Join(parts, "/");
}

}  // namespace ptpkg
