#pragma once
// What the patchelf command line does, as values. Layer: pipeline.
// Source: patchelf 0.19 (its manual page and tests): which edits there are, and in which order they work.

#include <optional>
#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::pipeline {

/// What the --print options tell.
struct ElfSummary {
  bool has_dynamic = false;
  bool is_library = false;  ///< ET_DYN.
  std::optional<std::string> interpreter;
  std::optional<std::string> soname;
  std::optional<std::string> search_path;  ///< DT_RUNPATH, else DT_RPATH.
  std::vector<std::string> needed;
  char executable_stack = '?';        ///< 'X', '-', or '?' when the file does not say.
  std::vector<std::string> warnings;  ///< Of elf::CheckSectionTable.
};

/// Errors: kNotFound, kUnsupported (not ELF), kCorrupt (also where the loader would not care:
/// elf/section_table.h), kIo.
Result<ElfSummary> SummarizeElf(Env& env, const AbsPath& file);

enum class PathAction : std::uint8_t { kKeep, kSet, kAdd, kRemove, kShrink };

struct PatchElfRequest {
  AbsPath file = AbsPath::Literal("/nonexistent");  ///< A symlink stands for its target.
  /// Where the result goes; the input stays as it is then. A device takes nothing, but the edit is
  /// planned all the same.
  std::optional<AbsPath> output = {};
  std::optional<std::string> interpreter = {};
  std::optional<std::string> soname = {};  ///< Of libraries; programs are left alone.
  PathAction path_action = PathAction::kKeep;
  std::string path_text = {};                      ///< For kSet and kAdd.
  std::vector<std::string> allowed_prefixes = {};  ///< For kShrink.
  bool rpath_tag = false;                          ///< DT_RPATH, else DT_RUNPATH, where a path is set.
  std::vector<std::string> add_needed = {};
  std::vector<std::string> remove_needed = {};
  std::vector<std::pair<std::string, std::string>> replace_needed = {};
  std::optional<bool> executable_stack = {};
  bool no_default_libraries = false;
  bool add_debug_entry = false;
};

/// All edits as one transaction. Without anything to change `file` is not touched; `output` is written
/// anyway. Errors: kNotFound, kUnsupported, kCorrupt, kInvalidInput, kIo.
Result<void> PatchElf(Env& env, const PatchElfRequest& request);

}  // namespace ptpkg::pipeline
