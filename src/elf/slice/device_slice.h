#pragma once
// Takes out of a library, program, object or static archive the GPU code that the wanted GPUs do not need.
// Layer: elf. Source: "Binary Compatibility" and "PTX Compatibility" of NVIDIA's programming guide;
// docs/formats/device-code.md.
//
// A slice is planned from headers alone and is then a list of pieces: bytes of the original, new bytes,
// zeros. MakeSlicedFile reads as the result without writing it anywhere, so that it can be streamed into an
// archive. VerifySlice (elf/slice/slice_verify.h) must pass on it, or on what WriteSlice wrote, before it is
// used.
//
// In place: elements move within their container only, and zeros fill the freed bytes. Works on all files.
// Compact: the file shrinks, and only containers get other addresses. Possible for linked 64-bit files whose
// pointers to containers are relative relocations (RELA, RELR): the containers of each section move together,
// the pointers to them follow, the load segment that holds them is cut behind each section, and the contents
// behind it get a smaller file offset. Other files are sliced in place; SlicePlan::not_compact says why.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "elf/device/device_code.h"

namespace ptpkg::elf {

/// True if a GPU of compute capability `gpu` (90 is 9.0) can use code of that kind and architecture.
/// Machine code: of the same major and an equal or lower minor number, with suffix 'f' too; with suffix 'a'
/// exactly this chip; from and for Tegra chips (32, 53, 62, 72, 87, 101, 110) exactly this number. PTX: of an
/// equal or lower number; 'a' exactly; 'f' as machine code. kOther: never.
bool RunsOn(DeviceCodeKind kind, const DeviceArchitecture& code, std::uint32_t gpu);

/// True if a GPU can use any of the code.
bool HasCodeFor(const DeviceCodeStats& share, std::uint32_t gpu);

enum class SliceForm : std::uint8_t { kInPlace, kCompact };

/// "in place", "compact".
std::string_view SliceFormName(SliceForm form);

struct SliceRequest {
  std::vector<std::uint32_t> gpus = {};  ///< Compute capabilities: 90 is 9.0. At least one.
  SliceForm form = SliceForm::kInPlace;
  bool keep_ptx = false;  ///< Also the highest PTX without suffix of each container, for later GPUs.
};

/// A range of the result.
struct SlicePiece {
  enum class Kind : std::uint8_t {
    kCopy,   ///< The original's bytes from `from` on.
    kBytes,  ///< `bytes`.
    kZeros,
  };
  Kind kind = Kind::kCopy;
  std::uint64_t size_bytes = 0;
  std::uint64_t from = 0;
  std::vector<std::byte> bytes = {};
};

/// A container that has no code for some of the wanted GPUs, and is therefore kept whole.
struct UntouchedContainer {
  std::string member = {};               ///< Member of an archive; "" for other files.
  std::string section = {};              ///< ".nv_fatbin"
  std::uint64_t offset = 0;              ///< In the original file.
  std::vector<std::uint32_t> gaps = {};  ///< The wanted GPUs that it has no code for, ascending.
  DeviceCodeStats code = {};             ///< Its code.
};

struct SlicePlan {
  std::vector<SlicePiece> pieces = {};  ///< The result, in order, without gaps.
  std::uint64_t old_size = 0;
  std::uint64_t new_size = 0;  ///< Sum over the pieces.
  SliceForm form = SliceForm::kInPlace;
  /// Why the form is in place although compact was wanted; "" when it is as wanted. If a file has several
  /// sections: why all but the largest one are in place. A clause without final period: "a symbol of .dynsym
  /// lies in .nv_fatbin".
  std::string not_compact = {};
  /// Over all sections and members. `containers` counts all under `kept`, and those that lost something under
  /// `dropped`.
  DeviceCodeStats kept = {};
  DeviceCodeStats dropped = {};
  std::vector<UntouchedContainer> untouched = {};  ///< In file order.
  FileStat seen = {};                              ///< The file as planned.

  /// True if the result differs from the original.
  [[nodiscard]] bool Changes() const { return dropped.containers != 0; }
  /// Wanted GPU → number of containers without code for it.
  [[nodiscard]] std::map<std::uint32_t, std::size_t> Gaps() const;
};

/// Plans the slice of `file` for all of request.gpus at once; reads only. Of each container is kept, for each
/// of them, the machine code of the highest number that runs on it, with all elements and suffixes of that
/// number that do; without any, the highest PTX that it can be compiled from. Elements of kind kOther are
/// always kept. Nothing to drop is no error: Changes() is false.
/// Errors: kInvalidInput (no GPU asked for; neither ELF file nor archive, or no device code in it; containers
/// that contradict their section or overlap what else is to change), kRefused when a wanted GPU would be left
/// without code, because nothing that counts (DeviceCode::EffectiveCode) has any for it: the message names
/// the GPU and what there is; those of ReadDeviceCode. Cost: a read per element, the dynamic relocations and,
/// where there is one, .symtab. Memory: 11 MB for libtorch_cuda.so (520 MB, 476 containers).
Result<SlicePlan> PlanSlice(File& file, const SliceRequest& request);

/// The result as a file that is only read; borrows both. Errors of reads: those of `file`; kRefused when the
/// file is not the one that was planned.
Result<std::unique_ptr<File>> MakeSlicedFile(File& file, const SlicePlan& plan);

/// Writes the result to `target`, an empty file that is open for reading and writing; zeros become holes
/// where the file system has them. All else is read back. `jobs`: how many threads write; while one does, the
/// others compare. Errors: as MakeSlicedFile; kIo, also for bytes that are not what was written. Memory: 2 MB
/// for each job.
Result<void> WriteSlice(File& file, const SlicePlan& plan, File& target, int jobs = 1);

}  // namespace ptpkg::elf
