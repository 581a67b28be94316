#pragma once
// Compares a sliced file, or one that MakeSlicedFile shows, with its original, by a fresh read of both.
// Layer: elf.

#include "elf/slice/device_slice.h"

namespace ptpkg::elf {

/// Checks that `sliced` is a slice of `original` for `request`, whichever form it has. Nothing of the
/// plan is used but this: what a file of MakeSlicedFile takes from the original needs no comparison with it.
/// - Both have the same containers in the same order; each has exactly the elements that the request keeps,
///   with equal bytes and in their order; everything else in the sections is zero.
/// - Every address that the original's segments have bytes for has the same bytes, with the same rights (but
///   that to execute, where a part of a segment has no code). Others are those of sections of containers, of
///   the ELF header and the program headers; pointers to containers lead to the same container. Notes, hash
///   tables, .dynsym and the interpreter's name may have moved whole; .dynamic follows.
/// - Every other section, loaded or not, has the same name, type, address, size and bytes; in .symtab only
///   symbols of containers and moved sections have other values.
/// - The loader's rules for segments (CheckSegments).
/// If the size is the same, as it always is for objects and archives: no container moved, and all bytes
/// outside of containers are equal. `jobs`: how many threads compare bytes. Errors: kInternal naming the
/// first difference; those of reading. Cost: reads both files once, but for what is zero. Memory: 8 MB, and 2
/// MB for each job.
Result<void> VerifySlice(File& original, File& sliced, const SliceRequest& request, int jobs = 1);

}  // namespace ptpkg::elf
