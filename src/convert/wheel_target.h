#pragma once
// Derives conda targets from wheel tags. Layer: convert. Sources: PEP 425, PEP 600, PEP 703 (free-threaded);
// conda-forge's python_abi; CEP 20 (abi3), CEP 26 (subdirs), CEP 30 (virtual packages).

#include <string>
#include <vector>

#include "wheel/metadata/marker.h"
#include "wheel/wheel.h"

namespace ptpkg::convert {

struct WheelTarget {
  bool noarch = false;  ///< True for a noarch python package; `subdir` may still name a machine.
  std::string python;   ///< "3.11"; of several, the first.
  std::string
      site_packages;   ///< "lib/python3.11/site-packages", "lib/python3.13t/…"; noarch: "site-packages"
  std::string subdir;  ///< "linux-64", "linux-aarch64", "noarch"
  std::string build_prefix;  ///< "py311", "cp313t", "py", "abi3"
  /// python; what keeps free-threaded Pythons from the others' packages; __glibc for a manylinux tag
  std::vector<std::string> depends;
  /// Environments that can install it: one, or for noarch one for each Python that it admits.
  std::vector<wheel::MarkerEnvironment> markers;
};

/// "3.11" of "--python 3.11" and "--python 3.11.7". Errors: kUsage for anything else.
Result<std::string> PythonOption(std::string_view python);

/// `python`: as PythonOption takes it, for tags that fit several versions: abi3, py3-none with binaries. "":
/// every Python that the tags and Requires-Python admit. Then a wheel with binaries is a noarch python
/// package in the subdir of its machine (CEP 20), whose files the installer links to the site-packages of its
/// Python; so is one for several Pythons without their ABI (cp310.cp311-none). Of a wheel with several tags,
/// those of CPython 3 under Linux with glibc count, and free-threaded ones only where there are no others.
/// Errors: those of PythonOption; kUnsupported when there are none, with the first tag or its ABI (cp313d,
/// abi3t); kInvalidInput when `python` does not satisfy the tags, when it is "" and several tags have an ABI
/// of their own (cp310.cp311-cp310.cp311), or when no patch release of it satisfies Requires-Python; also for
/// a malformed Requires-Python, and one that leaves no Python.
Result<WheelTarget> TargetOf(const wheel::WheelInfo& info, const std::string& python);

}  // namespace ptpkg::convert
