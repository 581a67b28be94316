// Reads each file once, in chunks, and searches for all paths at the same time (conda::ByteSearch). Only the
// first occurrence of each path counts: one is enough for a finding, and a debug section can have thousands.
// A path must end where it is found, so that "/b/x" does not match "/b/xy". The character behind it can be in
// the next chunk, which is why it is read from the file.

#include "verify/rules/build_path_checks.h"

#include <algorithm>
#include <fmt/core.h>
#include <span>

#include "conda/byte_search.h"
#include "elf/read/section_table.h"
#include "support/process/parallel.h"

namespace ptpkg::verify {
namespace {

/// A character that would make the text before it part of a longer name.
bool ContinuesName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/// Parts that differ from file to file go into the fix, so that equal messages can be counted together.
Finding Found(const TreeEntry& entry, const std::string& path, std::string_view where,
              std::string_view first = "") {
  return {"artifact-build-path", Severity::kError, entry.path.str(),
          fmt::format("the build path '{}' occurs in the {}", path, where),
          fmt::format("build with a prefix map (-ffile-prefix-map), or rewrite the file before packing{}",
                      first)};
}

/// nvcc calls its temporary files "tmpxft_<process id>_<number>-…", both with eight hexadecimal digits.
constexpr std::string_view kTemporary = "tmpxft_";
constexpr std::size_t kNumbers = 17;

bool AreNumbers(std::string_view text) {
  if (text.size() != kNumbers || text[8] != '_') return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '_'; });
}

// A refused build shows messages alone, and the usual remedy does not help here.
constexpr std::string_view kLineTables = "line tables of the device code (nvcc -lineinfo)";

/// Occurrences in one file.
struct Occurrences {
  std::vector<std::optional<std::uint64_t>> paths;  ///< The offset of the first occurrence of each.
  std::optional<std::uint64_t> temporary = {};      ///< Offset of the first name of an nvcc temporary file.
};

Result<std::string> TextAt(File& file, std::uint64_t offset, std::size_t most) {
  std::string text(most, '\0');
  PTPKG_TRY(const std::size_t got, file.ReadAt(offset, std::as_writable_bytes(std::span(text))));
  text.resize(got);
  return text;
}

Result<Occurrences> SearchContent(File& file, const std::vector<std::string>& paths) {
  Occurrences found{.paths = std::vector<std::optional<std::uint64_t>>(paths.size())};
  std::vector<std::string> needles = paths;
  needles.emplace_back(kTemporary);
  Result<void> failure = Ok();
  const auto on_hit = [&](const conda::SearchHit& hit) {
    const bool is_path = hit.needle < paths.size();
    std::optional<std::uint64_t>& first = is_path ? found.paths[hit.needle] : found.temporary;
    if (first) return true;
    const Result<std::string> next =
        TextAt(file, hit.offset + needles[hit.needle].size(), is_path ? 1 : kNumbers);
    if (!next) {
      failure = next.error();
      return false;
    }
    // Without the numbers, "tmpxft_" alone would also be found in programs that only mention nvcc.
    const bool counts = is_path ? next->empty() || !ContinuesName(next->front()) : AreNumbers(*next);
    if (counts) first = hit.offset;
    return true;
  };
  PTPKG_CHECK(conda::SearchFile(file, needles, on_hit));
  PTPKG_CHECK(std::move(failure));
  return found;
}

/// True if the byte belongs to GPU code. False for an unreadable ELF file: only the advice depends on
/// it.
Result<bool> IsDeviceCode(File& file, std::uint64_t offset) {
  const auto image = elf::ReadImage(file);
  if (!image || !*image || (*image)->sections.empty()) return false;
  const auto names = elf::ReadSectionNames(file, **image);
  if (!names) return false;
  return std::any_of((*image)->sections.begin(), (*image)->sections.end(), [&](const elf::Section& section) {
    if (offset < section.offset || offset - section.offset >= section.size) return false;
    if (section.name >= names->size()) return false;
    const std::string_view name(names->c_str() + section.name);
    // The sections of linked and of relocatable device code.
    return name == ".nv_fatbin" || name == "__nv_relfatbin";
  });
}

}  // namespace

std::vector<std::string> SearchableBuildPaths(const std::vector<std::string>& forbidden_paths) {
  std::vector<std::string> paths;
  for (std::string path : forbidden_paths) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    // "/" and "" would be found everywhere and say nothing.
    if (path.size() > 1) paths.push_back(std::move(path));
  }
  return paths;
}

void SearchLinkTarget(const TreeEntry& entry, const std::vector<std::string>& paths,
                      std::vector<Finding>& findings) {
  for (const std::string& path : paths) {
    if (entry.link_target == path || entry.link_target.starts_with(path + "/")) {
      findings.push_back(Found(entry, path, "link's target"));
    }
  }
}

Result<void> SearchBuildPaths(File& file, const TreeEntry& entry, const std::vector<std::string>& paths,
                              std::vector<Finding>& findings) {
  if (paths.empty()) return Ok();
  PTPKG_TRY(const Occurrences found, SearchContent(file, paths));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto& first = found.paths[i];
    if (!first) continue;
    PTPKG_TRY(const bool in_device_code, IsDeviceCode(file, *first));
    const std::string place = fmt::format("; it is at byte {}", *first);
    findings.push_back(
        Found(entry, paths[i], in_device_code ? kLineTables : std::string_view("file"), place));
    // nvcc writes directories of sources into the line tables of device code, and no prefix map reaches them.
    if (in_device_code) {
      findings.back().fix = "prefix maps don't apply to it: compile without nvcc's -lineinfo" + place;
    }
  }
  if (found.temporary) {
    findings.push_back(
        {"artifact-nvcc-temporary", Severity::kWarning, entry.path.str(),
         "the file contains the name of a temporary file of nvcc (tmpxft_…), so builds are not reproducible",
         fmt::format("compile with nvcc -c and link in a separate command, or strip the file; the first name "
                     "is at byte {}",
                     *found.temporary)});
  }
  return Ok();
}

Result<void> CheckBuildPaths(Env& env, const StagedTree& tree,
                             const std::vector<std::string>& forbidden_paths,
                             std::vector<Finding>& findings) {
  const std::vector<std::string> paths = SearchableBuildPaths(forbidden_paths);
  if (paths.empty()) return Ok();
  std::vector<std::vector<Finding>> found(tree.entries.size());
  const auto search = [&](std::size_t i) -> Result<void> {
    PTPKG_CHECK(env.cancel.Check());
    const TreeEntry& entry = tree.entries[i];
    if (entry.kind == FileKind::kSymlink) {
      SearchLinkTarget(entry, paths, found[i]);
      return Ok();
    }
    PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(tree.root / entry.path, OpenMode::kRead));
    return SearchBuildPaths(*file, entry, paths, found[i]);
  };
  PTPKG_CHECK(ParallelFor(env.jobs, tree.entries.size(), search));
  for (std::vector<Finding>& of_entry : found) {
    findings.insert(findings.end(), std::make_move_iterator(of_entry.begin()),
                    std::make_move_iterator(of_entry.end()));
  }
  return Ok();
}

}  // namespace ptpkg::verify
