#pragma once
// Converts a package between .conda and .tar.bz2. Layer: conda.

#include "conda/package.h"

namespace ptpkg::conda {

/// Writes the content of `package` to `target`, whose name ends in the other format's extension and begins
/// with "name-version-build". Members keep their names, order, contents, modes and times (whole seconds).
/// Hard links stay hard links. Directories are dropped, because installers make them from the files. The zip
/// gets the time of the newest member, so the bytes depend only on `package` and `options` (levels and
/// window). A package that WritePackages wrote becomes, byte for byte, the other file of the same call. Then
/// reads `target` back, and compares all members with `package`. Memory: the codecs, and some 200 bytes a
/// member. A .conda needs room for its unpacked tar beside `target`. Post: `target` is whole, or absent.
/// Errors:
/// - kAlreadyExists
/// - kInvalidInput: `package` has the target's format already
/// - kCorrupt: as ReadContainer, a member outside its part, a result that differs
/// - kIo, kCancelled
Result<Artifact> TransmutePackage(Env& env, const AbsPath& package, const AbsPath& target,
                                  const WriteOptions& options = {});

}  // namespace ptpkg::conda
