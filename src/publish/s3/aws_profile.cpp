// Finds AWS keys, region and endpoint where AWS's own clients look: variables first, then the profile in
// ~/.aws/credentials and ~/.aws/config. Half a key in one place is an error, since half from here and half
// from there would sign wrongly. Ways that need another program or server (SSO, roles, credential_process)
// are not followed, and the error names the command that exports such keys.

#include "publish/s3/aws_profile.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "publish/auth/ini.h"
#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

/// Ways to keys that ptpkg does not go; the key of a profile names the way.
constexpr std::array kOtherWays = {"credential_process", "sso_session", "sso_start_url", "role_arn"};

std::string TrimmedVariable(const Env& env, const std::string& name) {
  return std::string(Trim(env.Variable(name)));
}

std::string ProfileOf(const Env& env) {
  const std::string named = TrimmedVariable(env, "AWS_PROFILE");
  return named.empty() ? "default" : named;
}

/// The file that `variable` names, or `usual` below the home directory.
std::optional<AbsPath> AwsFile(const Env& env, const std::string& variable, const std::string& usual) {
  if (auto named = PathOfVariable(env, variable)) return named;
  const auto home = PathOfVariable(env, "HOME");
  return home ? std::optional(*home / ".aws" / usual) : std::nullopt;
}

Result<std::optional<IniSection>> CredentialsOf(Env& env, const std::string& profile) {
  const auto file = AwsFile(env, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
  if (!file) return std::optional<IniSection>();
  return ReadIniSection(env, *file, profile);
}

Result<std::optional<IniSection>> ConfigurationOf(Env& env, const std::string& profile) {
  const auto file = AwsFile(env, "AWS_CONFIG_FILE", "config");
  if (!file) return std::optional<IniSection>();
  PTPKG_TRY(auto section, ReadIniSection(env, *file, "profile " + profile));
  if (section || profile != "default") return section;
  return ReadIniSection(env, *file, profile);
}

std::string ValueOf(const IniSection& section, const std::string& key) {
  const auto found = section.find(key);
  return found == section.end() ? "" : std::string(Trim(found->second));
}

/// Keys of one section; nullopt when it has none. `where`: for messages.
Result<std::optional<AwsKeys>> KeysIn(const IniSection& section, const std::string& where) {
  AwsKeys keys{.id = Secret(ValueOf(section, "aws_access_key_id")),
               .key = Secret(ValueOf(section, "aws_secret_access_key")),
               .session_token = Secret(ValueOf(section, "aws_session_token"))};
  for (const Secret* part : {&keys.id, &keys.key, &keys.session_token}) {
    if (part->Reveal().find_first_of("\r\n") != std::string::npos)
      return Error(ErrorCode::kUsage, fmt::format("{} a key of more than one line", where));
  }
  if (keys.id.empty() && keys.key.empty()) return std::optional<AwsKeys>();
  if (!keys.id.empty() && !keys.key.empty()) return std::optional(std::move(keys));
  return Error(ErrorCode::kRefused, fmt::format("{} half of a key: its id or its secret is missing", where))
      .WithHint("set both in the same place, as AWS's own clients require");
}

struct Setting {
  std::string value;
  std::string from;
};

/// The text is not shown: the further lines can be keys, indented by mistake.
Result<void> RequireOneLine(const Setting& setting) {
  if (setting.value.find_first_of("\r\n") == std::string::npos) return Ok();
  return Error(ErrorCode::kUsage, fmt::format("{} has more than one line", setting.from))
      .WithHint("write it in one line; in a file, indented lines continue the value above them");
}

Error NoKeys(const std::string& profile, const std::optional<IniSection>& configuration) {
  Error error(ErrorCode::kRefused, "no key for S3 was found");
  if (configuration) {
    for (const char* way : kOtherWays) {
      if (!configuration->contains(way)) continue;
      return std::move(error).WithHint(
          fmt::format("profile '{}' has {}, which ptpkg does not follow: run 'eval \"$(aws configure "
                      "export-credentials --format env)\"' first",
                      profile, way));
    }
  }
  return std::move(error).WithHint(
      "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; 'ptpkg explain publishing' says "
      "where else ptpkg looks for them");
}

}  // namespace

Result<AwsSettings> ReadAwsSettings(Env& env) {
  const std::string profile = ProfileOf(env);
  PTPKG_TRY(const auto configuration, ConfigurationOf(env, profile));
  PTPKG_TRY(const auto credentials, CredentialsOf(env, profile));
  const auto first = [&](const std::vector<std::string>& variables, const std::string& key) -> Setting {
    for (const std::string& variable : variables) {
      std::string value = TrimmedVariable(env, variable);
      if (!value.empty()) return {std::move(value), variable};
    }
    std::string value = configuration ? ValueOf(*configuration, key) : "";
    if (value.empty() && credentials) value = ValueOf(*credentials, key);
    return {std::move(value), fmt::format("'{}' of profile '{}'", key, profile)};
  };
  Setting endpoint = first({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, "endpoint_url");
  Setting region = first({"AWS_REGION", "AWS_DEFAULT_REGION"}, "region");
  for (const Setting* setting : {&region, &endpoint}) PTPKG_CHECK(RequireOneLine(*setting));
  return AwsSettings{.region = std::move(region.value),
                     .endpoint = std::move(endpoint.value),
                     .endpoint_from = std::move(endpoint.from)};
}

Result<AwsKeys> FindAwsKeys(Env& env) {
  const IniSection variables = {{"aws_access_key_id", TrimmedVariable(env, "AWS_ACCESS_KEY_ID")},
                                {"aws_secret_access_key", TrimmedVariable(env, "AWS_SECRET_ACCESS_KEY")},
                                {"aws_session_token", TrimmedVariable(env, "AWS_SESSION_TOKEN")}};
  PTPKG_TRY(auto keys, KeysIn(variables, "the environment has"));
  if (keys) return *std::move(keys);
  const std::string profile = ProfileOf(env);
  PTPKG_TRY(const auto credentials, CredentialsOf(env, profile));
  PTPKG_TRY(const auto configuration, ConfigurationOf(env, profile));
  for (const auto* section : {&credentials, &configuration}) {
    if (!*section) continue;
    PTPKG_TRY(keys, KeysIn(**section, fmt::format("profile '{}' has", profile)));
    if (keys) return *std::move(keys);
  }
  return NoKeys(profile, configuration);
}

}  // namespace ptpkg::publish
