#pragma once
// All limits on untrusted input. Layer: support. docs/limits.md explains each and lists the needs of real
// packages; scripts/check_docs compares the two.

#include <cstddef>
#include <cstdint>

namespace ptpkg::limits {

// Archives, as a sum over one of them.
inline constexpr std::uint64_t kUnpackedBytes = 64ULL << 30U;
inline constexpr std::uint64_t kUnpackedRatio = 200;  ///< Relative to the packed size, above 64 MiB unpacked.
inline constexpr std::uint64_t kMembers = 1'000'000;  ///< Includes directories that no member names.

// Names of files, inside of archives and on disk.
inline constexpr std::size_t kNamePart = 255;     ///< Bytes between two '/': NAME_MAX.
inline constexpr std::size_t kName = 4096;        ///< Bytes of a path: PATH_MAX.
inline constexpr std::size_t kFolderDepth = 128;  ///< Nested directories.

// Documents. Sizes in bytes of the text.
inline constexpr std::size_t kJsonDepth = 64;             ///< Objects and lists inside one another.
inline constexpr std::size_t kJsonValues = 8'000'000;     ///< Values and keys of one document.
inline constexpr std::uint64_t kCondaIndex = 4U << 20U;   ///< Each of index.json, about.json and their like.
inline constexpr std::uint64_t kCondaInfo = 256U << 20U;  ///< All files below info/ together.
inline constexpr std::uint64_t kMetadata = 16U << 20U;    ///< METADATA, WHEEL, entry_points.txt, each.
inline constexpr std::uint64_t kRecord = 128U << 20U;     ///< RECORD.
inline constexpr std::size_t kRecordRows = 1'000'000;     ///< No archive has more members.
inline constexpr std::uint64_t kStatement = 16U << 20U;   ///< A signed statement or an attestation, each.
inline constexpr std::uint64_t kKeyFile = 64U << 10U;     ///< A key in PEM.
inline constexpr std::size_t kTags = 1000;                ///< Plain tags that a wheel's tags expand to.

// Recipes and variant files.
inline constexpr std::uint64_t kRecipe = 1U << 20U;     ///< One file.
inline constexpr std::size_t kYamlDepth = 64;           ///< Lists and mappings inside one another.
inline constexpr std::size_t kYamlNodes = 100'000;      ///< Scalars, lists, mappings and keys of one file.
inline constexpr std::size_t kExpression = 2000;        ///< Bytes of one ${{ }}.
inline constexpr std::size_t kExpressionDepth = 64;     ///< Parentheses, lists and calls.
inline constexpr std::size_t kExpressionHeight = 201;   ///< One more than the operations of "1+1+1+…".
inline constexpr std::size_t kValue = 1U << 20U;        ///< Bytes of one value; 40 for an item of a list.
inline constexpr std::size_t kEvaluation = 64U << 20U;  ///< Bytes of all values of one evaluation.

// Sources.
inline constexpr std::size_t kSubmoduleLevels = 32;  ///< Submodules of submodules of one git source.
inline constexpr std::size_t kPatchSeries = 10'000;  ///< Lines of one series file.

// Limits of output.
inline constexpr std::size_t kFindingsOfAKind = 200;  ///< Per id and severity; the rest is counted.
inline constexpr std::size_t kShownLine = 2000;       ///< Bytes of one line of a child, error or finding.

}  // namespace ptpkg::limits
