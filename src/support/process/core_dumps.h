#pragma once
// Disables core dumps for processes with secrets. Layer: support.

namespace ptpkg {

/// Disables core dumps of this process, however it dies and whoever takes dumps (a file, or a program that
/// core_pattern names). No other process of the user can read its memory. For verbs that hold tokens: the
/// environment, libcurl and messages to servers have copies that nobody wipes. Child programs are unaffected
/// (prctl(2), PR_SET_DUMPABLE; execve(2)).
void ForbidCoreDumps();

}  // namespace ptpkg
