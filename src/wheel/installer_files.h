#pragma once
// Recognises files that installers write. Layer: wheel. Sources: PyPA "Recording installed projects", PEP
// 710, PEP 815; uv, distutils.

#include <array>
#include <string_view>

namespace ptpkg::wheel {

/// Files that installers add to .dist-info, and signatures of a RECORD, which is written anew. A wheel that
/// carried them would misstate its own installation. RECORD itself is not among them.
inline constexpr std::array<std::string_view, 9> kInstallerFiles = {
    "INSTALLER",     "REQUESTED",  "direct_url.json", "provenance_url.json", "uv_cache.json",
    "uv_build.json", "RECORD.jws", "RECORD.p7s",      "installed-files.txt"};

}  // namespace ptpkg::wheel
