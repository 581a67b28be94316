#pragma once
// Recognises index pages that ptpkg may replace or remove. Layer: index, internal to it. A directory named
// cpu or simple/torch, and an index.json in it, can be somebody else's.

#include <set>
#include <string>

#include "support/env.h"

namespace ptpkg::index {

struct GeneratedPages {
  bool root = false;                    ///< The index.json of the directory itself.
  std::set<std::string> projects = {};  ///< Directories in it whose index.json is ours.

  /// True also if only project pages exist: a killed first run or removal leaves them without a root page.
  [[nodiscard]] bool Any() const { return root || !projects.empty(); }
};

/// A root page is ours if it has kRootPageKey, or lists a project whose page is. Links are not followed. An
/// unreadable or malformed page is not ours. Errors: kIo (the directory), kCancelled.
Result<GeneratedPages> FindGeneratedPages(Env& env, const AbsPath& folder);

/// True if `page` is the index.json of the project its directory is named after, as ptpkg writes it: it has
/// files, and each of them has our mark (kWheelDirectoryKey). False if it does not exist.
bool IsGeneratedProjectPage(Env& env, const AbsPath& page);
/// True if `page` begins like ptpkg's index.html of a root or project. False if it does not exist.
bool IsGeneratedHtmlPage(Env& env, const AbsPath& page);

}  // namespace ptpkg::index
