#pragma once
// Checks the dynamic relocations of a file, and notes how they use its symbols. Layer: elf, private to it.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "elf/load/load_faults.h"

namespace ptpkg::elf {

/// Faults of relocations: the first one of each kind.
class RelocationFaults {
 public:
  enum class Kind : std::uint8_t { kType, kPlace, kText, kSymbol, kTarget, kPlain, kSlot, kPltType };

  void Add(Kind kind, std::string message);
  std::vector<LoadFault> Take() && { return std::move(faults_); }

 private:
  std::array<bool, 8> has_ = {};  // by kind
  std::vector<LoadFault> faults_;
};

/// How ld.so looks a symbol up for its relocations.
enum class SymbolLookup : std::uint8_t {
  kNone,
  kLazy,       ///< At the first call.
  kImmediate,  ///< While it loads the file.
  kElsewhere,  ///< At once, and not in the file itself: a COPY relocation.
};

struct RelocationUse {
  bool binds_now = false;                  ///< DF_BIND_NOW, DF_1_NOW or DT_BIND_NOW.
  std::vector<SymbolLookup> lookups = {};  ///< By symbol; empty when their number is not known.
  bool has_static_tls = false;  ///< A variable of the file itself has to be in the static TLS block.
  bool needs_own_tls = false;   ///< The file refers to its own PT_TLS.
  std::vector<std::uint32_t> static_tls_symbols = {};  ///< The first 1,000 with that access, by number.
};

/// True if `vaddr` lies in a segment that can be run.
bool IsCode(const Image& image, std::uint64_t vaddr);

/// Reads all relocations once. `symbols`: how many the symbol table has; nullopt: not known. `faults` has
/// what was found before an error, too. REQUIRES: image.dynamic. Errors: kCorrupt, kIo.
Result<RelocationUse> ReadRelocationUse(File& file, const Image& image, std::optional<std::uint64_t> symbols,
                                        RelocationFaults& faults);

}  // namespace ptpkg::elf
