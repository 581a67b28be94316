#pragma once
// Where a wheel can be installed, read from its tags, in conda's terms. Layer: convert.
// Sources: PEP 425, PEP 600; CEP 26 (subdirs), CEP 30 (virtual packages).

#include <string>
#include <vector>

#include "wheel/marker.h"
#include "wheel/wheel.h"

namespace ptpkg::convert {

struct WheelTarget {
  bool noarch = false;
  std::string python;                ///< "3.11"
  std::string site_packages;         ///< "lib/python3.11/site-packages"; noarch: "site-packages"
  std::string subdir;                ///< "linux-64", "linux-aarch64", "noarch"
  std::string build_prefix;          ///< "py311", "py"
  std::vector<std::string> depends;  ///< python, and __glibc for a manylinux tag
  wheel::MarkerEnvironment markers;
};

/// "3.11" of "--python 3.11" and "--python 3.11.7". Errors: kUsage for anything else.
Result<std::string> PythonOption(std::string_view python);

/// `python`: as PythonOption takes it; used where the tags fit several versions (abi3,
/// py3-none-any).
/// Errors: those of PythonOption; kUnsupported for a platform that is neither any nor linux,
/// and for an interpreter other than CPython; kInvalidInput when `python` does not satisfy an abi3 tag, or no
/// patch release of it Requires-Python.
Result<WheelTarget> TargetOf(const wheel::WheelInfo& info, const std::string& python);

}  // namespace ptpkg::convert
