#pragma once
// Finds libraries of this machine like ld.so. Layer: repair. Source: ld.so(8); tests/peers compares with
// auditwheel's lddtree.

#include <optional>
#include <string>
#include <vector>

#include "elf/load/loader_compatibility.h"
#include "repair/loader_cache.h"
#include "support/env.h"

namespace ptpkg::repair {

struct HostSearch {
  /// Name in NEEDED. A name with a '/' is opened unchanged. If that file does not exist, its file name is
  /// looked for in the directories that are searched before all others.
  std::string name;
  elf::Host host;  ///< Files for other processors are passed over.
  /// Absolute directories of the asking file's search path, tokens replaced; searched before LD_LIBRARY_PATH.
  std::vector<std::string> rpath = {};
  std::vector<std::string> runpath = {};  ///< Like rpath, but searched after LD_LIBRARY_PATH.
};

class HostLibraries {
 public:
  /// `first`: directories that are searched before all others. `own_only`: search only `first`, for wheels of
  /// another C library than this machine's. If the machine has no readable loader cache, only its usual
  /// directories are searched. Errors: kIo, kInvalidInput (`first` is not a directory).
  static Result<HostLibraries> Read(Env& env, std::vector<AbsPath> first, bool own_only);

  /// The first file that fits, by the path where it was found, without following links. nullopt: there is
  /// none. Subdirectories for better processors are skipped. Errors: kIo.
  [[nodiscard]] Result<std::optional<AbsPath>> Find(Env& env, const HostSearch& search) const;

 private:
  std::vector<AbsPath> first_;
  bool own_only_ = false;
  std::vector<std::string> environment_;
  LoaderCache cache_;
};

}  // namespace ptpkg::repair
