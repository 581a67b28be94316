#include "inspect/listing.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "archive/extract.h"
#include "conda/package_info.h"
#include "conda/paths_json.h"

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
    if (member.mode != 0) file.mode = member.mode & kPermissions;
    if ((member.mode & kTypeMask) == kTypeLink) file.file_class = FileClass::kSymlink;
    listing.files.push_back(std::move(file));
  }
  SortByPath(listing.files);
}

/// The reasons why a document is no artifact of its kind, not why the machine fails.
bool IsAtFault(const Error& error) {
  constexpr std::array<ErrorCode, 3> kCodes = {ErrorCode::kInvalidInput, ErrorCode::kUnsupported,
                                               ErrorCode::kCorrupt};
  return std::find(kCodes.begin(), kCodes.end(), error.code()) != kCodes.end();
}

Result<void> ReadWheelMetadata(Env& env, const AbsPath& wheel, const archive::ZipReader& zip,
                               Listing& listing) {
  const Result<wheel::WheelInfo> info = wheel::ReadWheelInfo(env, wheel);
  if (!info) {
    if (!IsAtFault(info.error())) return info.error();
    env.reporter.Warn(
        fmt::format("the metadata of '{}' cannot be read: {}", wheel.str(), info.error().message()));
    const auto name = wheel::FileName::Parse(wheel.Name());
    if (name) {
      listing.metadata.name = name->name;
      listing.metadata.version = name->version;
      listing.metadata.build = name->build;
    }
    return Ok();
  }
  const std::string place = info->dist_info_dir + "/WHEEL";
  PTPKG_TRY(const std::string text, zip.ReadText(place, wheel::DocumentLimit(place)));
  listing.metadata = MetadataOfWheel(*info, text);
  return Ok();
}

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
  if (listing.format == ArtifactFormat::kConda || listing.format == ArtifactFormat::kTarBz2) {
    PTPKG_CHECK(ListConda(env, artifact, listing));
    return listing;
  }
  PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env.fs, artifact));
  ListZip(zip, listing);
  if (listing.format == ArtifactFormat::kWheel) PTPKG_CHECK(ReadWheelMetadata(env, artifact, zip, listing));
  return listing;
}

}  // namespace ptpkg::inspect
