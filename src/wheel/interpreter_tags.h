#pragma once
// Decides which interpreters accept a tag. Layer: wheel. Source: PEP 425, PEP 384, PEP 703, PEP 803;
// packaging/tags.py, which pip and installers of its kind ask.

#include <optional>
#include <string>
#include <vector>

#include "wheel/metadata/requirement.h"
#include "wheel/tag.h"

namespace ptpkg::wheel {

// CPython 3.16 is under development, and one comes each year: this program shall judge packages of the next
// years. The last Python 2 is 2.7. No series has had more releases than 3.9.
inline constexpr int kNewestOf3 = 20;
inline constexpr int kNewestOf2 = 7;
inline constexpr int kMostReleases = 40;

/// Minor versions of Python, both ends included.
struct PythonRange {
  int major = 3;
  int first = 0;
  int last = 0;

  bool operator==(const PythonRange&) const = default;
};

/// The Pythons that take a plain tag; nullopt: no interpreter does. An implementation other than CPython,
/// PyPy and GraalPy may have any ABI. Only "any" counts of the platform: no interpreter takes it with an ABI.
std::optional<PythonRange> PythonsOf(const Tag& plain);

struct TagVerdict {
  std::vector<PythonRange> pythons = {};  ///< Pythons of the plain tags that some interpreter takes.
  std::vector<std::string> idle = {};     ///< Python and ABI tags of the set that occur in none of these.
};
TagVerdict JudgeTag(const Tag& tag);

/// True if some release of a Python in `range` satisfies `specifiers`, in the sense of Requires-Python.
bool HasRelease(const PythonRange& range, const Specifiers& specifiers);

}  // namespace ptpkg::wheel
