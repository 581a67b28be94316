// Lists the files of an artifact without unpacking them, from zip directories or info/paths.json.
//
// Metadata of wheels is read one document at a time. A document with a defect costs a warning and its own
// facts, and not the listing: somebody inspects the wheel because something is wrong with it. RECORD is not
// read here, since the checks judge it. If the name of the .dist-info directory does not match, the only
// such directory counts.

#include "inspect/listing.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <set>

#include "archive/extract.h"
#include "conda/info/package_info.h"
#include "conda/info/paths_json.h"
#include "wheel/wheel.h"

namespace ptpkg::inspect {
namespace {

constexpr std::uint32_t kTypeMask = 0170000;
constexpr std::uint32_t kTypeLink = 0120000;
constexpr std::uint32_t kPermissions = 07777;

void SortByPath(std::vector<ListedFile>& files) {
  std::sort(files.begin(), files.end(),
            [](const ListedFile& left, const ListedFile& right) { return left.path < right.path; });
}

void ListZip(const archive::ZipReader& zip, Listing& listing) {
  for (const archive::ZipReader::Member& member : zip.members()) {
    if (member.name.ends_with('/')) continue;
    ListedFile file{.path = member.name,
                    .size_bytes = member.size_bytes,
                    .stored_bytes = member.stored_bytes,
                    .file_class = ClassOfName(member.name)};
    // Zips made on Windows have no mode.
    if (member.mode != 0) file.mode = member.mode & kPermissions;
    if ((member.mode & kTypeMask) == kTypeLink) {
      file.file_class = FileClass::kSymlink;
      file.size_bytes = 0;  // its content is the target
    }
    listing.files.push_back(std::move(file));
  }
  SortByPath(listing.files);
}

/// True if the document itself is wrong, and not the machine.
bool IsAtFault(const Error& error) {
  constexpr std::array<ErrorCode, 3> kCodes = {ErrorCode::kInvalidInput, ErrorCode::kUnsupported,
                                               ErrorCode::kCorrupt};
  return std::find(kCodes.begin(), kCodes.end(), error.code()) != kCodes.end();
}

/// Reads the wheel's own metadata, one document at a time. RECORD is left to the checks.
class WheelDocumentReader {
 public:
  WheelDocumentReader(Env& env, const AbsPath& wheel, const archive::ZipReader& zip)
      : env_(env), wheel_(wheel), zip_(zip) {}

  Result<WheelDocuments> Read() {
    WheelDocuments documents;
    auto file_name = wheel::FileName::Parse(wheel_.Name());
    if (file_name) documents.file_name = *std::move(file_name);
    const std::optional<std::string> folder = FindFolder(documents.file_name);
    if (!folder) return documents;
    PTPKG_TRY(documents.metadata, Document(*folder + "/METADATA", wheel::ParseCoreMetadata));
    PTPKG_TRY(documents.wheel_file, Document(*folder + "/WHEEL", wheel::ParseWheelFile));
    const std::string points = *folder + "/entry_points.txt";
    if (zip_.Find(points) == nullptr) return documents;
    PTPKG_TRY(auto text, Known(points, zip_.ReadText(points, wheel::DocumentLimit(points))));
    if (text) documents.entry_points = *std::move(text);
    return documents;
  }

 private:
  /// The .dist-info directory of the file's name, or else the only one.
  std::optional<std::string> FindFolder(const std::optional<wheel::FileName>& file_name) {
    constexpr std::string_view kEnd = ".dist-info";
    std::set<std::string> folders;
    for (const archive::ZipReader::Member& member : zip_.members()) {
      const std::string top = member.name.substr(0, member.name.find('/'));
      if (top.size() < member.name.size() && top.ends_with(kEnd)) folders.insert(top);
    }
    for (const std::string& folder : folders) {
      // The rules for names of wheels also cover different spellings of one name, so the directory is read
      // like a file name.
      const auto named =
          wheel::FileName::Parse(folder.substr(0, folder.size() - kEnd.size()) + "-py3-none-any.whl");
      if (named && file_name && named->Stem() == file_name->Stem()) return folder;
    }
    if (folders.size() == 1) return *folders.begin();
    Warn(fmt::format("it has {} .dist-info directories", folders.size()));
    return std::nullopt;
  }

  void Warn(std::string_view why) {
    env_.reporter.Warn(fmt::format("the metadata of '{}' cannot be read: {}", wheel_.str(), why));
  }

  /// Nothing, and a warning, where the document is at fault.
  template <class Value>
  Result<std::optional<Value>> Known(const std::string& path, Result<Value> value) {
    if (value) return std::optional<Value>(*std::move(value));
    if (!IsAtFault(value.error())) return std::move(value).error();
    Warn(fmt::format("{}: {}", path, value.error().message()));
    return std::optional<Value>();
  }

  template <class Value>
  Result<std::optional<Value>> Document(const std::string& path,
                                        Result<Value> (&parse)(std::string_view, const std::string&)) {
    if (zip_.Find(path) == nullptr) {
      Warn(fmt::format("it has no {}", path));
      return std::optional<Value>();
    }
    PTPKG_TRY(const auto text, Known(path, zip_.ReadText(path, wheel::DocumentLimit(path))));
    if (!text) return std::optional<Value>();
    return Known(path, parse(*text, path));
  }

  Env& env_;
  const AbsPath& wheel_;
  const archive::ZipReader& zip_;
};

Result<void> ListConda(Env& env, const AbsPath& package, Listing& listing) {
  PTPKG_TRY(const conda::PackageInfo info, conda::ReadPackageInfo(env, package));
  listing.format = info.format;
  listing.metadata = MetadataOfConda(info);
  for (const auto& [name, text] : info.info_files) {
    listing.files.push_back(
        {.path = "info/" + name, .size_bytes = text.size(), .file_class = FileClass::kMetadata});
  }
  if (info.paths.empty()) return Ok();
  PTPKG_TRY(const std::vector<conda::PathsEntry> paths,
            conda::ParsePathsJson(info.paths, fmt::format("{}: info/paths.json", package.Name())));
  for (const conda::PathsEntry& entry : paths) {
    if (entry.type == conda::PathType::kDirectory) continue;
    const bool link = entry.type == conda::PathType::kSoftLink;
    listing.files.push_back({.path = entry.path,
                             .size_bytes = link ? 0 : entry.size_bytes,
                             .file_class = link ? FileClass::kSymlink : ClassOfName(entry.path)});
  }
  SortByPath(listing.files);
  return Ok();
}

}  // namespace

std::uint64_t Listing::UnpackedBytes() const {
  std::uint64_t sum = 0;
  for (const ListedFile& file : files) sum += file.size_bytes;
  return sum;
}

Result<Listing> ReadListing(Env& env, const AbsPath& artifact) {
  Listing listing;
  PTPKG_TRY(listing.format, RequireFormat(artifact));
  PTPKG_TRY(const FileStat stat, env.fs.Stat(artifact));
  listing.size_bytes = stat.size_bytes;
  if (IsCondaPackage(listing.format)) {
    PTPKG_CHECK(ListConda(env, artifact, listing));
    return listing;
  }
  PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env.fs, artifact));
  ListZip(zip, listing);
  if (listing.format != ArtifactFormat::kWheel) return listing;
  PTPKG_TRY(const WheelDocuments documents, WheelDocumentReader(env, artifact, zip).Read());
  listing.metadata = MetadataOfWheel(documents);
  return listing;
}

}  // namespace ptpkg::inspect
