#pragma once
// Findings of one file. Layer: verify.

#include <string>
#include <utility>
#include <vector>

#include "model/finding.h"
#include "verify/elf/elf_tree_map.h"

namespace ptpkg::verify {

/// Adds findings for one file to a list, which it borrows.
class FileFindings {
 public:
  FileFindings(std::vector<Finding>& list, const ElfMember& member) : list_(list), file_(member.path.str()) {}

  void Add(std::string id, Severity severity, std::string message, std::string fix) {
    list_.push_back({std::move(id), severity, file_, std::move(message), std::move(fix)});
  }

 private:
  std::vector<Finding>& list_;
  std::string file_;
};

}  // namespace ptpkg::verify
