// Slices of a conda package: the same files except the libraries, with new index.json and paths.json. Layer:
// pipeline. Source: CEP 34 (contents), CEP 46 (__cuda_arch).
//
// Solvers must prefer a fitting slice to the whole package, and the whole package must stay for other GPUs.
// So the slice has the same version and a higher build number, and requires __cuda_arch. Its number is a
// thousand times the package's plus the number of the first GPU: slices of a later build come before all of
// an earlier one.
//
// A slice can be sliced again. IsSlice then requires all marks (label, requirement, number), because a user's
// own build string may end like a label. Unchanged files keep the digests of paths.json, so only changed ones
// are read again. A symlink has the digest of the file that it leads to.

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <set>

#include "conda/channel_names.h"
#include "conda/info/package_info.h"
#include "conda/info/paths_json.h"
#include "conda/package_parts.h"
#include "model/package_note.h"
#include "model/staged_tree.h"
#include "pipeline/edit_wheel/vendor_code.h"
#include "pipeline/slice/slice_source.h"
#include "support/assert.h"
#include "support/text/json.h"
#include "support/text/text.h"
#include "verify/check_artifact.h"
#include "versions/package_names.h"

namespace ptpkg::pipeline {
namespace {

// A slice's build number is this times the package's, plus the number of its first GPU. Slices come before
// the package, which serves GPUs that no slice fits. Slices of a later build come before all of an earlier
// one.
constexpr std::uint64_t kSliceNumbers = 1000;

/// True if index.json belongs to a slice: a build string of the user's own may end in "sm80" too.
Result<bool> IsSlice(const Json& index) {
  PTPKG_TRY(const std::string build, JsonStringOr(index, "build", "", "info/index.json"));
  PTPKG_TRY(const std::int64_t number, JsonInteger(index, "build_number", "info/index.json"));
  PTPKG_TRY(const std::vector<std::string> depends, JsonStringsOr(index, "depends", {}, "info/index.json"));
  const bool requires_gpu = std::any_of(depends.begin(), depends.end(), [](const std::string& one) {
    return one.starts_with(versions::kCudaArchPackage);
  });
  return requires_gpu && number >= static_cast<std::int64_t>(kSliceNumbers) &&
         versions::WithoutLabel(build, '_') != build;
}

/// `build`: of a slice, or of a whole package.
std::string BuildOf(const std::string& build, bool is_slice, const versions::GpuSlice& slice) {
  const std::string before = is_slice ? versions::WithoutLabel(build, '_') : build;
  return (before.empty() ? "" : before + "_") + ReplaceAll(slice.Label(), ".", "_");
}

/// "__cuda_arch 8.0.*|8.6.*": the lowest compute capability of the machine's GPUs is one of these.
std::string RequirementOf(const versions::GpuSlice& slice) {
  std::vector<std::string> versions;
  for (const std::uint32_t gpu : slice.gpus) versions.push_back(versions::CapabilityOf(gpu) + ".*");
  return fmt::format("{} {}", versions::kCudaArchPackage, Join(versions, "|"));
}

Result<Json> IndexOf(const Json& before, const versions::GpuSlice& slice) {
  Json index = before;
  PTPKG_TRY(const std::string build, JsonStringOr(before, "build", "", "info/index.json"));
  PTPKG_TRY(const std::int64_t number, JsonInteger(before, "build_number", "info/index.json"));
  PTPKG_TRY(std::vector<std::string> depends, JsonStringsOr(before, "depends", {}, "info/index.json"));
  PTPKG_TRY(const bool is_slice, IsSlice(before));
  if (is_slice)
    std::erase_if(depends,
                  [](const std::string& one) { return one.starts_with(versions::kCudaArchPackage); });
  depends.push_back(RequirementOf(slice));
  // The slice of a slice has the number that it would have as a slice of the whole package.
  const std::uint64_t whole = static_cast<std::uint64_t>(number) / (is_slice ? kSliceNumbers : 1);
  index["build"] = BuildOf(build, is_slice, slice);
  index["build_number"] = whole * kSliceNumbers + slice.gpus.front();
  index["depends"] = depends;
  return index;
}

/// The files of the package that differ, by path.
using ByPath = std::map<std::string, const SlicedEntry*>;

/// Links to a changed file have its digest, too.
Json PathsOf(const Json& before, const StagedTree& tree, const ByPath& changed) {
  Json document = before;
  for (Json& entry : document["paths"]) {
    const auto path = entry["_path"].get<std::string>();
    const TreeEntry* file = tree.Find(path);
    if (file != nullptr && file->kind == FileKind::kSymlink) file = conda::LinkedFile(tree, *file);
    const auto now = file == nullptr ? changed.end() : changed.find(file->path.str());
    if (now == changed.end() || !entry.contains("sha256")) continue;
    entry["sha256"] = now->second->sha256.Hex();
    entry["size_in_bytes"] = now->second->size_bytes;
  }
  return document;
}

class CondaSource final : public SliceSource {
 public:
  CondaSource(Env& env, const AbsPath& package, bool check) : env_(env), package_(package), check_(check) {}

  Result<std::vector<UnpackedFile>> Unpack(const AbsPath& folder) override {
    if (check_) {
      PTPKG_TRY(const Report report, verify::CheckArtifact(env_, package_));
      findings_ = report.findings;
    }
    PTPKG_TRY(info_, conda::UnpackPackage(env_, package_, folder, {}));
    PTPKG_TRY(tree_, ScanTree(env_, folder, {.hash = false}));
    PTPKG_TRY(const auto digests, ListedDigests());
    std::vector<UnpackedFile> files;
    for (const TreeEntry& entry : tree_.entries) {
      if (entry.kind != FileKind::kRegular) continue;
      UnpackedFile file{.path = entry.path,
                        .file = folder / entry.path,
                        .mode = entry.mode,
                        .size_bytes = entry.size_bytes};
      if (const auto listed = digests.find(entry.path.str()); listed != digests.end()) {
        file.sha256 = listed->second;
      } else {  // paths_version 1 may leave it out
        PTPKG_TRY(const Digests found, HashFile(env_.fs, file.file));
        file.sha256 = found.sha256;
      }
      files.push_back(std::move(file));
    }
    return files;
  }

  Result<std::string> VendorLicence() override {
    std::vector<std::pair<std::string, std::string>> licences;
    for (const auto& [name, text] : info_->info_files) {
      if (name.starts_with("licenses/") && IsOwnLicence(name)) licences.emplace_back("info/" + name, text);
    }
    PTPKG_TRY(const std::string licence, JsonStringOr(info_->index, "license", "", "info/index.json"));
    if (licences.empty() && IsVendorLicenceName(licence)) return licence;
    return VendorLicenceOf(licences);
  }

  Result<RelPath> NameOf(const versions::GpuSlice& slice) override {
    PTPKG_TRY(const conda::DistName name, DistNameOf(slice));
    return RelPath::Parse(name.FileName());
  }

  Result<StagedSlice> Stage(Env& env, const versions::GpuSlice& slice, const std::vector<SlicedEntry>& files,
                            const AbsPath& folder) override {
    ByPath changed;
    for (const SlicedEntry& file : files) changed.emplace(file.path.str(), &file);
    conda::PackageParts parts;
    PTPKG_TRY(const conda::DistName name, DistNameOf(slice));
    parts.stem = name.Stem();
    std::map<std::string, std::string> info = info_->info_files;
    PTPKG_TRY(const Json index, IndexOf(info_->index, slice));
    info["index.json"] = DumpJson(index);
    info["paths.json"] = DumpJson(PathsOf(info_->paths, tree_, changed));
    if (const auto note = info.find(std::string(kPackageNoteName)); note != info.end()) {
      PTPKG_TRY(std::optional<std::string> text, NoteOfSlice(note->second, "info/" + note->first));
      if (text) note->second = *std::move(text);
    }
    for (const auto& [file, text] : info) {
      PTPKG_TRY(RelPath path, RelPath::Parse("info/" + file));
      PTPKG_CHECK(parts.info.AddText(std::move(path), text));
    }
    for (const TreeEntry& entry : tree_.entries) {
      const auto now = changed.find(entry.path.str());
      if (now == changed.end()) {
        PTPKG_CHECK(parts.payload.AddTreeEntry(tree_, entry));
        continue;
      }
      PTPKG_CHECK(parts.payload.Add({.name = entry.path,
                                     .mode = entry.mode,
                                     .size_bytes = now->second->size_bytes,
                                     .file = now->second->file}));
    }
    const bool is_conda = name.format == ArtifactFormat::kConda;
    const conda::WriteOptions options{
        .conda = is_conda, .tar_bz2 = !is_conda, .on_existing = ExistingFilePolicy::kRefuse};
    PTPKG_TRY(const auto written, conda::WritePackageParts(env, parts, folder, options));
    PTPKG_ASSERT(written.size() == 1);
    StagedSlice staged{.file = written.front().path};
    if (!check_) return staged;
    PTPKG_TRY(const conda::DistName before, conda::DistName::Parse(package_.Name()));
    std::set<std::string> names;
    for (const conda::DistName* one : {&before, &name})
      // Findings that differ only in these names are the same.
      names.insert({one->FileName(), one->Stem(), one->build});
    // The file may be named in another way than index.json says.
    for (const Json* one : {&std::as_const(info_->index), &index}) {
      PTPKG_TRY(const std::string build, JsonStringOr(*one, "build", "", "info/index.json"));
      PTPKG_TRY(const std::string own, JsonStringOr(*one, "name", "", "info/index.json"));
      PTPKG_TRY(const std::string version, JsonStringOr(*one, "version", "", "info/index.json"));
      names.insert({build, own + "-" + version + "-" + build});
    }
    const RegressionCheck judgement = RegressionCheckForSlice(BaselineFindings(findings_, names));
    PTPKG_TRY(staged.errors, CheckForRegressions(env, staged.file, judgement));
    return staged;
  }

 private:
  [[nodiscard]] Result<conda::DistName> DistNameOf(const versions::GpuSlice& slice) const {
    PTPKG_TRY(conda::DistName name, conda::DistName::Parse(package_.Name()));
    PTPKG_TRY(const bool is_slice, IsSlice(info_->index));
    name.build = BuildOf(name.build, is_slice, slice);
    if (const auto fits = versions::CheckLength("build string", name.build); !fits) {
      return Error(ErrorCode::kRefused,
                   fmt::format("the slice for {}: {}", slice.str(), fits.error().message()))
          .WithHint("choose fewer GPUs, or give the package a shorter build string");
    }
    return name;
  }

  /// Digests of the files in info/paths.json.
  [[nodiscard]] Result<std::map<std::string, Sha256>> ListedDigests() const {
    PTPKG_TRY(const auto entries, conda::ParsePathsJson(info_->paths, "info/paths.json"));
    std::map<std::string, Sha256> digests;
    for (const conda::PathsEntry& entry : entries) {
      if (entry.has_digest) digests.emplace(entry.path, entry.sha256);
    }
    return digests;
  }

  Env& env_;
  AbsPath package_;
  bool check_;
  std::vector<Finding> findings_;  // of the package
  std::optional<conda::PackageInfo> info_;
  StagedTree tree_;
};

}  // namespace

std::unique_ptr<SliceSource> MakeCondaSource(Env& env, const AbsPath& package,
                                             const SliceSourceOptions& options) {
  return std::make_unique<CondaSource>(env, package, options.check);
}

}  // namespace ptpkg::pipeline
