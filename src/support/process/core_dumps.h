#pragma once
// Disables core dumps for processes with secrets. Layer: support.

namespace ptpkg {

/// From now on no core dump is written of this process, however it dies and whoever takes dumps (a file, a
/// program that core_pattern names), and no other process of the user may read its memory. For verbs that
/// hold tokens: the environment, libcurl and messages to servers have copies that nobody wipes. A program
/// that it starts is again as any other (prctl(2), PR_SET_DUMPABLE; execve(2)).
void ForbidCoreDumps();

}  // namespace ptpkg
