#pragma once
// Pages of a simple index over wheels. Layer: channel. IndexWheels (index.h) writes them.
// Source: PEP 503 (HTML), PEP 691 and 700 (JSON), PEP 658 and 714 (core metadata); one version number
// for both forms, PEP 629.

#include <string>
#include <vector>

#include "support/hash.h"
#include "wheel/wheel.h"

namespace ptpkg::channel {

/// One wheel as the pages show it.
struct IndexedWheel {
  std::string file_name;  ///< As it lies in the folder.
  std::string project;    ///< PEP 503 normal form, with '-'.
  wheel::Version version;
  std::string requires_python;  ///< "" = not stated.
  std::uint64_t size_bytes = 0;
  Sha256 sha256;
  Sha256 metadata_sha256;
  Sha256 directory_digest;  ///< Kept in the JSON page, to know the wheel again without hashing it.
};

/// `files` of one project, sorted by version, then by name. Links lead from simple/<project>/ to the folder
/// that holds simple/.
std::string ProjectHtml(const std::vector<IndexedWheel>& files);
std::string ProjectJson(const std::vector<IndexedWheel>& files);
/// `projects`: normal forms, sorted.
std::string RootHtml(const std::vector<std::string>& projects);
std::string RootJson(const std::vector<std::string>& projects);

/// Everything but letters, digits and "-._~" as %XX, so '+' of a local version survives servers that
/// read it as a space.
std::string PercentEncode(std::string_view text);

}  // namespace ptpkg::channel
