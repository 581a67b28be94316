#pragma once
// Environment variables that child processes and recipes see. Layer: support.

#include <map>
#include <string>

#include "support/env.h"
#include "support/secret_name.h"

namespace ptpkg {

/// Passphrase of the key that artifacts are signed with.
inline constexpr const char* kPassphraseVariable = "PTPKG_SIGN_PASSPHRASE";

/// Env::variables without what is meant for ptpkg alone. Every child that gets the caller's environment gets
/// this one.
inline std::map<std::string, std::string> SharedVariables(const Env& env) {
  std::map<std::string, std::string> variables = env.variables;
  variables.erase(kPassphraseVariable);
  return variables;
}

/// The variables that expressions of a recipe can read. A secret would stand in plans and packages.
inline std::map<std::string, std::string> VariablesOfRecipes(const Env& env) {
  std::map<std::string, std::string> variables = SharedVariables(env);
  std::erase_if(variables, [](const auto& variable) { return HoldsSecret(variable.first); });
  return variables;
}

}  // namespace ptpkg
