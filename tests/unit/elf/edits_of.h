#pragma once
// Edits that several tests make, and what a file says of itself afterwards.

#include <string>
#include <utility>

#include "elf/edit.h"
#include "elf/model.h"
#include "support/fs.h"
#include "support/must.h"

namespace ptpkg::elf::test {

inline Edits SetPath(std::string text, PathTag tag = PathTag::kRunpath) {
  Edits edits;
  edits.search_path = SearchPath{.tag = tag, .text = std::move(text)};
  return edits;
}

/// A search path in the tag that the file has, too long for any place in it.
inline Edits LongPath() {
  Edits edits;
  edits.search_path = SearchPath{.text = "$ORIGIN/deps:$ORIGIN:/" + std::string(700, 'g')};
  return edits;
}

inline LinkFacts FactsOf(Fs& fs, const AbsPath& path) {
  const auto file = ptpkg::test::Must(fs.Open(path, OpenMode::kRead));
  const auto image = ptpkg::test::Must(ReadImage(*file));
  return ptpkg::test::Must(ReadLinkFacts(*file, *image));
}

}  // namespace ptpkg::elf::test
