// Finds credentials in the places that the usual clients use, in a fixed order: variables, files, trusted
// publishing, the program `keyring`.
//
// A password in ~/.pypirc belongs to the server of its section. --server can name another one, which must
// not get it, so IsMeantFor compares origins. The same holds for the sections pypi and testpypi without a
// repository. Tokens are held in Secret, which keeps them out of messages. keyring's output is refused if
// it has several lines, because a warning would become part of the token.

#include "publish/auth/credential.h"

#include <fmt/core.h>
#include <vector>

#include "publish/auth/ini.h"
#include "publish/auth/trusted.h"
#include "publish/http/exchange.h"
#include "support/net/url.h"
#include "support/process/shared_variables.h"
#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

constexpr std::uint64_t kTokenFileBytes = 64U << 10U;
constexpr std::chrono::seconds kKeyringTimeout{30};

/// `text` without blanks around it; nullopt if nothing is left. `place`: for people. Errors: kUsage for more
/// than one line: most servers get it in an HTTP header.
Result<std::optional<Secret>> OneLine(std::string_view text, const std::string& place) {
  std::string value(Trim(text));
  if (value.empty()) return std::optional<Secret>();
  Secret secret(std::move(value));
  if (secret.Reveal().find_first_of("\r\n") == std::string::npos) return std::optional(std::move(secret));
  return Error(ErrorCode::kUsage, fmt::format("the token or password in {} has more than one line", place));
}

Result<std::optional<Secret>> FirstVariable(const Env& env, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    PTPKG_TRY(auto value, OneLine(env.Variable(name), name));
    if (value) return value;
  }
  return std::optional<Secret>();
}

/// Like urllib.parse.quote_plus: quotes '/' and ':' too.
std::string QuotePlus(const std::string& url) { return ReplaceAll(PercentEncode(url), "%20", "+"); }

/// The text of a token file; nullopt if there is none.
Result<std::optional<Secret>> ReadTokenFile(Env& env, const AbsPath& path) {
  PTPKG_TRY(const bool there, Exists(env.fs, path));
  if (!there) return std::optional<Secret>();
  PTPKG_TRY(const std::string text, ReadFile(env.fs, path, kTokenFileBytes));
  return OneLine(text, fmt::format("'{}'", path.str()));
}

std::vector<AbsPath> AnacondaTokenFolders(const Env& env) {
  std::vector<AbsPath> folders;
  if (const auto path = PathOfVariable(env, "BINSTAR_CONFIG_DIR")) folders.push_back(*path / "tokens");
  const auto home = PathOfVariable(env, "HOME");
  const auto data = PathOfVariable(env, "XDG_DATA_HOME");
  if (data) folders.push_back(*data / "binstar");
  if (home && !data) folders.push_back(*home / ".local/share/binstar");
  if (home) folders.push_back(*home / ".continuum/anaconda-client/tokens");
  return folders;
}

/// Password from the program `keyring`; nullopt without the program, or if it has none. The token is in its
/// output alone, which is neither logged nor kept.
Result<std::optional<Secret>> AskKeyring(Env& env, const std::string& service, const std::string& user) {
  const auto program = FindProgram("keyring", PathVariable(env.variables));
  if (!program) return std::optional<Secret>();
  PTPKG_TRY(const ExitStatus status, env.process.Run({.argv = {program->str(), "get", service, user},
                                                      .env = SharedVariables(env),
                                                      .timeout = kKeyringTimeout,
                                                      .cancel = &env.cancel}));
  std::string token(Trim(status.output));
  if (!status.ok() || token.empty()) return std::optional<Secret>();
  if (token.find('\n') != std::string::npos) {
    return Error(ErrorCode::kRefused,
                 fmt::format("'{} get {} {}' prints more than the token", program->str(), service, user))
        .WithHint("run it by hand: its warnings would become part of the token");
  }
  return std::optional(Secret(std::move(token)));
}

/// The last place: without a token there, the error names `variable` as the one to set. `why_none`: tells
/// what kept ptpkg from a token before.
Result<Secret> OfKeyring(Env& env, const std::string& url, const std::string& user,
                         const std::string& variable, const std::optional<Error>& why_none = {}) {
  PTPKG_TRY(auto token, AskKeyring(env, url, user));
  if (token) return *std::move(token);
  if (why_none) return *why_none;
  return Error(ErrorCode::kRefused, fmt::format("no token found for '{}'", url))
      .WithHint(fmt::format("set {}, or see 'ptpkg explain publishing' for other places", variable));
}

std::optional<AbsPath> PypircPath(const Env& env) {
  if (auto named = PathOfVariable(env, "TWINE_CONFIG_FILE")) return named;
  const auto home = PathOfVariable(env, "HOME");
  return home ? std::optional(*home / ".pypirc") : std::nullopt;
}

/// True if the section's password belongs to the server of `url`: --server may name another.
Result<bool> IsMeantFor(const std::optional<PypircSection>& section, const std::string& name,
                        const std::string& url) {
  if (!section) return false;
  PTPKG_TRY(const std::string origin, OriginOf(url));
  if (section->repository.empty()) {
    return (name != "pypi" || origin == "https://upload.pypi.org") &&
           (name != "testpypi" || origin == "https://test.pypi.org");
  }
  PTPKG_TRY(const std::string own, OriginOf(section->repository));
  return own == origin;
}

/// Errors: kUsage for a user name or password that goes on in the next line, where a key is indented by
/// mistake. twine would send all of it as one value.
Result<void> RequireOneLine(const Env& env, const std::string& name, const PypircSection& section) {
  const std::optional<AbsPath> path = PypircPath(env);
  const auto goes_on = [](const std::string& value) { return value.find('\n') != std::string::npos; };
  const bool is_user = section.user && goes_on(*section.user);
  if (!is_user && !(section.password && goes_on(section.password->Reveal()))) return Ok();
  return Error(ErrorCode::kUsage,
               fmt::format("'{}' of section '{}' in '{}' has more than one line",
                           is_user ? "username" : "password", name, path ? path->str() : ".pypirc"))
      .WithHint("remove the indent of the next line, or the line: indented lines continue a value");
}

}  // namespace

Result<Secret> AnacondaToken(Env& env, const std::string& api) {
  PTPKG_TRY(auto given, FirstVariable(env, {"BINSTAR_API_TOKEN", "ANACONDA_API_TOKEN", "ANACONDA_API_KEY"}));
  if (given) return *std::move(given);
  for (const AbsPath& folder : AnacondaTokenFolders(env)) {
    PTPKG_TRY(auto token, ReadTokenFile(env, folder / (QuotePlus(api) + ".token")));
    if (token) return *std::move(token);
  }
  return OfKeyring(env, api, "token", "ANACONDA_API_TOKEN");
}

Result<Secret> TokenFrom(Env& env, const std::vector<std::string>& variables, const std::string& url,
                         TrustedToken* trusted) {
  PTPKG_TRY(auto given, FirstVariable(env, variables));
  if (given) return *std::move(given);
  if (trusted == nullptr) return OfKeyring(env, url, "token", variables.front());
  PTPKG_TRY(auto minted, trusted(env, url));
  if (minted) return *std::move(minted);
  return OfKeyring(env, url, "token", variables.front(), WhyNoIdentity(env));
}

Result<std::optional<PypircSection>> ReadPypirc(Env& env, const std::string& name) {
  const std::optional<AbsPath> path = PypircPath(env);
  if (!path) return std::optional<PypircSection>();
  PTPKG_TRY(std::optional<IniSection> lines, ReadIniSection(env, *path, name));
  if (!lines) return std::optional<PypircSection>();
  PTPKG_TRY(const std::optional<IniSection> defaults, ReadIniSection(env, *path, kDefaultSection));
  if (defaults) lines->insert(defaults->begin(), defaults->end());
  for (auto& [key, value] : *lines) value = Trim(value);  // a value can begin in the line below its key
  PypircSection section{.repository = (*lines)["repository"]};
  if (lines->contains("username")) section.user = lines->at("username");
  if (lines->contains("password")) section.password = Secret(lines->at("password"));
  return std::optional(std::move(section));
}

Result<Login> IndexLogin(Env& env, const std::string& name, const std::string& url) {
  constexpr const char* kTokenUser = "__token__";
  struct Pair {
    const char* user;
    const char* password;
  };
  PTPKG_TRY(auto given, FirstVariable(env, {"UV_PUBLISH_TOKEN"}));
  if (given) return Login{.user = kTokenUser, .password = *std::move(given)};
  for (const Pair& pair :
       {Pair{"UV_PUBLISH_USERNAME", "UV_PUBLISH_PASSWORD"}, Pair{"TWINE_USERNAME", "TWINE_PASSWORD"}}) {
    PTPKG_TRY(auto password, FirstVariable(env, {pair.password}));
    if (!password) continue;
    const std::string user = env.Variable(pair.user);
    return Login{.user = user.empty() ? kTokenUser : user, .password = *std::move(password)};
  }
  PTPKG_TRY(std::optional<PypircSection> section, ReadPypirc(env, name));
  PTPKG_TRY(const bool meant, IsMeantFor(section, name, url));
  if (!meant) section.reset();
  if (section) PTPKG_CHECK(RequireOneLine(env, name, *section));
  const std::string user = section && section->user ? *section->user : kTokenUser;
  if (section && section->password) return Login{.user = user, .password = *section->password};
  PTPKG_TRY(auto trusted, TrustedPublishingToken(env, url));
  if (trusted) return Login{.user = kTokenUser, .password = *std::move(trusted), .minted = true};
  PTPKG_TRY(Secret token, OfKeyring(env, url, user, "TWINE_PASSWORD", WhyNoIdentity(env)));
  return Login{.user = user, .password = std::move(token)};
}

}  // namespace ptpkg::publish
