#pragma once
// Keys as users have them: made by OpenSSL's command line, new for each test.

#include <gtest/gtest.h>

#include "support/env.h"

namespace ptpkg::test {

/// Runs openssl in `folder`. Returns its exit code, or -1 when it could not be run.
inline int OpenSsl(Env& env, const AbsPath& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "openssl");
  const auto status = env.process.Run({.argv = arguments, .env = env.variables, .cwd = folder});
  EXPECT_TRUE(status.has_value()) << "openssl is missing: scripts/bootstrap --check";
  return status && status->signal == 0 ? status->code : -1;
}

/// A private key NAME.pem of mode 0600 and its public one NAME.pub in `folder`. `how`: options of `openssl
/// genpkey`; the passphrase of a key that is encrypted is "secret words".
inline void MakeKeyPair(Env& env, const AbsPath& folder, const std::string& name = "key",
                        const std::vector<std::string>& how = {"-algorithm", "ed25519"}) {
  std::vector<std::string> arguments = {"genpkey", "-out", name + ".pem"};
  arguments.insert(arguments.end(), how.begin(), how.end());
  ASSERT_EQ(OpenSsl(env, folder, arguments), 0);
  ASSERT_EQ(OpenSsl(env, folder,
                    {"pkey", "-in", name + ".pem", "-passin", "pass:secret words", "-pubout", "-out",
                     name + ".pub"}),
            0);
  ASSERT_TRUE(env.fs.SetMode(folder / (name + ".pem"), 0600).has_value());
}

}  // namespace ptpkg::test
