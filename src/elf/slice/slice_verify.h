#pragma once
// Compares a sliced file, or a file of MakeSlicedFile, with its original, by a fresh read of both. Layer:
// elf.

#include "elf/slice/device_slice.h"

namespace ptpkg::elf {

/// Checks that `sliced` is a slice of `original` for `request`, in either form. It uses one fact of the plan:
/// bytes that a file of MakeSlicedFile takes from the original need no comparison with it. Rules:
/// - Both have the same containers in the same order. Each has exactly the elements that the request keeps,
///   with equal bytes and in their order. Everything else in the sections is zero.
/// - Every address that the original's segments have bytes for has the same bytes. Its rights are equal too,
///   except the right to execute where a part of a segment has no code.
/// - Exceptions: addresses of sections of containers, of the ELF header and the program headers. Pointers to
///   containers lead to the same container. Notes, hash tables, .dynsym and the interpreter's name can move
///   whole, and .dynamic follows.
/// - Every other section, loaded or not, has the same name, type, address, size and bytes. In .symtab only
///   symbols of containers and moved sections have other values.
/// - The loader's rules for segments apply (CheckSegments).
/// - Equal sizes, as always for objects and archives: no container moved, and all bytes outside of containers
///   are equal.
///
/// `jobs`: number of threads that compare bytes. Errors: kInternal naming the first difference, and any read
/// error. Cost: reads both files once, except zeros. Memory: 8 MB, and 2 MB for each job.
Result<void> VerifySlice(File& original, File& sliced, const SliceRequest& request, int jobs = 1);

}  // namespace ptpkg::elf
