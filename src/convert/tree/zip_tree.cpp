#include "convert/tree/zip_tree.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "conda/info/paths_json.h"
#include "convert/package_metadata.h"
#include "convert/tree/python_layout.h"
#include "convert/tree/tree_builder.h"
#include "support/text/globs.h"
#include "support/text/text.h"

namespace ptpkg::convert {

namespace {

/// The directory of a noarch package stands for the site-packages of whichever Python.
bool IsInSitePackages(const std::string& root) {
  return root == kNoarchSitePackages || root.starts_with(std::string(kNoarchSitePackages) + "/");
}

/// The path of the file below `root`; nullopt outside of it. conda's own files lie outside of all.
std::optional<std::string> BelowRoot(const RelPath& path, const std::string& root) {
  if (path.str().starts_with("conda-meta/")) return std::nullopt;
  if (root.empty()) return path.str();
  std::string name = path.str();
  if (IsInSitePackages(root)) {
    const auto below = BelowSitePackages(name);
    if (!below) return std::nullopt;
    name = fmt::format("{}/{}", kNoarchSitePackages, *below);
  }
  if (!name.starts_with(root + "/")) return std::nullopt;
  return name.substr(root.size() + 1);
}

bool TakesBelow(const recipe::ZipPart& part, const std::string& below) {
  return (part.files.empty() || MatchesAnyGlob(part.files, below)) && !MatchesAnyGlob(part.exclude, below);
}

class ZipTreeMaker {
 public:
  ZipTreeMaker(Env& env, const StagedTree& prefix, const recipe::ZipOutput& output, const AbsPath& root)
      : env_(env), prefix_(prefix), output_(output), part_(output.zip), builder_(env, root) {}

  Result<ZipTree> Run() {
    for (const TreeEntry& entry : prefix_.entries) {
      const auto below = BelowRoot(entry.path, part_.root);
      if (!below) continue;
      // Before `exclude`: a glob whose files are all excluded is not a typing error.
      NoteGlobs(*below);
      if (!TakesBelow(part_, *below)) continue;
      PTPKG_CHECK(NoteRoot(entry.path.str(), *below));
      PTPKG_CHECK(Place(entry, RelPath::Literal(*below)));
    }
    if (!root_) return NoFilesMatched();
    for (const std::string& glob : part_.files) {
      if (used_.contains(glob)) continue;
      env_.reporter.Warn(fmt::format("'{}' of extra.ptpkg.zip.files matches no file of '{}'", glob,
                                     part_.root.empty() ? "the prefix" : part_.root));
    }
    // Texts come last, so that a clash of names is reported for the key that caused it.
    PTPKG_CHECK(AddTexts(part_.texts), "while adding extra.ptpkg.zip.texts");
    PTPKG_CHECK(AddTexts(NoteFilesForZip(output_)), "while adding ptpkg.json");
    return ZipTree{.tree = std::move(builder_).Finish(), .root = *root_};
  }

 private:
  void NoteGlobs(const std::string& below) {
    for (const std::string& glob : part_.files) {
      if (GlobMatch(glob, below)) used_.insert(glob);
    }
  }

  Result<void> NoteRoot(const std::string& path, const std::string& below) {
    std::string root = path.size() == below.size() ? "" : path.substr(0, path.size() - below.size() - 1);
    // A root "site-packages/…" fits lib/python3.11 and lib/python3.12. Files of both would mix below one
    // name.
    if (root_ && *root_ != root) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("the root of the zip is both '{}' and '{}'", *root_, root))
          .WithHint("install for one Python");
    }
    root_ = std::move(root);
    return Ok();
  }

  Result<void> Place(const TreeEntry& entry, const RelPath& path) {
    if (entry.kind != FileKind::kSymlink) return builder_.Link(prefix_, entry, path);
    const TreeEntry* target = conda::LinkedFile(prefix_, entry);
    if (target != nullptr) return builder_.Link(prefix_, *target, path);
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is a link to '{}', which is not in the package",
                                                       entry.path.str(), entry.link_target))
        .WithHint("a zip can hold only files: add the link to extra.ptpkg.zip.exclude");
  }

  Result<void> AddTexts(const std::map<std::string, std::string>& texts) {
    for (const auto& [name, text] : texts) {
      PTPKG_TRY(const RelPath path, RelPath::Parse(name));
      PTPKG_CHECK(builder_.AddText(path, text));
    }
    return Ok();
  }

  [[nodiscard]] Error NoFilesMatched() const {
    const std::string where = part_.root.empty() ? "the prefix" : fmt::format("'{}'", part_.root);
    return Error(ErrorCode::kNotFound,
                 fmt::format("the zip '{}' would have no file of {}", part_.name, where))
        .WithHint(
            "set extra.ptpkg.zip.root to a directory of the prefix, 'site-packages/NAME' for a Python "
            "package; 'files' and 'exclude' match paths below it");
  }

  Env& env_;
  const StagedTree& prefix_;
  const recipe::ZipOutput& output_;
  const recipe::ZipPart& part_;
  TreeBuilder builder_;
  std::set<std::string> used_;       // globs
  std::optional<std::string> root_;  // none before the first file
};

}  // namespace

std::optional<std::string> PlaceInZip(const recipe::ZipPart& part, const RelPath& path) {
  std::optional<std::string> below = BelowRoot(path, part.root);
  if (below && !TakesBelow(part, *below)) below.reset();
  return below;
}

Result<ZipTree> MakeZipTree(Env& env, const StagedTree& prefix, const recipe::ZipOutput& output,
                            const AbsPath& root) {
  return ZipTreeMaker(env, prefix, output, root).Run();
}

}  // namespace ptpkg::convert
