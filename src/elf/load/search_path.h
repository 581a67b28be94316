#pragma once
// Parses and formats search paths. Layer: elf. Source: ld.so(8) "Dynamic string tokens", and the rules of
// conda-build (post.py mk_relative_linux) and rattler-build (linux/link.rs) for entries to keep and drop.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/path.h"

namespace ptpkg::elf {

/// "" → no entries. Otherwise splits at ':', and keeps empty entries: for ld.so they mean the working
/// directory.
std::vector<std::string> SplitSearchPath(std::string_view text);
/// The text ld.so reads. REQUIRES: no entry holds ':'.
std::string JoinSearchPath(const std::vector<std::string>& entries);

/// The part of `entry` after $ORIGIN or ${ORIGIN}, as a relative path ("" for the directory itself);
/// nullopt when the entry does not begin with that token.
std::optional<std::string> AfterOrigin(std::string_view entry);

/// Values that ld.so substitutes for the dynamic string tokens, for one file on one machine.
struct TokenValues {
  std::string origin;    ///< $ORIGIN: the directory through which the file was opened.
  std::string lib;       ///< $LIB: "lib64", "lib", "lib/x86_64-linux-gnu", as the distribution was built.
  std::string platform;  ///< $PLATFORM: the processor, "x86_64", "haswell".
};

/// `text` with every token, plain or in braces, replaced. A token ends before the first character that no
/// identifier can hold. All other text stays, '$' included. Source: glibc elf/dl-load.c, is_dst.
std::string ExpandTokens(std::string_view text, const TokenValues& values);
/// True if ExpandTokens would replace $`name` in `text`; `name`: "ORIGIN", "LIB", "PLATFORM".
bool UsesToken(std::string_view text, std::string_view name);
/// As UsesToken for one of these names.
bool UsesAnyToken(std::string_view text);

/// `entries` of the tree member `file`, valid at any place of installation. Entries below `build_prefix`
/// become $ORIGIN-relative (the prefix is the tree's root), and $ORIGIN entries stay. Drops all others:
/// absolute entries elsewhere, entries relative to the working directory, empty and repeated entries. An
/// entry that one of the globs `kept` matches stays unchanged.
std::vector<std::string> RelocatableEntries(const std::vector<std::string>& entries, const RelPath& file,
                                            std::string_view build_prefix,
                                            const std::vector<std::string>& kept = {});

}  // namespace ptpkg::elf
