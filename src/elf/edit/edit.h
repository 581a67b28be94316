#pragma once
// Edits search path, NEEDED, SONAME, interpreter and stack flag of ELF files. Layer: elf. All edits of a file
// are one transaction.
//
// The cost depends on the change, never on the file. Tiers (docs/formats/elf-search-path.md):
// - nothing: the file already has these values; it is not opened for writing, and its mtime stays
// - in place: the new strings fit in place of the old ones, or in spare room of .dynstr
// - spare: as in place, and a new dynamic entry takes a spare DT_NULL
// - append: adds one loadable segment at the end of the file, or extends an earlier one. It holds .dynstr,
//   and, if they need room, .dynamic, version requirements, interpreter and program headers. No code or data
//   moves. It leaves spare room, so that the next edit is in place.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elf/read/image.h"
#include "support/files/fs.h"

namespace ptpkg::elf {

/// Changes to make. Empty members change nothing.
struct Edits {
  /// The only search path of the file afterwards: existing DT_RPATH and DT_RUNPATH become one entry with this
  /// tag and text. An empty text becomes an empty entry.
  std::optional<SearchPath> search_path;
  bool remove_search_path = false;  ///< Drops both tags. REQUIRES: no `search_path`.

  /// Applied in this order, like patchelf. Unless a later edit makes the library needed again, its version
  /// requirements go too, and its symbols become unversioned: ld.so aborts on a requirement for a library
  /// that is not in NEEDED.
  std::vector<std::string> remove_needed;
  /// Old name → new name, also in the version requirements that name it.
  std::map<std::string, std::string> replace_needed;
  std::vector<std::string> add_needed;  ///< Put before all others, in this order; an existing one moves.

  std::optional<std::string> soname;       ///< Added if the file has none.
  std::optional<std::string> interpreter;  ///< kUnsupported if the file has none.
  std::optional<bool> executable_stack;    ///< PT_GNU_STACK is added if the file has none.
  bool no_default_libraries = false;       ///< Sets DF_1_NODEFLIB: ld.so skips the system's directories.
  bool add_debug_entry = false;            ///< Adds DT_DEBUG if the file has none.

  /// Allows the file to grow in a way that strip, objcopy and similar tools do not understand: they would
  /// silently destroy it afterwards (EditPlan::strip_hazard). Without it, such an edit is kUnsupported.
  bool allow_strip_hazard = false;

  /// Allows the file to grow although bytes that no header names follow its end. Such a payload (PyInstaller,
  /// a self-extracting archive) has a reader that looks for it there. Without it, such an edit is
  /// kUnsupported.
  bool allow_payload = false;

  /// Byte written over an unused superseded string. NUL keeps the room for later strings.
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
  /// In the order of writing. If the file grows, everything beyond its old end comes first. Then each prefix
  /// of the list leaves a file that loads as the old one, until one write inside one page switches to the new
  /// one. After that write, each prefix loads as the new one.
  std::vector<PlannedWrite> writes;
  std::uint64_t old_size = 0;
  std::uint64_t new_size = 0;
  LinkFacts before;
  LinkFacts after;  ///< Facts that a re-read must find; checked after the write.
  FileStat seen;    ///< The file as planned; ApplyEdit refuses another one.
  /// The program headers leave the front of the file, where strip expects them: the bytes behind them cannot
  /// move, and no slot is free.
  bool strip_hazard = false;

  /// True if `now` is still the planned file with unchanged content.
  [[nodiscard]] bool IsFor(const FileStat& now) const;

  [[nodiscard]] std::uint64_t BytesToWrite() const;
  [[nodiscard]] std::uint64_t BytesGrown() const { return new_size - old_size; }
};

/// Plans `edits` of the open `file`, whose headers are `image`; reads only. Errors:
/// - kRefused: changed since its headers were read
/// - kUnsupported: static file, loader, payload, strip hazard, no interpreter to change, 32-bit file that
///   would pass 4 GiB
/// - kCorrupt: strings or segments contradict each other
/// - kInvalidInput (a NUL in a text), kIo
Result<EditPlan> PlanEdit(File& file, const Image& image, const Edits& edits);

enum class Verification : std::uint8_t {
  kQuick,  ///< Re-read equals plan; segments are valid. Costs a few pages.
  /// Also checks with LIEF that link facts match the plan. Dynamic symbols, their versions, notes (build id)
  /// and the bytes of the executable segments must be unchanged. Costs several passes over the file and
  /// memory of 1.5 times its size.
  kDeep,
  /// If the file grows, LIEF reads only the tables that hold names (name_tables.h) before and after, with the
  /// same comparisons. No planned write may touch an executable section. For a library of 448 MB this takes
  /// 0.1 s and 40 MB instead of 6 s and 1.4 GB. For an edit in place, whose every byte is known: kQuick.
  kDeepIfGrown,
};

/// Name prefix of the scratch directory of an edit by copy, next to the file.
inline constexpr std::string_view kEditFolderPrefix = ".ptpkg-edit";

enum class Writer : std::uint8_t {
  kOwn,
  /// LIEF writes a whole new file, and can move its parts (docs/decisions/0010-lief-writer.md). This writer
  /// uses only `after` of the plan, not its writes. Always verified as by kDeep, but addresses may move, all
  /// by the same distance.
  kLief,
};

struct ApplyOptions {
  bool keep_mtime = false;  ///< By default a changed file gets a new mtime, as with any editor.
  Verification verification = Verification::kQuick;
  Writer writer = Writer::kOwn;
};

/// Carries out a plan on `path`, under a file lock (flock): other ptpkg processes wait. Afterwards re-reads
/// the file, which must match plan.after and have valid segments. If not, or if a write fails, restores the
/// old content.
/// - By copy: for a file with other hard links, without write permission for its owner, with a set-ID bit, or
///   running as a program. Copies it to the same directory, which must be writable, edits the copy and
///   renames it over the name. Keeps mode, owner, group, extended attributes and access list, or fails (kIo).
///   The other links keep the old content.
/// - In place: for all others, whatever the directory allows. Unless one write inside one page suffices, an
///   undo record follows the file's end for the duration (elf/edit/undo.h). After a kill, RecoverEdit
///   restores the old file from it.
///
/// Nothing is synced: an edit survives the death of the process, not a crash of the machine. File
/// capabilities (security.capability) are lost either way, because the kernel removes them at any write.
/// Errors: kInvalidInput (symlink, not a regular file), kRefused (changed since planned), kIo, kInternal
/// (verification failed).
Result<void> ApplyEdit(Fs& fs, const AbsPath& path, const EditPlan& plan, const ApplyOptions& options = {});

/// Runs RecoverEdit, ReadImage, PlanEdit and ApplyEdit. Errors: as all four; kUnsupported if not ELF.
Result<EditPlan> EditFile(Fs& fs, const AbsPath& path, const Edits& edits, const ApplyOptions& options = {});

/// If an edit of `path` was interrupted, puts the old bytes back and removes its record. Returns true if it
/// did. Waits for a running edit. Errors: kRefused when another program has written the file since, kCorrupt
/// when the record itself was written, kIo.
Result<bool> RecoverEdit(Fs& fs, const AbsPath& path);

struct RecoveredFile {
  /// Read only. Holds a shared lock of the file until destroyed, so that it never shows another process's
  /// edit half done. Destroy it before ApplyEdit, which waits for the lock.
  std::unique_ptr<File> file;
  bool interrupted = false;  ///< RecoverEdit would restore the file.
};

/// The file as RecoverEdit would leave it; writes nothing. Waits up to a minute for a running edit. Errors:
/// as RecoverEdit, and kRefused when the file stays locked.
Result<RecoveredFile> OpenRecovered(Fs& fs, const AbsPath& path);

/// Errors: kCorrupt if the file ends with the record of an interrupted edit; kIo.
Result<void> CheckFinished(File& file);

/// Checks the loader's requirements: PT_LOADs in ascending order, without overlap, addresses congruent to
/// offsets modulo p_align; PT_DYNAMIC and PT_PHDR inside a PT_LOAD. Errors: kCorrupt.
Result<void> CheckSegments(const Image& image);

}  // namespace ptpkg::elf
