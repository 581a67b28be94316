#pragma once
// CycloneDX SBOMs in .dist-info/sboms. Layer: wheel. Sources: CycloneDX 1.6 (JSON), PEP 770, the package URL
// specification, docs/formats/sbom.md.

#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/digest/hash.h"
#include "support/result.h"

namespace ptpkg::wheel {

struct SbomHash {
  std::string algorithm;  ///< Name in CycloneDX: "SHA-256", "SHA-1", "MD5".
  std::string hex;        ///< Lower case.
  auto operator<=>(const SbomHash&) const = default;
};

/// Something in the wheel, a material of it, or a tool that made it. Empty fields are left out.
struct SbomComponent {
  std::string type = "library";  ///< "application", "framework", "library", "file": CycloneDX's words.
  std::string name = {};         ///< "libgomp.so.1", "magma"
  std::string version = {};
  std::string description = {};
  std::string purl = {};  ///< Package URL, as PackageUrl writes it.
  std::vector<SbomHash> hashes = {};
  std::string license = {};               ///< SPDX expression.
  std::string download = {};              ///< URL that its bytes come from, without credentials.
  std::string repository = {};            ///< URL of a version control system,
  std::string commit = {};                ///< and the commit of it that was taken.
  std::vector<std::string> patches = {};  ///< Names of the patches that were applied to it, in order.
  std::map<std::string, std::string> properties = {};  ///< "ptpkg:soname" → "libgomp.so.1": ptpkg's names.
  auto operator<=>(const SbomComponent&) const = default;

  /// Adds its SHA-256.
  void AddHash(const Sha256& sha256) { hashes.push_back({"SHA-256", sha256.Hex()}); }
};

struct Sbom {
  SbomComponent subject = {};                    ///< The subject of the document: the wheel's project.
  std::vector<SbomComponent> components = {};    ///< Content or inputs: libraries, sources.
  std::vector<SbomComponent> made_with = {};     ///< Not in the wheel: compilers, tools, build packages.
  std::map<std::string, std::string> tool = {};  ///< Name → version of the program that writes the document.
};

/// "pkg:<type>/<namespace>/<name>@<version>?<qualifiers>", each part percent-encoded; the namespace may hold
/// '/', and may be "".
struct PackageUrlParts {
  std::string_view type;  ///< "pypi", "conda", "deb", "rpm", "generic", "github"
  std::string_view name_space;
  std::string_view name;
  std::string_view version;
  std::map<std::string, std::string> qualifiers;
};
std::string PackageUrl(const PackageUrlParts& parts);

/// The document as JSON text, UTF-8, with sorted keys. Components are sorted, and equal ones are written
/// once, so equal values in any order give equal bytes. The document has no timestamp; its serial number is a
/// UUID (version 8) of a digest over everything else. Errors: kInvalidInput for a component without a name,
/// with a type or hash that CycloneDX lacks, or with a text that is not UTF-8.
Result<std::string> FormatSbom(const Sbom& sbom);

/// The components of a document from FormatSbom. From other documents, only the fields of SbomComponent are
/// read. Errors: kInvalidInput with the place in `name` (not JSON, no list of components, a component without
/// a name).
Result<std::vector<SbomComponent>> ParseSbomComponents(std::string_view text, const std::string& name);

/// The name below .dist-info of the document that `writer` ("ptpkg", "ptpkg-repair") makes:
/// "sboms/<writer>.cdx.json".
std::string SbomName(std::string_view writer);

}  // namespace ptpkg::wheel
