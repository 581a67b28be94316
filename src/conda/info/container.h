#pragma once
// Reads the raw members of a conda package. Layer: conda. unpack.cpp refuses hostile members; verify/ turns
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
  bool info_only = false;  ///< Read only as much as the members below info/ need.
  archive::ExtractLimits limits = {};
};

/// Called for every tar member, in a .conda the info/ members first. The callee reads as much of `content` as
/// it needs. False ends the reading.
using OnMember =
    std::function<Result<bool>(Part part, const archive::TarMember& member, ByteSource& content)>;

/// Reads `package`, and detects the format from its first bytes. A .conda must hold both parts, once and
/// stored. Memory: bounded by the codecs' windows. Errors:
/// - kCorrupt: a file in neither format, a damaged archive, a missing part
/// - kCorrupt: members that StrictTar or MemberNames refuses, also below info/
/// - kCorrupt: content beyond the limits (a decompression bomb)
/// - kNotFound, and any error from `on_member`
Result<ContainerFacts> ReadContainer(Env& env, const AbsPath& package, const OnMember& on_member,
                                     const ContainerOptions& options = {});

/// The content as text. Errors: kCorrupt when longer than `limit_bytes`.
Result<std::string> ReadText(ByteSource& content, std::uint64_t limit_bytes);

}  // namespace ptpkg::conda
