#pragma once
// Environment variables that child processes and recipes see. Layer: support.

#include <map>
#include <string>

#include "support/env.h"

namespace ptpkg {

/// Passphrase of the key that artifacts are signed with.
inline constexpr const char* kPassphraseVariable = "PTPKG_SIGN_PASSPHRASE";

/// Env::variables without what is meant for ptpkg alone. Every child that gets the caller's environment gets
/// this one, and recipes read no other.
inline std::map<std::string, std::string> SharedVariables(const Env& env) {
  std::map<std::string, std::string> variables = env.variables;
  variables.erase(kPassphraseVariable);
  return variables;
}

}  // namespace ptpkg
