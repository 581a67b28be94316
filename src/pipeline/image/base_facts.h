#pragma once
// Checks an image's base: users, time zones, C library. Layer: pipeline.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pipeline/image/image_file.h"
#include "verify/wheel/platform_policies.h"

namespace ptpkg::pipeline {

/// The C library that the artifacts of an image need.
struct GlibcNeed {
  verify::GlibcVersion version;
  std::string artifact;  ///< File name of the artifact that needs it.
};

/// Facts about a root file system.
struct BaseFacts {
  std::map<std::string, std::string> users = {};  ///< UID by name, as /etc/passwd has them.
  std::set<std::string> zones = {};  ///< Files below /usr/share/zoneinfo, the same in IANA's names.
  std::optional<verify::GlibcVersion> glibc = {};  ///< nullopt: no glibc.
};

/// Reads the uncompressed tar of a root file system, in one pass. `scratch`: an existing directory for the
/// copy of its C library. Errors: kNotFound, kIo; kCorrupt with a hint for anything but a plain tar.
Result<BaseFacts> ReadBase(Env& env, const AbsPath& tar, const AbsPath& scratch);

/// Compares the base with the needs of images and artifacts. `need`: nullopt for artifacts without
/// libraries. Errors: kInvalidInput naming the image: a UID or user name that the base gives to somebody
/// else, a time zone without data, a C library that is too old.
Result<void> CheckBase(const BaseFacts& facts, const ImageFile& file, const std::optional<GlibcNeed>& need);

/// Compares time zones with the time zone data of this machine, if it has any. Errors: kInvalidInput with the
/// nearest name as hint.
Result<void> CheckTimeZones(Fs& fs, const ImageFile& file);

}  // namespace ptpkg::pipeline
