#pragma once
// Exported and imported symbols of a file, and relocation faults. Layer: elf. Source: glibc elf/dl-reloc.c,
// do-rel.h, dl-lookup.c, sysdeps/x86_64/dl-machine.h; gABI chapter 5 "Hash Table", DT_RELR.

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "elf/load/load_faults.h"
#include "elf/symbols/offered_names.h"

namespace ptpkg::elf {

/// A symbol that a relocation refers to and that the file does not offer itself, or that ld.so copies.
struct ImportedSymbol {
  std::string name;
  std::uint16_t version = 0;       ///< Index as in .gnu.version; 0 and 1: none.
  std::uint32_t version_hash = 0;  ///< The hash of the version's name; 0: none.
  /// Looked up at the first call, unless the process or the file binds everything at once.
  bool lazy = false;
  bool elsewhere = false;  ///< Not looked up in the file itself.
  bool weak = false;       ///< ld.so continues without a definition.
  bool is_tls = false;     ///< A thread-local variable.

  bool operator==(const ImportedSymbol&) const = default;
};

struct SymbolUse {
  std::vector<std::uint64_t>
      offered;  ///< SymbolKey of each look-up that ld.so answers from the file, sorted.
  std::vector<std::uint64_t> offered_tls;  ///< In place of `offered`, for thread-local variables.
  bool has_versions = false;  ///< DT_VERSYM: its definitions have versions, if only the base version.
  /// In the order of the symbol table.
  std::vector<ImportedSymbol> asked;
  bool binds_now = false;  ///< DF_BIND_NOW, DF_1_NOW or DT_BIND_NOW.
  /// Bytes of the file's own thread-local variables that have to lie in the static block (initial-exec
  /// access).
  std::uint64_t static_tls_bytes = 0;

  /// In any version; a thread-local variable does not count.
  [[nodiscard]] bool ExportsSymbol(std::string_view name) const;
  /// In the version that `symbol` asks for.
  [[nodiscard]] bool Answers(const ImportedSymbol& symbol) const;
  /// True if the answer is a thread-local variable, but `symbol` asks for something else, or the reverse.
  [[nodiscard]] bool AnswersWrongly(const ImportedSymbol& symbol) const;
};

struct RelocationFacts {
  SymbolUse symbols;
  std::vector<LoadFault> faults;   ///< At most one of a kind.
  std::uint64_t symbol_count = 0;  ///< In .dynsym, as far as ld.so's tables say.
};

/// `passed_over`: indexes of versions whose symbols need not be named. REQUIRES: image.dynamic. Cost: the
/// relocation tables, the hash table, the symbol table and the names in `asked`; nothing of MIPS, which has
/// its own rules. Memory: up to 24 bytes for a symbol, beside the names. Errors: kIo.
Result<RelocationFacts> ReadRelocationFacts(File& file, const Image& image,
                                            std::span<const std::uint16_t> passed_over);

/// The answer of dlsym to a process that asks for a function.
enum class EntryPoint : std::uint8_t {
  kUnknown,  ///< The hash table has a form that is not read (MIPS; DT_HASH of s390x and Alpha).
  kAbsent,
  kCode,
  kNoCode,  ///< The symbol is data, or its address is in no executable segment.
};

using EntryPoints = std::map<std::string, EntryPoint, std::less<>>;

/// The answer to each of `names`. `symbol_count`: RelocationFacts::symbol_count. REQUIRES: image.dynamic.
/// Errors: kCorrupt where ld.so would read outside of the tables, kIo.
Result<EntryPoints> FindEntryPoints(File& file, const Image& image, const std::set<std::string>& names,
                                    std::uint64_t symbol_count);

}  // namespace ptpkg::elf
