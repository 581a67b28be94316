// A root file system is a tar of some hundred megabytes. One pass finds /etc/passwd, the names below
// /usr/share/zoneinfo, and each libc.so.6, whose highest GLIBC_2.x symbol version is the version of glibc.
// The Containerfile checks the same rules during the build (data/containerfile.txt): a base from a registry
// reaches this machine only then.

#include "pipeline/image/base_facts.h"

#include <algorithm>
#include <fmt/core.h>

#include "archive/tar/tar_reader.h"
#include "elf/symbols/symbol_versions.h"
#include "support/limits.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {
namespace {

constexpr std::string_view kZones = "usr/share/zoneinfo/";

Error BadBase(const std::string& image, const std::string& problem) {
  return {ErrorCode::kInvalidInput, fmt::format("image '{}' does not fit its base: {}", image, problem)};
}

/// The highest GLIBC_2.x that the library defines; nullopt if it defines none.
Result<std::optional<verify::GlibcVersion>> GlibcVersionOf(Fs& fs, const AbsPath& library) {
  PTPKG_TRY(const std::unique_ptr<File> file, fs.Open(library, OpenMode::kRead));
  PTPKG_TRY(const auto image, elf::ReadImage(*file));
  std::optional<verify::GlibcVersion> highest;
  if (!image) return highest;
  PTPKG_TRY(const std::vector<std::string> defined, elf::ReadDefinedVersions(*file, *image));
  for (const std::string& version : defined) {
    const auto glibc = verify::GlibcOf(version);
    if (glibc && (!highest || *highest < *glibc)) highest = glibc;
  }
  return highest;
}

Result<void> ReadMember(Env& env, archive::TarReader& tar, const archive::TarMember& member,
                        const AbsPath& scratch, BaseFacts& facts) {
  std::string_view name = member.name;
  if (name.starts_with("./")) name.remove_prefix(2);
  if (name.starts_with('/')) name.remove_prefix(1);
  if (name.starts_with(kZones)) facts.zones.emplace(name.substr(kZones.size()));
  if (member.kind != archive::TarKind::kRegular) return Ok();
  if (name == "etc/passwd" && member.size_bytes <= limits::kRecipe) {
    StringSink text;
    if (const auto read = Pump(tar.content(), text); !read) return read.error();
    for (const std::string& line : SplitLines(text.str())) {
      const std::vector<std::string> fields = Split(line, ':');
      if (fields.size() > 2) facts.users.emplace(fields[0], fields[2]);
    }
  }
  const std::string_view file_name = name.substr(name.rfind('/') + 1);
  const bool is_libc =
      file_name == "libc.so.6" || (file_name.starts_with("libc-2.") && file_name.ends_with(".so"));
  if (!is_libc) return Ok();
  const AbsPath copy = scratch / "libc";
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(copy, OpenMode::kCreateNew));
  FileSink sink(*file);
  if (const auto read = Pump(tar.content(), sink); !read) return read.error();
  PTPKG_CHECK(file->Close());
  PTPKG_TRY(const auto version, GlibcVersionOf(env.fs, copy), fmt::format("while reading '{}'", name));
  if (version && (!facts.glibc || *facts.glibc < *version)) facts.glibc = version;
  return env.fs.Remove(copy);
}

/// True for "tzdata", and for "tzdata=2024a-0" or "tzdata/bookworm".
bool Lists(const std::vector<std::string>& packages, std::string_view name) {
  return std::ranges::any_of(packages, [&](std::string_view package) {
    return package.substr(0, package.find_first_of("=:/")) == name;
  });
}

Result<void> CheckUser(const BaseFacts& facts, const NamedImage& image) {
  if (image.settings.user.empty()) return Ok();
  const std::string uid = fmt::format("{}", *image.settings.uid);
  for (const auto& [name, id] : facts.users) {
    // Name and number must both match or both differ: half a match would give the user's files to another
    // account.
    if ((name == image.settings.user) == (id == uid)) continue;
    return BadBase(image.name, fmt::format("its user '{}' has UID {}, and the image gives UID {} to '{}'",
                                           name, id, uid, image.settings.user))
        .WithHint(
            fmt::format("use 'user: {}' and 'uid: {}', or a name and a number that are both free", name, id));
  }
  return Ok();
}

}  // namespace

Result<BaseFacts> ReadBase(Env& env, const AbsPath& tar, const AbsPath& scratch) {
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(tar, OpenMode::kRead));
  const Error not_a_tar =
      Error(ErrorCode::kCorrupt, fmt::format("'{}' is not a root file system as a tar archive", tar.str()))
          .WithHint("unpack a compressed one; 'tar -C ROOT -cf ROOTFS.tar .' packs a root of debootstrap");
  const auto explained = [&](const Error& error) {
    return error.code() == ErrorCode::kCorrupt ? not_a_tar : error;
  };
  FileSource source(*file);
  Result<archive::TarReader> reader = archive::TarReader::Open(source);
  if (!reader) return explained(reader.error());
  BaseFacts facts;
  for (bool empty = true;; empty = false) {
    PTPKG_CHECK(env.cancel.Check());
    Result<std::optional<archive::TarMember>> member = reader->Next();
    if (!member) return explained(member.error());
    if (!*member && empty) return not_a_tar;
    if (!*member) return facts;
    PTPKG_CHECK(ReadMember(env, *reader, **member, scratch, facts),
                fmt::format("while reading the base '{}'", tar.str()));
  }
}

Result<void> CheckBase(const BaseFacts& facts, const ImageFile& file, const std::optional<GlibcNeed>& need) {
  for (const NamedImage& image : file.images) {
    PTPKG_CHECK(CheckUser(facts, image));
    const std::string& zone = image.settings.timezone;
    const bool installs = Lists(file.shared.apt, "tzdata") || Lists(image.settings.apt, "tzdata");
    if (!zone.empty() && !installs && !facts.zones.contains(zone)) {
      return BadBase(image.name, fmt::format("it has no data of the time zone '{}'", zone))
          .WithHint("add 'tzdata' to 'apt'");
    }
    if (need && (!facts.glibc || *facts.glibc < need->version)) {
      const std::string have = facts.glibc ? "glibc " + facts.glibc->str() : std::string("no glibc");
      return BadBase(image.name, fmt::format("it has {}, and '{}' needs glibc {} or later", have,
                                             need->artifact, need->version.str()))
          .WithHint("choose a newer base");
    }
  }
  return Ok();
}

Result<void> CheckTimeZones(Fs& fs, const ImageFile& file) {
  const AbsPath data = AbsPath::Literal("/usr/share/zoneinfo/tzdata.zi");
  PTPKG_TRY(const bool there, Exists(fs, data));
  if (!there) return Ok();
  PTPKG_TRY(const std::string text, ReadFile(fs, data));
  std::vector<std::string> names;
  for (const std::string& line : SplitLines(text)) {
    const std::vector<std::string> words = Split(line, ' ');
    if (words.size() > 1 && words[0] == "Z") names.push_back(words[1]);
    if (words.size() > 2 && words[0] == "L") names.push_back(words[2]);
  }
  for (const NamedImage& image : file.images) {
    const std::string& zone = image.settings.timezone;
    if (zone.empty() || std::ranges::find(names, zone) != names.end()) continue;
    const std::optional<std::string> nearest = NearestMatch(zone, names);
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("unknown time zone '{}' of image '{}'", zone, image.name))
        .WithHint(nearest ? fmt::format("did you mean '{}'?", *nearest) : "for example Europe/Berlin");
  }
  return Ok();
}

}  // namespace ptpkg::pipeline
