#pragma once
// Groups wheels by backend for separate simple indexes. Layer: index. IndexWheels (index.h) writes these
// indexes. Source: the names are those of uv's --torch-backend and of the directories below
// download.pytorch.org/whl.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index/simple_index/simple_index_pages.h"

namespace ptpkg::index {

/// cpu, xpu, cu and 2 or 3 digits (cu92, cu130), rocm and 2 or 3 numbers (rocm6.4, rocm6.2.4); each also with
/// the label of a slice behind it, which may stand alone: cu130.sm90, sm80.sm86.
bool IsBackend(std::string_view name);

/// The backend that the local version of `version` begins with, and the label of a slice at its end: cu130 of
/// 2.9.0+cu130 and of 2.9.0+cu130.with.cudnn, rocm6.4 of 2.9.0+rocm6.4, cu130.sm90 of 2.9.0+cu130.sm90.
/// nullopt: it has neither.
std::optional<std::string> BackendOf(const wheel::Version& version);

/// Wheels of an index by project, PEP 503 normal form.
using Projects = std::map<std::string, std::vector<IndexedWheel>>;

struct BackendDirectories {
  std::map<std::string, Projects> roots = {};  ///< By backend. Each has a wheel of its own.
  std::vector<IndexedWheel> rootless = {};     ///< In none of them, in the order of the input.
};

/// A wheel is of the backend that its directory names, or else its local version. One that names none is in
/// every root if its version has no local part and no wheel of its project is of a backend, because pip and
/// uv look for what the others depend on in the same root; else it is in none: the newer torch from another
/// place would be taken for the one of the backend. The root of slices, cu130.sm90, also has what cu130 has:
/// a slice counts as newer than its whole wheel, which has code for its GPUs too. No other root has slices,
/// which would be taken for any GPU.
BackendDirectories GroupByBackend(const std::vector<IndexedWheel>& wheels);

}  // namespace ptpkg::index
