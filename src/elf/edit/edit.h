#pragma once
// Edits search path, NEEDED, SONAME, interpreter and stack flag of ELF files. Layer: elf. All edits of a file
// are one transaction.
//
// Cost is that of the change, never that of the file. Tiers (docs/formats/elf-search-path.md):
//   nothing  the file already says so: it is not opened for writing, its mtime stays;
//   in place the new strings fit where the old ones stand, or in spare room of .dynstr;
//   spare    as in place, and a new dynamic entry takes a spare DT_NULL;
//   append   one loadable segment is added at the end of the file (or the one added before is
//            extended) with .dynstr, and .dynamic, version requirements, interpreter and program
//            headers as far as they need room. No code or data moves; spare room for later edits is
//            left, so that the next edit is in place.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elf/read/image.h"
#include "support/files/fs.h"

namespace ptpkg::elf {

/// Changes to make. Members left empty stay as they are.
struct Edits {
  /// The one search path of the file afterwards: DT_RPATH and DT_RUNPATH that exist become one entry
  /// with this tag and text. An empty text is written as an empty entry.
  std::optional<SearchPath> search_path;
  bool remove_search_path = false;  ///< Drops both tags. REQUIRES: no `search_path`.

  /// Applied in this order. Old name → new name, also in the version requirements that name it.
  std::map<std::string, std::string> replace_needed;
  /// Version requirements on a removed library go with it, and its symbols become unversioned: ld.so
  /// aborts on a requirement for a library that is not in NEEDED.
  std::vector<std::string> remove_needed;
  std::vector<std::string> add_needed;  ///< Put before all others, in this order; one that is there is kept.

  std::optional<std::string> soname;       ///< Added if the file has none.
  std::optional<std::string> interpreter;  ///< kUnsupported if the file names none.
  std::optional<bool> executable_stack;    ///< PT_GNU_STACK is added if the file has none.
  bool no_default_libraries = false;       ///< Sets DF_1_NODEFLIB: the system's directories are not searched.
  bool add_debug_entry = false;            ///< Adds DT_DEBUG if the file has none.

  /// Lets the file grow in a way that strip, objcopy and their like do not understand: they would
  /// destroy it afterwards without a word (EditPlan::strip_hazard). Else that is kUnsupported.
  bool allow_strip_hazard = false;

  /// Lets the file grow although bytes that no header names stand behind its end: a payload (of
  /// PyInstaller, a self-extracting archive), whose reader looks for it there. Else that is kUnsupported.
  bool allow_payload = false;

  /// Byte written over a superseded string that nobody uses. NUL keeps the room for later strings.
  char blank = '\0';
};

enum class WriteTier : std::uint8_t { kNothing, kInPlace, kSpareEntry, kAppend };

/// "nothing", "in place", "spare entry", "append".
std::string_view WriteTierName(WriteTier tier);

/// One write: `bytes` at `offset`, or `copy_bytes` of the file's own bytes from `copy_from`.
struct PlannedWrite {
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes;
  std::uint64_t copy_from = 0;
  std::uint64_t copy_bytes = 0;

  [[nodiscard]] std::uint64_t size_bytes() const { return bytes.size() + copy_bytes; }
};

struct EditPlan {
  WriteTier tier = WriteTier::kNothing;
  /// In the order of writing. Where the file grows, everything beyond its old end comes first, and each
  /// prefix of the list leaves a file that loads as the old one, until one write inside one page
  /// switches to the new; after it each prefix loads as the new one.
  std::vector<PlannedWrite> writes;
  std::uint64_t old_size = 0;
  std::uint64_t new_size = 0;
  LinkFacts before;
  LinkFacts after;  ///< Facts that a re-read must find; checked after the write.
  FileStat seen;    ///< The file as planned; ApplyEdit refuses another one.
  /// The program headers leave the front of the file, where strip expects them: what stands behind them
  /// cannot move, and no slot is free.
  bool strip_hazard = false;

  /// True if `now` is still the planned file with that content.
  [[nodiscard]] bool IsFor(const FileStat& now) const;

  [[nodiscard]] std::uint64_t BytesToWrite() const;
  [[nodiscard]] std::uint64_t BytesGrown() const { return new_size - old_size; }
};

/// Plans `edits` of the open `file`, whose headers are `image`; reads only.
/// Errors: kRefused (changed since its headers were read), kUnsupported (static file, loader, payload, strip
/// hazard, no interpreter to change, 32-bit file that would pass 4 GiB), kCorrupt (strings or segments
/// contradict each other), kInvalidInput (a NUL in a text), kIo.
Result<EditPlan> PlanEdit(File& file, const Image& image, const Edits& edits);

enum class Verification : std::uint8_t {
  kQuick,  ///< Re-read equals plan; segments are sound. Costs a few pages.
  /// Also, by LIEF: link facts as planned; dynamic symbols, their versions and notes (build id) as before;
  /// and the bytes of the executable segments as before. Costs several passes over the file and memory of 1.5
  /// times its size.
  kDeep,
  /// If the file grows, LIEF reads the tables that names are made of (name_tables.h) before and after,
  /// with the same comparisons, and no planned write may touch an executable section: 0.1 s and 40 MB for a
  /// library of 448 MB instead of 6 s and 1.4 GB. An edit in place is known byte by byte: kQuick.
  kDeepIfGrown,
};

/// Name prefix of the scratch directory of an edit by copy; it is made beside the file.
inline constexpr std::string_view kEditFolderPrefix = ".ptpkg-edit";

enum class Writer : std::uint8_t {
  kOwn,
  /// LIEF writes the whole file anew, and may move what is in it (docs/decisions/0010-lief-writer.md); the
  /// plan's writes are not used, its `after` is. Always verified as by kDeep, but that addresses may move,
  /// all by the same distance.
  kLief,
};

struct ApplyOptions {
  bool keep_mtime = false;  ///< By default a changed file gets a new mtime, as by any editor.
  Verification verification = Verification::kQuick;
  Writer writer = Writer::kOwn;
};

/// Carries out a plan on `path`.
/// A file with other hard links, without write permission, or running as a program is copied beside
/// itself, edited and renamed over the name: mode, owner, extended attributes and access list are kept
/// (without the owner no set-ID bits); the other links keep the old content. It needs a directory that may be
/// written. Otherwise the writes go to the file itself, whatever its directory allows; unless one write
/// inside one page does it all, an undo record stands behind the file's end for the duration
/// (elf/edit/undo.h), so that after a kill RecoverEdit restores the old file. Afterwards the file is re-read:
/// it must say plan.after, and its segments must be sound; if not, or if a write fails, the old content is
/// restored. The file is locked (flock) meanwhile, so that other processes of ptpkg wait for their turn.
/// Nothing is synced: this survives the death of the process, not of the machine. File capabilities
/// (security.capability) go either way, as the kernel takes them away at any write. Errors: kInvalidInput
/// (symlink, not a regular file), kRefused (changed since planned), kIo, kInternal (verification failed).
Result<void> ApplyEdit(Fs& fs, const AbsPath& path, const EditPlan& plan, const ApplyOptions& options = {});

/// RecoverEdit, ReadImage, PlanEdit and ApplyEdit in one. Errors: those of all four; kUnsupported if not ELF.
Result<EditPlan> EditFile(Fs& fs, const AbsPath& path, const Edits& edits, const ApplyOptions& options = {});

/// If an edit of `path` was interrupted, puts the old bytes back and removes its record. Returns whether it
/// did. Waits for an edit that is under way. Errors: kRefused when the file was written since by something
/// else, kCorrupt when the record itself was, kIo.
Result<bool> RecoverEdit(Fs& fs, const AbsPath& path);

struct RecoveredFile {
  /// Read only. Holds a shared lock of the file until it is destroyed, so that no edit by another process is
  /// seen half done; it must be gone before ApplyEdit, which waits for the lock.
  std::unique_ptr<File> file;
  bool interrupted = false;  ///< RecoverEdit has something to do.
};

/// The file as RecoverEdit would leave it; writes nothing. Waits for an edit that is under way, up to a
/// minute. Errors: those of RecoverEdit; kRefused when the file stays locked.
Result<RecoveredFile> OpenRecovered(Fs& fs, const AbsPath& path);

/// Errors: kCorrupt if the file ends with the record of an edit that was interrupted; kIo.
Result<void> CheckFinished(File& file);

/// Checks the loader's requirements: PT_LOADs in ascending order, without overlap, addresses congruent to
/// offsets modulo p_align; PT_DYNAMIC and PT_PHDR inside a PT_LOAD. Errors: kCorrupt.
Result<void> CheckSegments(const Image& image);

}  // namespace ptpkg::elf
