#pragma once
// Absolute and relative path types. Layer: support. AbsPath names a place on this machine, RelPath a member
// of a tree or archive. A RelPath cannot leave its tree: it holds no "..", no ".", no empty component, no
// leading '/', no NUL.

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg {

class RelPath {
 public:
  /// Errors: kInvalidInput naming the text and the rule that it breaks. A trailing '/' is an error.
  static Result<RelPath> Parse(std::string_view text);
  /// For literals in ptpkg's code. REQUIRES: Parse(text) succeeds.
  static RelPath Literal(std::string_view text);

  [[nodiscard]] const std::string& str() const { return text_; }
  [[nodiscard]] std::string_view Name() const;       ///< Last component.
  [[nodiscard]] std::string_view Extension() const;  ///< ".so" of "a/b.so"; "" if none.
  [[nodiscard]] std::string ParentText() const;      ///< "" for a top-level name.
  [[nodiscard]] std::vector<std::string> Components() const;
  [[nodiscard]] RelPath operator/(const RelPath& tail) const;
  [[nodiscard]] RelPath operator/(std::string_view tail) const;  ///< REQUIRES: `tail` parses.
  /// True if this is `folder` or lies below it.
  [[nodiscard]] bool IsWithin(const RelPath& folder) const;

  auto operator<=>(const RelPath&) const = default;  // byte-wise
  bool operator==(const RelPath&) const = default;

 private:
  explicit RelPath(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

class AbsPath {
 public:
  /// Normalises "//", "." and ".." lexically (no symlink is followed). Errors: kInvalidInput if
  /// `text` is empty, does not begin with '/' or holds a NUL.
  static Result<AbsPath> Parse(std::string_view text);
  /// `text` if absolute, else `base`/`text`, normalised.
  static Result<AbsPath> Resolve(const AbsPath& base, std::string_view text);
  static AbsPath Literal(std::string_view text);

  [[nodiscard]] const std::string& str() const { return text_; }
  [[nodiscard]] const char* c_str() const { return text_.c_str(); }
  [[nodiscard]] std::string_view Name() const;  ///< "" for "/".
  [[nodiscard]] AbsPath Parent() const;         ///< "/" for "/".
  [[nodiscard]] AbsPath operator/(const RelPath& tail) const;
  [[nodiscard]] AbsPath operator/(std::string_view tail) const;  ///< REQUIRES: a valid RelPath.
  [[nodiscard]] bool IsWithin(const AbsPath& folder) const;
  /// The path below `folder`. Errors: kInvalidInput if this is not strictly below it.
  [[nodiscard]] Result<RelPath> RelativeTo(const AbsPath& folder) const;

  auto operator<=>(const AbsPath&) const = default;
  bool operator==(const AbsPath&) const = default;

 private:
  explicit AbsPath(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// Lexical normalisation of `base`/`relative` where `base` is a directory inside a tree ("" = root)
/// and `relative` may hold "." and "..". nullopt when it climbs above the root. Returns "" for the
/// root itself. Used for symlink targets and $ORIGIN entries.
std::optional<std::string> ResolveInTree(std::string_view base, std::string_view relative);

/// "../../lib" style path that leads from directory `from` to `to`; both tree-relative, "" = root.
/// Returns "." when equal.
std::string RelativeFrom(std::string_view from, std::string_view to);

}  // namespace ptpkg
