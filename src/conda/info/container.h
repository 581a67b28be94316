#pragma once
// Reads the raw members of a conda package. Layer: conda. unpack.cpp refuses what is hostile; verify/ turns
// the same facts into findings.

#include <functional>
#include <vector>

#include "archive/codec/decoder.h"
#include "archive/extract.h"
#include "archive/tar/tar_reader.h"
#include "model/artifact.h"
#include "support/env.h"

namespace ptpkg::conda {

enum class Part : std::uint8_t {
  kInfo,     ///< info-*.tar.zst of a .conda
  kPayload,  ///< pkg-*.tar.zst of a .conda
  kWhole,    ///< a .tar.bz2
};

struct PartFacts {
  Part part = Part::kWhole;
  std::string member;  ///< Name in the zip; "" for a .tar.bz2.
  archive::StreamFacts stream;
};

struct ContainerFacts {
  ArtifactFormat format = ArtifactFormat::kConda;
  std::vector<archive::ZipReader::Member> zip_members;  ///< In the order of the central directory.
  std::string metadata;                                 ///< Text of metadata.json; "" if there is none.
  std::vector<PartFacts> parts;
};

struct ContainerOptions {
  bool info_only = false;  ///< Only members below info/ matter: read no more than needed for those.
  archive::ExtractLimits limits = {};
};

/// Called for every tar member, those of info/ first in a .conda. `content` is read as far as the callee
/// wants. False ends the reading.
using OnMember =
    std::function<Result<bool>(Part part, const archive::TarMember& member, ByteSource& content)>;

/// Reads `package`, the format taken from its first bytes. Both parts of a .conda must be there once and
/// stored. Errors: kCorrupt for a file that is neither, a damaged archive, a missing part, members that
/// StrictTar or MemberNames refuses, those below info/ included, and for content beyond the limits (a
/// decompression bomb); kNotFound; those of `on_member`. Memory: bounded by the codecs'
/// windows.
Result<ContainerFacts> ReadContainer(Env& env, const AbsPath& package, const OnMember& on_member,
                                     const ContainerOptions& options = {});

/// The content as text. Errors: kCorrupt when longer than `limit_bytes`.
Result<std::string> ReadText(ByteSource& content, std::uint64_t limit_bytes);

}  // namespace ptpkg::conda
