#pragma once
// Detects file types by their first bytes. Layer: verify.

#include <cstdint>
#include <optional>
#include <set>

#include "model/staged_tree.h"
#include "support/env.h"
#include "support/files/fs.h"

namespace ptpkg::verify {

/// Formats of machine code: each belongs to systems of its own.
enum class MachineCode : std::uint8_t {
  kElf,      ///< Linux and most others.
  kMachO,    ///< macOS, iOS.
  kPe,       ///< Windows.
  kWasm,     ///< Pyodide.
  kObjects,  ///< An archive of objects, of whatever format.
};

/// True when the file begins with the ELF magic number. Errors: any from reading.
Result<bool> IsElfFile(Fs& fs, const AbsPath& path);

/// The machine code in the file, or nullopt. Errors: any from reading. Sources: PE format, "Signature";
/// mach-o/loader.h, fat.h, WebAssembly, "Modules", ar(5).
Result<std::optional<MachineCode>> MachineCodeOf(Fs& fs, const AbsPath& path);

/// The kinds of machine code in the files of a tree. Errors: any from reading, kCancelled.
Result<std::set<MachineCode>> MachineCodeIn(Env& env, const StagedTree& tree);

}  // namespace ptpkg::verify
