#pragma once
// Reads image descriptions. Layer: pipeline. Format: docs/images.md.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::pipeline {

/// Settings of one image, or of all of them. Every text is one line.
struct ImageSettings {
  std::vector<std::string> apt = {};    ///< Debian packages.
  std::vector<std::string> conda = {};  ///< Conda match specs.
  std::vector<std::string> pip = {};    ///< Python requirements.
  std::map<std::string, std::string> env = {};
  std::map<std::string, std::string> labels = {};
  std::string timezone = {};  ///< IANA name; "": the base's.
  std::string user = {};      ///< "": the base's.
  std::string workdir = {};   ///< Absolute; "": /home/`user`, else the base's.
  std::string shm_size = {};  ///< For the run command; "": the engine's default.
  std::optional<std::uint32_t> uid = {};
  std::optional<std::uint32_t> gid = {};  ///< nullopt: `uid`.
};

/// One final image.
struct NamedImage {
  std::string name;  ///< Lower-case letters, digits, '.', '_' and '-': a repository and a stage.
  ImageSettings settings;
};

struct ImageFile {
  std::string base = {};                          ///< Registry reference, or path of a root file system.
  std::string build_base = {};                    ///< Base of the build stage; "": `base`.
  std::vector<std::string> build_apt = {};        ///< Debian packages of the build stage.
  std::vector<std::string> build_arguments = {};  ///< More arguments of `ptpkg build`.
  ImageSettings shared = {};                      ///< Lists and variables that all images have.
  std::vector<NamedImage> images = {};  ///< In file order. Scalars and labels of `shared` filled in.
};

/// Errors: kNotFound, kIo. kInvalidInput with a span: unknown keys, values of another kind, invalid names and
/// values, a UID without a user. Also for passwords in URLs: people who get the image could read them.
Result<ImageFile> LoadImageFile(Fs& fs, const AbsPath& path);

/// Parses the text of a file called `name`. Errors: as LoadImageFile, without kNotFound and kIo.
Result<ImageFile> ParseImageFile(std::string_view text, const std::string& name);

}  // namespace ptpkg::pipeline
