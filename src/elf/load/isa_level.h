#pragma once
// Reads the required x86-64 level of a file. Layer: elf. Source: x86-64 psABI 1.0 "Micro-architecture levels"
// and "Program property"; Linux gABI extensions.

#include <string_view>

#include "elf/read/image.h"

namespace ptpkg::elf {

enum class IsaLevel : std::uint8_t { kUnstated = 0, kBaseline = 1, kV2 = 2, kV3 = 3, kV4 = 4 };

/// "x86-64-v3"; for kUnstated "x86-64-v1", which is what a file without a statement gets.
std::string_view IsaLevelName(IsaLevel level);

/// The highest level in GNU_PROPERTY_X86_ISA_1_NEEDED; kUnstated when the file makes no statement or is for
/// another machine. Compilers write it on request only (ld -z x86-64-v3, gcc -mneeded), so the absence
/// proves nothing. Bits above v4 count as v4. Cost: the property note, at most 1 MiB of notes.
/// Errors: kCorrupt for a note or property that runs past its end, kIo.
Result<IsaLevel> ReadNeededIsaLevel(File& file, const Image& image);

}  // namespace ptpkg::elf
