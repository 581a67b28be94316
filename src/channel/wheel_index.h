#pragma once
// Pages of a simple index over wheels. Layer: channel. IndexWheels (index.h) writes them.
// Source: PEP 503 (HTML), PEP 691 and 700 (JSON), PEP 658 and 714 (core metadata); one version number
// for both forms, PEP 629. The JSON page is the one that is kept; the HTML page is made of it.

#include <string>
#include <vector>

#include "support/hash.h"
#include "support/json.h"
#include "wheel/wheel.h"

namespace ptpkg::channel {

/// A leading '_' is for the server's own use (PEP 691).
inline constexpr const char* kWheelDirectoryKey = "_ptpkg-directory";

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

/// All but `sha256`, which is left zero. Errors: kInvalidInput (version).
Result<IndexedWheel> DescribeWheel(const wheel::WheelInfo& info, const std::string& file_name,
                                   std::uint64_t size_bytes);

Json EmptyProjectPage(const std::string& project);
/// Adds `files`, in place of those of the same names; all else stays. Files and versions are sorted by
/// version, then by name, after those whose names say no version. Links lead from simple/<project>/ to the
/// folder that holds simple/. Errors: kInvalidInput for a page that is not of this form.
Result<void> AddToProjectPage(Json& page, const std::vector<IndexedWheel>& files);
std::string ProjectHtml(const Json& page);

Json EmptyRootPage();
/// Adds `projects`, normal forms; the page is sorted by them. Errors: as AddToProjectPage.
Result<void> AddToRootPage(Json& page, const std::vector<std::string>& projects);
std::string RootHtml(const Json& page);

/// Everything but letters, digits and "-._~" as %XX, so '+' of a local version survives servers that
/// read it as a space.
std::string PercentEncode(std::string_view text);

}  // namespace ptpkg::channel
