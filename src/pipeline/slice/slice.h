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
  std::vector<std::string> allow = {};  ///< Globs of NVIDIA's libraries that are sliced all the same.
  std::optional<AbsPath> output =
      {};  ///< Existing directory, or one to be made; nullopt: the artifact's own.
  /// For wheels: write variant wheels (PEP 825) under the artifact's version, which becomes the null variant.
  bool variant = false;
  std::string cuda = {};  ///< With `variant`: the lowest version of CUDA; "": by the local version, "cu130".
  bool force = false;     ///< Replace files of the new names.
  bool dry_run = false;   ///< Read and say; write nothing.
  /// Messages name keys of extra.ptpkg.slices in place of flags, and say kRefused where the command line
  /// would be wrong.
  bool of_recipe = false;
};

/// Bytes of GPU code by nvcc's names, "sm_90" and "compute_90"; "other" is what has no architecture.
using CodeSizes = std::map<std::string, std::uint64_t, versions::ArchitectureOrder>;

/// A file with GPU code, as it was.
struct SliceableFile {
  std::string path;  ///< In the artifact.
  std::uint64_t size_bytes = 0;
  CodeSizes code = {};
  std::string kept_because = {};  ///< Why no slice changes it; "": slices do.
};

/// A container of GPU code that has nothing for some GPU of the slice, and is kept whole.
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
  std::string form = {};                   ///< "in place", "compact"; "": it is as it was.
  std::string not_compact = {};            ///< Why it is in place although compact was wanted; "" otherwise.
  std::string kept_because = {};           ///< Why it is as it was.
  std::vector<WholeContainer> whole = {};  ///< In file order.
  /// GPU ("9.0") → number of them that have no code for it.
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

/// Reads the artifact once and makes its slices, two at once, each verified (elf::VerifySlice). They get
/// their names together when all are made (Placement). SliceOutcome has them in the order of the request. A
/// wheel gets the label of the slice behind its local version, "+cu130.sm90"; a conda package behind its
/// build string, "h1_0_sm90", with the number and requirement of docs/slices.md; a library keeps its name, in
/// a directory named by the label. A label of an earlier slice is replaced. Files without code for a GPU of
/// the slice stay as they are. As variants, wheels keep their version and get a label, and variant.json. A
/// null variant is sliced with SliceRun::variant alone. Wheels and packages are read again as `ptpkg check`
/// does it, unless `of_recipe`; warns of errors that they have of the artifact. Errors: kUsage (no slice
/// asked for, or two that are the same; a text that is none; neither wheel, conda package nor a file with GPU
/// code; a slice that is the artifact itself), kRefused (no code for a GPU; all of it is in libraries of
/// NVIDIA; a build string of over 64 characters; an artifact that changed meanwhile), kCheckFailed (an error
/// that the artifact has not), kCorrupt (a file that is not what RECORD or paths.json lists), kAlreadyExists,
/// those of elf::PlanSlice and of reading and writing the format.
Result<SliceOutcome> Slice(Env& env, const SliceRun& run);

}  // namespace ptpkg::pipeline
