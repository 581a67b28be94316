#pragma once
// Runs `ptpkg slice`. Layer: pipeline.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/env.h"
#include "versions/cuda_archs.h"

namespace ptpkg::pipeline {

struct SliceRun {
  /// A wheel, a conda package, or one library, program, object or static archive.
  AbsPath artifact = AbsPath::Literal("/nonexistent");
  std::vector<std::string> gpus = {};   ///< One text for each slice: "9.0", "8.0+8.6".
  bool each = false;                    ///< Instead: a slice for each GPU that there is machine code of.
  bool keep_ptx = false;                ///< elf::SliceRequest::keep_ptx
  bool compact = false;                 ///< Linked files shrink; else dropped code becomes zeros.
  std::vector<std::string> allow = {};  ///< Globs of NVIDIA's libraries that are sliced anyway.
  std::optional<AbsPath> output =
      {};  ///< Existing directory, or one to be made; nullopt: the artifact's own.
  /// For wheels: write variant wheels (PEP 825) under the artifact's version, which becomes the null variant.
  bool variant = false;
  std::string cuda = {};  ///< With `variant`: the lowest version of CUDA; "": by the local version, "cu130".
  bool force = false;     ///< Replace files of the new names.
  bool dry_run = false;   ///< Read and report; write nothing.
  /// Messages name keys of extra.ptpkg.slices instead of flags. Errors that would be kUsage for a command
  /// line are kRefused.
  bool of_recipe = false;
};

/// Bytes of GPU code by nvcc's names, "sm_90" and "compute_90"; "other" has the code without an architecture.
using CodeSizes = std::map<std::string, std::uint64_t, versions::ArchitectureOrder>;

/// A file with GPU code, in the original artifact.
struct SliceableFile {
  std::string path;  ///< In the artifact.
  std::uint64_t size_bytes = 0;
  CodeSizes code = {};
  std::string kept_because = {};  ///< Why no slice changes it; "": slices do.
};

/// A container of GPU code that lacks code for some GPU of the slice, and is kept whole.
struct WholeContainer {
  std::string member = {};   ///< Member of a static archive; "" for other files.
  std::string section = {};  ///< ".nv_fatbin"
  std::uint64_t offset = 0;  ///< In the original file.
  CodeSizes code = {};
  std::vector<std::string> gpus = {};  ///< The GPUs without code in it: "9.0".
};

/// A sliceable file in one slice.
struct FileInSlice {
  std::string path;
  std::uint64_t size_bytes = 0;
  CodeSizes code = {};
  std::string form = {};          ///< "in place", "compact"; "": unchanged.
  std::string not_compact = {};   ///< Why it is in place although `compact` was requested; "" otherwise.
  std::string kept_because = {};  ///< Why it is unchanged.
  std::vector<WholeContainer> whole = {};  ///< In file order.
  /// GPU ("9.0") → number of containers without code for it.
  std::map<std::string, std::uint64_t> gaps = {};
};

struct SliceOfArtifact {
  std::vector<std::string> gpus = {};  ///< "9.0"
  AbsPath to = AbsPath::Literal("/nonexistent");
  std::uint64_t size_bytes = 0;         ///< Size of the written file; 0 with dry_run.
  std::vector<FileInSlice> files = {};  ///< In the order of SliceOutcome::files.
};

struct SliceOutcome {
  AbsPath from = AbsPath::Literal("/nonexistent");
  std::uint64_t size_bytes = 0;
  std::vector<SliceableFile> files = {};  ///< Sorted by path.
  std::vector<SliceOfArtifact> slices = {};
  /// With SliceRun::variant, unless the artifact is one: its copy as null variant, which fits every system.
  std::optional<SliceOfArtifact> fallback = {};
};

/// Reads the artifact once and makes its slices, two at a time, each verified (elf::VerifySlice). They all
/// get their names together at the end (Placement). SliceOutcome has them in the order of the request. Files
/// without code for a GPU of the slice are unchanged.
///
/// The label of a slice becomes part of its name. A wheel has it after its local version, "+cu130.sm90". A
/// conda package has it after its build string, "h1_0_sm90", with the number and requirement of
/// docs/slices.md. A library keeps its name, in a directory named after the label. The label of an earlier
/// slice is replaced. As variants, wheels keep their version and get a label and variant.json. A null variant
/// can be sliced only with SliceRun::variant. Unless `of_recipe`, wheels and packages are read again as
/// `ptpkg check` does, and errors that the artifact already has are warnings.
///
/// Errors: any from elf::PlanSlice and from reading and writing the format, kAlreadyExists, and these:
///
/// - kUsage: no slices, two equal slices, an invalid slice, a slice that is the artifact, an input that
///   is not a wheel, conda package or file with GPU code
/// - kRefused: no code for a GPU, all code in NVIDIA's libraries, a build string of over 64 characters, or an
///   artifact that changed meanwhile
/// - kCheckFailed: an error that the artifact does not have
/// - kCorrupt: a file that differs from RECORD or paths.json
Result<SliceOutcome> Slice(Env& env, const SliceRun& run);

}  // namespace ptpkg::pipeline
