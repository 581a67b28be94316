#pragma once
// Groups wheels by backend for separate simple indexes. Layer: index. IndexWheels (index.h) writes these
// indexes. Source: the names match uv's --torch-backend and the directories below download.pytorch.org/whl.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index/simple_index/simple_index_pages.h"

namespace ptpkg::index {

/// cpu, xpu, cu and 2 or 3 digits (cu92, cu130), rocm and 2 or 3 numbers (rocm6.4, rocm6.2.4). Each can have
/// the label of a slice behind it, and the label can also occur alone: cu130.sm90, sm80.sm86.
bool IsBackend(std::string_view name);

/// The backend that the local version of `version` begins with, and the label of a slice at its end: cu130 of
/// 2.9.0+cu130 and of 2.9.0+cu130.with.cudnn, rocm6.4 of 2.9.0+rocm6.4, cu130.sm90 of 2.9.0+cu130.sm90.
/// nullopt: it has neither.
std::optional<std::string> BackendOf(const wheel::Version& version);

/// Wheels of an index by project, PEP 503 normal form.
using Projects = std::map<std::string, std::vector<IndexedWheel>>;

struct BackendDirectories {
  std::map<std::string, Projects> roots = {};  ///< By backend. Each has a wheel of its backend.
  std::vector<IndexedWheel> rootless = {};     ///< In none of them, in the order of the input.
};

/// A wheel belongs to the backend that its directory names, or else its local version. Wheels without a
/// backend:
/// - Their version has no local part and no wheel of their project has a backend: they are in every root,
///   because pip and uv look for dependencies in the same root.
/// - Otherwise they are in no root: installers would take a newer torch from elsewhere for the backend's.
///
/// The root of slices, cu130.sm90, also has the wheels of cu130: a slice counts as newer than its whole
/// wheel, which has code for its GPUs too. No other root has slices, because installers would use them for
/// any GPU.
BackendDirectories GroupByBackend(const std::vector<IndexedWheel>& wheels);

}  // namespace ptpkg::index
