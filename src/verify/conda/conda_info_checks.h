#pragma once
// Checks the documents below info/. Layer: verify. Source: conda/info/info_schema.h.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/finding.h"
#include "support/text/json_fwd.h"

namespace ptpkg::verify {

/// Texts by their name below info/.
using InfoFiles = std::map<std::string, std::string>;

/// JSON and types of each document that `files` holds.
void CheckCondaDocuments(const InfoFiles& files, std::vector<Finding>& findings);

/// link.json against index.json. Gives the names of the programs that an installer makes; none where
/// link.json cannot be read.
std::vector<std::string> CheckCondaLink(const InfoFiles& files, const Json& index,
                                        std::vector<Finding>& findings);

/// The .dist-info directory of the package's own project has the package's version, local labels aside.
void CheckDistInfoVersion(const Json& index, const std::set<std::string>& held,
                          std::vector<Finding>& findings);

/// files, has_prefix, no_link and no_softlink, which conda reads of old packages, name files of the package.
void CheckCondaLists(const InfoFiles& files, const std::set<std::string>& held,
                     std::vector<Finding>& findings);

}  // namespace ptpkg::verify
