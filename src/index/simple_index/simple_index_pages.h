#pragma once
// Pages of a simple index over wheels. Layer: index. IndexWheels (index.h) writes them.
// Source: PEP 503 (HTML), PEP 691 and 700 (JSON), PEP 658 and 714 (core metadata), with one version number
// for both forms, PEP 629. ptpkg keeps the JSON page, and generates the HTML page from it.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/digest/hash.h"
#include "support/env.h"
#include "support/text/json.h"
#include "wheel/wheel.h"

namespace ptpkg::index {

/// A leading '_' is for the server's own use (PEP 691).
inline constexpr const char* kWheelDirectoryKey = "_ptpkg-directory";
/// Mark of a root page that ptpkg made, and may remove.
inline constexpr const char* kRootPageKey = "_ptpkg-root";

/// A wheel as the pages show it.
struct IndexedWheel {
  std::string file_name;    ///< File name in the directory.
  std::string folder = {};  ///< Backend whose subdirectory holds it; "" = the index's own directory.
  std::string project;      ///< PEP 503 normal form, with '-'.
  wheel::Version version;
  std::string requires_python;  ///< "" = not stated.
  std::uint64_t size_bytes = 0;
  Sha256 sha256;
  Sha256 metadata_sha256;
  Sha256 directory_digest;  ///< From wheel::WheelInfo. In a page, it marks the entry as ptpkg's.
  std::optional<std::string> yanked = {};  ///< Reason, "" = none given; nullopt: not yanked.
};

/// Fills all fields except `sha256`, which stays zero. Errors: kInvalidInput (version).
Result<IndexedWheel> DescribeWheel(const wheel::WheelInfo& info, const std::string& file_name,
                                   std::uint64_t size_bytes);

Json EmptyProjectPage(const std::string& project);
/// Adds `files`, and replaces files of the same names. Everything else stays, including the yanked mark of a
/// file with the same digest. Sorts files and versions by version, then by name, after the files whose names
/// have no version. Links lead from simple/<project>/ to the directory that holds simple/, or to the wheel's
/// `folder` in it. Errors: kInvalidInput for a page that is not of this form.
Result<void> AddToProjectPage(Json& page, const std::vector<IndexedWheel>& files);
/// Removes these files, and versions without other files. Errors: as AddToProjectPage.
Result<void> RemoveFromProjectPage(Json& page, const std::map<std::string, std::string>& digests);

/// Yanks a wheel (PEP 592), or undoes it.
struct Yank {
  std::string file_name = {};
  std::string folder = {};                 ///< Directory of the wheel, as in IndexedWheel.
  std::string project = {};                ///< PEP 503 normal form, with '-'.
  std::optional<std::string> reason = {};  ///< "" = none; nullopt: it is no longer yanked.
};
/// The SHA-256 with which a page lists the file, in hex; "" if it does not list it.
std::string DigestInPage(const Json& page, const std::string& file_name);
/// True if the page lists the file, in that directory.
bool IsListed(const Json& page, const Yank& yank);
/// True if the page already has that mark.
bool IsYanked(const Json& page, const Yank& yank);
/// Errors: kNotFound (not listed), as AddToProjectPage.
Result<void> SetYanked(Json& page, const Yank& yank);

std::string ProjectHtml(const Json& page);

/// Sets the marks in the pages of IndexWheels. For a wheel in `root`, these are its page in simple/ and in
/// the backends that list it. For a wheel in the directory of a backend, it is the backend's page. Errors:
/// kNotFound (a wheel that is not listed, a backend without an index), kInvalidInput (an invalid page), kIo.
Result<void> YankWheels(Env& env, const AbsPath& root, const std::vector<Yank>& yanks);

Json EmptyRootPage();
/// Adds `projects`, in normal form, and sorts the page by them. Errors: as AddToProjectPage.
Result<void> AddToRootPage(Json& page, const std::vector<std::string>& projects);
std::string RootHtml(const Json& page);
/// True if `text` begins like the output of ProjectHtml and RootHtml.
bool IsGeneratedHtml(std::string_view text);

}  // namespace ptpkg::index
