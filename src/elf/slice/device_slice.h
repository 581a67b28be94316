#pragma once
// Removes GPU code that the requested GPUs do not need from a library, program, object or static archive.
// Layer: elf. Source: "Binary Compatibility" and "PTX Compatibility" of NVIDIA's programming guide;
// docs/formats/device-code.md.
//
// A slice is planned from headers alone. The plan is a list of pieces: bytes of the original, new bytes,
// zeros. The file of MakeSlicedFile reads like the result without writing it anywhere, so that it can be
// streamed into an archive. VerifySlice (elf/slice/slice_verify.h) must pass on it, or on the output of
// WriteSlice, before use.
//
// In place: elements move only within their container, and zeros fill the freed bytes. Works on all files.
// Compact: the file shrinks, and only containers get other addresses. Requires a linked 64-bit file whose
// pointers to containers are relative relocations (RELA, RELR). The containers of each section move together,
// and the pointers to them follow. The load segment that holds them is cut behind each section, and the
// contents behind it get a smaller file offset. Other files are sliced in place; SlicePlan::not_compact gives
// the reason.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "elf/device/device_code.h"

namespace ptpkg::elf {

/// True if a GPU of compute capability `gpu` (90 is 9.0) can use code of that kind and architecture.
/// - Machine code: the same major number, and an equal or lower minor number, with suffix 'f' too
/// - Machine code with suffix 'a': exactly this chip
/// - Machine code from and for Tegra chips (32, 53, 62, 72, 87, 101, 110): exactly this number
/// - PTX: an equal or lower number; with suffix 'a' exactly this number, with suffix 'f' like machine code
/// - kOther: never
bool RunsOn(DeviceCodeKind kind, const DeviceArchitecture& code, std::uint32_t gpu);

/// True if a GPU can use any of the code.
bool HasCodeFor(const DeviceCodeStats& share, std::uint32_t gpu);

enum class SliceForm : std::uint8_t { kInPlace, kCompact };

/// "in place", "compact".
std::string_view SliceFormName(SliceForm form);

struct SliceRequest {
  std::vector<std::uint32_t> gpus = {};  ///< Compute capabilities: 90 is 9.0. At least one.
  SliceForm form = SliceForm::kInPlace;
  bool keep_ptx = false;  ///< Also keep the highest PTX without suffix of each container, for later GPUs.
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

/// A container that has no code for some of the requested GPUs, and is therefore kept whole.
struct UntouchedContainer {
  std::string member = {};               ///< Member of an archive; "" for other files.
  std::string section = {};              ///< ".nv_fatbin"
  std::uint64_t offset = 0;              ///< In the original file.
  std::vector<std::uint32_t> gaps = {};  ///< The requested GPUs that it has no code for, ascending.
  DeviceCodeStats code = {};             ///< Its code.
};

struct SlicePlan {
  std::vector<SlicePiece> pieces = {};  ///< The result, in order, without gaps.
  std::uint64_t old_size = 0;
  std::uint64_t new_size = 0;  ///< Sum over the pieces.
  SliceForm form = SliceForm::kInPlace;
  /// Why the form is in place although the request was compact; "" when it matches the request. If a file has
  /// several sections: why all but the largest one are in place. A clause without final period: "a symbol of
  /// .dynsym lies in .nv_fatbin".
  std::string not_compact = {};
  /// Over all sections and members. In `kept`, `containers` counts all containers. In `dropped`, it counts
  /// the containers that lost something.
  DeviceCodeStats kept = {};
  DeviceCodeStats dropped = {};
  std::vector<UntouchedContainer> untouched = {};  ///< In file order.
  FileStat seen = {};                              ///< The file as planned.

  /// True if the result differs from the original.
  [[nodiscard]] bool Changes() const { return dropped.containers != 0; }
  /// Requested GPU → number of containers without code for it.
  [[nodiscard]] std::map<std::uint32_t, std::size_t> Gaps() const;
};

/// Plans the slice of `file` for all of request.gpus at once; reads only. For each of these GPUs, each
/// container keeps the machine code with the highest number that runs on it. It keeps all elements and
/// suffixes of that number that run on it. Without any, it keeps the highest PTX that the driver can compile
/// for the GPU. Elements of kind kOther always stay. A plan that drops nothing is not an error: Changes() is
/// false. Cost: a read per element, the dynamic relocations and, if there is one, .symtab. Memory: 11 MB for
/// libtorch_cuda.so (520 MB, 476 containers). Errors:
/// - kInvalidInput: no GPU requested, neither ELF file nor archive, no device code in it
/// - kInvalidInput: containers that contradict their section or overlap other parts that change
/// - kRefused: a requested GPU would be left without code, because no code that counts
///   (DeviceCode::EffectiveCode) runs on it; names the GPU and the existing code
/// - as ReadDeviceCode
Result<SlicePlan> PlanSlice(File& file, const SliceRequest& request);

/// The result as a read-only file; borrows both. Read errors: any error from `file`, and kRefused when the
/// file is not the planned one.
Result<std::unique_ptr<File>> MakeSlicedFile(File& file, const SlicePlan& plan);

/// Writes the result to `target`, an empty file that is open for reading and writing. Zeros become holes if
/// the file system supports them. Reads everything else back. `jobs`: number of threads; while one writes,
/// the others compare. Errors: as MakeSlicedFile, and kIo, also for bytes that differ from the written ones.
/// Memory: 2 MB for each job.
Result<void> WriteSlice(File& file, const SlicePlan& plan, File& target, int jobs = 1);

}  // namespace ptpkg::elf
