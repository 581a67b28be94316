#pragma once
// Makes conda packages byte by byte, hostile ones too: what the real writer refuses, a test needs.

#include <optional>
#include <string>
#include <vector>

#include "conda/package.h"
#include "support/test_env.h"
#include "support/text/json_fwd.h"

namespace ptpkg::test {

/// A tar member with any name and kind.
struct RawMember {
  std::string name;
  std::string content = {};
  char type = '0';  ///< ustar type flag: '0' file, '1' hard link, '2' symlink, '5' directory, '6' fifo.
  std::string link_target = {};
  int mode = 0644;
  std::int64_t mtime = 0;
};

std::string MakeTar(const std::vector<RawMember>& members);
std::string Bzip2(std::string_view text);
std::string Zstd(std::string_view text, bool with_content_size = true);

/// index.json, paths.json (describing `payload`'s files and links) of a package "demo-1.0-0" for linux-64.
std::vector<RawMember> DemoInfo(const std::vector<RawMember>& payload);
Json DemoIndex();

/// A .tar.bz2 of the members as they are.
std::string MakeTarBz2(const std::vector<RawMember>& members);

struct RawConda {
  std::vector<RawMember> info = {};
  std::vector<RawMember> payload = {};
  std::string stem = "demo-1.0-0";
  std::string metadata = "{\"conda_pkg_format_version\": 2}";
  std::vector<std::string> extra_members = {};  ///< More empty zip members, before the parts.
  bool info_first = false;
  std::optional<std::string> info_tar = {};     ///< Bytes in place of `info`.
  std::optional<std::string> payload_tar = {};  ///< Bytes in place of `payload`.
};
/// Writes a .conda to `path`.
void WriteRawConda(Env& env, const RawConda& conda, const AbsPath& path);

/// A staged tree below `folder` ("name → content" files), scanned.
StagedTree MakeTree(TestEnv& env, const std::vector<RawMember>& files);

/// demo-1.0-0 of linux-64 with licence.
conda::PackageMetadata DemoMetadata();

}  // namespace ptpkg::test
