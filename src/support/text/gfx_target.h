#pragma once
// Names of AMD's GPU architectures. Layer: support. Source: LLVM's "User Guide for AMDGPU Backend", target
// identifiers.

#include <optional>
#include <string>
#include <string_view>

namespace ptpkg {

/// SPIR-V that the driver compiles for the GPU of the machine.
inline constexpr std::string_view kAmdSpirv = "amdgcnspirv";

/// True if an architecture name is AMD's: "gfx90a", "amdgcnspirv"; false for "sm_90" and "compute_90".
bool IsAmdArchitecture(std::string_view name);

/// "gfx90a", "gfx9-4-generic", "gfx90a:sramecc+:xnack-", "amdgcnspirv": the processor and features with
/// '+' or '-' behind them, in the order of their names. nullopt for any other text, and for a feature that is
/// named twice.
std::optional<std::string> NormalGfxTarget(std::string_view text);

}  // namespace ptpkg
