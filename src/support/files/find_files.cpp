#include "support/files/find_files.h"

#include <algorithm>
#include <array>

namespace ptpkg {
namespace {

/// nullopt: not a file that begins with `magic`.
Result<std::optional<FoundFile>> Probe(Fs& fs, const AbsPath& path, const RelPath& relative,
                                       const FileStat& stat, std::string_view magic) {
  if (stat.kind != FileKind::kRegular || stat.size_bytes < magic.size()) return std::optional<FoundFile>();
  PTPKG_TRY(const auto file, fs.Open(path, OpenMode::kRead));
  std::string head(magic.size(), '\0');
  PTPKG_TRY(const std::size_t got, file->ReadAt(0, std::as_writable_bytes(std::span(head))));
  if (got != magic.size() || head != magic) return std::optional<FoundFile>();
  return std::optional<FoundFile>({.path = relative, .size_bytes = stat.size_bytes, .mode = stat.mode});
}

/// By the calls that every Fs has.
class PlainSearch {
 public:
  PlainSearch(Env& env, const AbsPath& root, const FileFilter& wanted)
      : env_(env), root_(root), wanted_(wanted) {}

  Result<std::vector<FoundFile>> Run() {
    PTPKG_TRY(const std::vector<std::string> names, env_.fs.ListDir(root_));
    PTPKG_CHECK(VisitAll("", names));
    // A list in place of recursion: a tree can be deeper than the thread's stack.
    while (!folders_.empty()) {
      PTPKG_CHECK(env_.cancel.Check());
      const std::string folder = std::move(folders_.back());
      folders_.pop_back();
      auto below = env_.fs.ListDir(root_ / folder);
      if (!below) {
        PTPKG_CHECK(UnlessGone(std::move(below).error()));
        continue;
      }
      PTPKG_CHECK(VisitAll(folder + "/", *below));
    }
    return std::move(found_);
  }

 private:
  static Result<void> UnlessGone(Error error) {
    if (error.code() == ErrorCode::kNotFound) return Ok();
    return error;
  }

  Result<void> VisitAll(const std::string& before, const std::vector<std::string>& names) {
    PTPKG_CHECK(env_.cancel.Check());
    for (const std::string& name : names) {
      if (auto visited = Visit(RelPath::Literal(before + name)); !visited) {
        PTPKG_CHECK(UnlessGone(std::move(visited).error()));
      }
    }
    return Ok();
  }

  Result<void> Visit(const RelPath& relative) {
    PTPKG_TRY(const FileStat stat, env_.fs.Lstat(root_ / relative));
    if (stat.kind == FileKind::kDirectory) folders_.push_back(relative.str());
    // By name first: opening a file costs more than all else here.
    if (!wanted_.IsCandidate(relative.Name())) return Ok();
    PTPKG_TRY(auto file, Probe(env_.fs, root_ / relative, relative, stat, wanted_.magic));
    if (file) found_.push_back(*std::move(file));
    return Ok();
  }

  Env& env_;
  const AbsPath& root_;
  const FileFilter& wanted_;
  std::vector<std::string> folders_;
  std::vector<FoundFile> found_;
};

}  // namespace

bool FileFilter::IsCandidate(std::string_view name) const {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return true;
  const auto& skipped = skipped_extensions;
  return std::find(skipped.begin(), skipped.end(), name.substr(dot)) == skipped.end();
}

Result<std::vector<FoundFile>> FindFilesByMagic(Env& env, const AbsPath& root, const FileFilter& wanted) {
  PTPKG_ASSERT(!wanted.magic.empty() && wanted.magic.size() <= 64);
  // Doubles and overlays have no descriptors, and search by the common calls.
  auto* const finder = dynamic_cast<MagicFinder*>(&env.fs);
  PTPKG_TRY(std::vector<FoundFile> found, finder != nullptr
                                              ? finder->FindByMagic(root, wanted, env.jobs, env.cancel)
                                              : PlainSearch(env, root, wanted).Run());
  std::sort(found.begin(), found.end(),
            [](const FoundFile& a, const FoundFile& b) { return a.path < b.path; });
  return found;
}

}  // namespace ptpkg
