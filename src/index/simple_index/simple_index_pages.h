#pragma once
// Pages of a simple index over wheels. Layer: index. IndexWheels (index.h) writes them.
// Source: PEP 503 (HTML), PEP 691 and 700 (JSON), PEP 658 and 714 (core metadata); one version number
// for both forms, PEP 629. The JSON page is the one that is kept; the HTML page is made of it.

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
  std::string file_name;  ///< File name in the directory.
  std::string folder =
      {};  ///< Backend whose directory, below that of the index, holds it; "" = that of the index.
  std::string project;  ///< PEP 503 normal form, with '-'.
  wheel::Version version;
  std::string requires_python;  ///< "" = not stated.
  std::uint64_t size_bytes = 0;
  Sha256 sha256;
  Sha256 metadata_sha256;
  Sha256 directory_digest;  ///< wheel::WheelInfo has it. In a page, it marks the entry as ptpkg's.
  std::optional<std::string> yanked = {};  ///< Reason, "" = none given; nullopt: not yanked.
};

/// Fills all fields but `sha256`, which is left zero. Errors: kInvalidInput (version).
Result<IndexedWheel> DescribeWheel(const wheel::WheelInfo& info, const std::string& file_name,
                                   std::uint64_t size_bytes);

Json EmptyProjectPage(const std::string& project);
/// Adds `files`, in place of those of the same names; all else stays, also that a file with the same digest
/// was yanked. Files and versions are sorted by
/// version, then by name, after those whose names say no version. Links lead from simple/<project>/ to the
/// directory that holds simple/, or to the wheel's `folder` in it. Errors: kInvalidInput for a page that is
/// not of this form.
Result<void> AddToProjectPage(Json& page, const std::vector<IndexedWheel>& files);
/// Takes these files out, and versions that have no other. Errors: those of AddToProjectPage.
Result<void> RemoveFromProjectPage(Json& page, const std::map<std::string, std::string>& digests);

/// Mark that a wheel is yanked (PEP 592), or no longer.
struct Yank {
  std::string file_name = {};
  std::string folder = {};                 ///< Directory of the wheel, as in IndexedWheel.
  std::string project = {};                ///< PEP 503 normal form, with '-'.
  std::optional<std::string> reason = {};  ///< "" = none; nullopt: it is not yanked any more.
};
/// The SHA-256 with which a page lists the file, in hex; "" where it does not.
std::string DigestInPage(const Json& page, const std::string& file_name);
/// True if the page lists the file, in that directory.
bool IsListed(const Json& page, const Yank& yank);
/// True if the page has that mark already.
bool IsYanked(const Json& page, const Yank& yank);
/// Errors: kNotFound (not listed), as AddToProjectPage.
Result<void> SetYanked(Json& page, const Yank& yank);

std::string ProjectHtml(const Json& page);

/// Says it in the pages that IndexWheels has made: of a wheel in `root` in simple/, and in those of the
/// backends that list it; of a wheel in the directory of a backend in the pages of that one. Errors:
/// kNotFound (a wheel that is not listed, a backend without an index), kInvalidInput (a page that is none),
/// kIo.
Result<void> YankWheels(Env& env, const AbsPath& root, const std::vector<Yank>& yanks);

Json EmptyRootPage();
/// Adds `projects`, normal forms; the page is sorted by them. Errors: those of AddToProjectPage.
Result<void> AddToRootPage(Json& page, const std::vector<std::string>& projects);
std::string RootHtml(const Json& page);
/// True if `text` begins like the output of ProjectHtml and RootHtml.
bool IsGeneratedHtml(std::string_view text);

}  // namespace ptpkg::index
