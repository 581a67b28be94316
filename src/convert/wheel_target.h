#pragma once
// Derives conda targets from wheel tags. Layer: convert. Sources: PEP 425, PEP 600, PEP 703 (free-threaded),
// conda-forge's python_abi, CEP 20 (abi3), CEP 26 (subdirs), CEP 30 (virtual packages).

#include <string>
#include <vector>

#include "wheel/metadata/marker.h"
#include "wheel/wheel.h"

namespace ptpkg::convert {

struct WheelTarget {
  bool noarch = false;  ///< True for a noarch python package; `subdir` can still name a machine.
  std::string python;   ///< "3.11"; the first if there are several.
  std::string
      site_packages;   ///< "lib/python3.11/site-packages", "lib/python3.13t/…"; noarch: "site-packages"
  std::string subdir;  ///< "linux-64", "linux-aarch64", "noarch"
  std::string build_prefix;  ///< "py311", "cp313t", "py", "abi3"
  /// python, a dependency that separates free-threaded Pythons from the others, and __glibc for a manylinux
  /// tag
  std::vector<std::string> depends;
  /// Environments that can install it: one, or for noarch one for each Python that it allows.
  std::vector<wheel::MarkerEnvironment> markers;
};

/// "3.11" for "--python 3.11" and "--python 3.11.7". Errors: kUsage for anything else.
Result<std::string> PythonOption(std::string_view python);

/// `python`: the value of PythonOption, for tags that fit several versions (abi3, py3-none with binaries).
/// "": every Python that the tags and Requires-Python allow. Then a wheel with binaries is a noarch python
/// package in the subdir of its machine (CEP 20). The installer links its files to the site-packages of its
/// Python. A wheel for several Pythons without their ABI (cp310.cp311-none) is such a package too. If a wheel
/// has several tags, only tags of CPython 3 for Linux with glibc count, and free-threaded ones only if there
/// are no others. Errors:
/// - kUnsupported: no tag counts; names the first tag or its ABI (cp313d, abi3t)
/// - kInvalidInput: `python` does not satisfy the tags, or no patch release of it satisfies Requires-Python
/// - kInvalidInput: `python` is "" and several tags have an ABI of their own (cp310.cp311-cp310.cp311)
/// - kInvalidInput: a Requires-Python that is malformed or leaves no Python
/// - as PythonOption
Result<WheelTarget> TargetOf(const wheel::WheelInfo& info, const std::string& python);

}  // namespace ptpkg::convert
