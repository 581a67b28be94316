#pragma once
// The licence files of a package. Layer: builder.

#include <string>
#include <vector>

#include "builder/resume/source_record.h"
#include "recipe/recipe.h"
#include "support/digest/hash.h"
#include "support/env.h"

namespace ptpkg::builder {

/// One file that a package keeps, byte for byte: a licence need not be UTF-8.
struct LicenseFile {
  std::string name;                                 ///< Below info/licenses/.
  AbsPath path = AbsPath::Literal("/nonexistent");  ///< Its current path.
  Sha256 sha256;
  std::uint64_t size_bytes = 0;
};

/// The files of about.license_file, but those below the prefix: each glob is looked for below the sources,
/// then in the recipe's directory; the name of a directory means all below it. Sorted by name, without
/// repetitions. To be called as soon as the sources are there: it takes no build to see that a file is
/// missing. Errors: kNotFound for a glob without a match (hint: files that look like licences), kInvalidInput
/// for a file above 16 MiB, kIo, kCancelled. `record`: below `source_root` only what it holds counts, not
/// what an earlier script has made there.
Result<std::vector<LicenseFile>> FindLicenseFiles(Env& env, const recipe::Recipe& recipe,
                                                  const AbsPath& source_root,
                                                  const SourceRecord* record = nullptr);

/// The files of the globs after "${PREFIX}/" (recipe::kPrefixOfLicense), below `prefix`, named by their path
/// there. To be called once the script has run. Errors as above.
Result<std::vector<LicenseFile>> FindPrefixLicenses(Env& env, const recipe::Recipe& recipe,
                                                    const AbsPath& prefix);

}  // namespace ptpkg::builder
