// Parses publishing targets (`anaconda:OWNER`, `s3://BUCKET/PREFIX`, …) and makes the client for each.
//
// One table lists the forms, and help texts come from it. A path in place of a target is an error with the
// right URL as a hint. URLs with a query or fragment are refused without showing them, since a query may
// hold a token. The check URL of an index is required, because ptpkg compares digests instead of skipping
// names that exist.

#include "publish/publish_target.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "publish/auth/credential.h"
#include "publish/http/exchange.h"
#include "publish/output/folder_store.h"
#include "publish/output/output_folder.h"
#include "publish/s3/aws_profile.h"
#include "publish/s3/s3_remote.h"
#include "publish/s3/s3_store.h"
#include "publish/servers/anaconda.h"
#include "publish/servers/anaconda_store.h"
#include "publish/servers/channel_servers.h"
#include "publish/servers/package_index.h"
#include "publish/servers/server_store.h"
#include "support/net/url.h"
#include "support/secret.h"
#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

struct TargetForm {
  std::string_view kind;
  std::string_view rest;
  std::string_view meaning;
};
constexpr std::array kForms = {
    TargetForm{"anaconda", "OWNER[/LABEL]", "channel on anaconda.org or --server"},
    TargetForm{"prefix", "CHANNEL", "channel on prefix.dev or --server"},
    TargetForm{"quetz", "CHANNEL", "channel on the quetz server --server"},
    TargetForm{"artifactory", "REPOSITORY", "conda repository on the Artifactory server --server"},
    TargetForm{"pypi", "NAME", "pypi, testpypi, or a section of ~/.pypirc"},
    TargetForm{"s3", "//BUCKET[/PREFIX]", "channel and index in a bucket on AWS or --server"},
    TargetForm{"file", "///DIR", "directory laid out like 'ptpkg build --output'"},
};

struct KnownIndex {
  std::string_view name;
  std::string_view upload;
  std::string_view simple;
};
constexpr std::array kKnownIndexes = {
    KnownIndex{"pypi", "https://upload.pypi.org/legacy/", "https://pypi.org/simple"},
    KnownIndex{"testpypi", "https://test.pypi.org/legacy/", "https://test.pypi.org/simple"},
};

/// "https://host/base/" → "https://host/base"
std::string WithoutSlash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

Error Wrong(const std::string& message) {
  return Error(ErrorCode::kUsage, message).WithHint("ptpkg publish --help lists the forms of --to");
}

Result<std::string> ServerOf(const TargetOptions& options, const std::string& usual) {
  if (!options.server.empty()) return WithoutSlash(options.server);
  if (!usual.empty()) return usual;
  return Wrong(fmt::format("{} needs --server URL", options.to));
}

/// The name of an owner, label, channel or repository: a part of the path of each request. Servers have rules
/// of their own, which are narrower.
Result<void> RequireName(const std::string& name, std::string_view flag) {
  const bool leads_elsewhere = name == "." || name == "..";
  const bool clean = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    constexpr std::string_view kOfUrls = "/\\?#%\x7f";
    return c > ' ' && kOfUrls.find(static_cast<char>(c)) == std::string_view::npos;
  });
  if (!name.empty() && !leads_elsewhere && clean) return Ok();
  return Wrong(fmt::format("{}: '{}' is not the name of an owner, label, channel or repository", flag, name));
}

/// `flag`: the option that `rest` comes from.
Result<AnacondaPlace> AnacondaPlaceOf(const TargetOptions& options, const std::string& rest,
                                      std::string_view flag = "--to") {
  const std::vector<std::string> parts = Split(rest, '/');
  if (parts.size() > 2 || parts.front().empty() || parts.back().empty())
    return Wrong(fmt::format("{} anaconda:{}: not an owner, or owner and label", flag, rest));
  for (const std::string& part : parts) PTPKG_CHECK(RequireName(part, flag));
  PTPKG_TRY(std::string api, ServerOf(options, kAnacondaOrg));
  return AnacondaPlace{
      .api = std::move(api), .owner = parts.front(), .label = parts.size() == 2 ? parts.back() : ""};
}

Result<std::unique_ptr<Remote>> AnacondaOf(Env& env, const TargetOptions& options, const std::string& rest) {
  PTPKG_TRY(AnacondaPlace place, AnacondaPlaceOf(options, rest));
  return MakeAnaconda(env, std::move(place));
}

/// The URL of a server, "" for none. Paths are put behind it. The URL is not shown: it may hold a token.
Result<void> RequireServerUrl(const std::string& url, const std::string& option) {
  if (url.empty()) return Ok();
  if (const auto origin = OriginOf(url); !origin) {
    return Error(ErrorCode::kUsage, fmt::format("{}: {}", option, origin.error().message()))
        .WithHint(origin.error().hint());
  }
  if (url.find_first_of("?#") == std::string::npos) return Ok();
  return Error(ErrorCode::kUsage,
               fmt::format("{}: the URL of a server cannot have a query or fragment", option))
      .WithHint("pass the token in a variable or file; see 'ptpkg explain publishing'");
}

/// Where the token of a target is missing, the CI is asked for an identity of the job. Only then its URL must
/// be https: or of this machine (auth/trusted.cpp).
Result<void> RequireIdentityUrl(const Env& env) {
  constexpr const char* kVariable = "ACTIONS_ID_TOKEN_REQUEST_URL";
  const std::string url = env.Variable(kVariable);
  if (url.empty()) return Ok();
  const auto origin = OriginOf(url);
  if (origin) return Ok();
  return Error(ErrorCode::kUsage, fmt::format("{}: {}", kVariable, origin.error().message()))
      .WithHint(origin.error().hint());
}

Result<std::unique_ptr<Remote>> IndexOf(Env& env, const TargetOptions& options, const std::string& name) {
  IndexPlace place{.name = name, .upload = options.server, .simple = options.check_url};
  if (place.upload.empty()) {
    PTPKG_TRY(const std::optional<PypircSection> section, ReadPypirc(env, name));
    if (section) place.upload = section->repository;
    PTPKG_CHECK(RequireServerUrl(place.upload, fmt::format("'repository' of section '{}' in .pypirc", name)));
  }
  if (place.simple.empty()) {
    place.simple = env.Variable("UV_PUBLISH_CHECK_URL");
    PTPKG_CHECK(RequireServerUrl(place.simple, "UV_PUBLISH_CHECK_URL"));
  }
  // The two that twine and uv know without a file; another server of that name has another index.
  for (const KnownIndex& known : kKnownIndexes) {
    if (name != known.name) continue;
    if (place.upload.empty()) place.upload = known.upload;
    if (place.simple.empty() && place.upload == known.upload) place.simple = known.simple;
  }
  if (place.upload.empty())
    return Wrong(
        fmt::format("--to {}: ~/.pypirc has no section '{}' with a repository, and --server is missing",
                    options.to, name));
  if (place.simple.empty()) {
    return Error(ErrorCode::kUsage,
                 fmt::format(
                     "--check-url is required for {}: ptpkg needs it to skip files that are already uploaded",
                     options.to))
        .WithHint("give its simple index with --check-url URL, or set UV_PUBLISH_CHECK_URL");
  }
  PTPKG_CHECK(RequireIdentityUrl(env));
  place.simple = WithoutSlash(place.simple);
  return MakePackageIndex(env, std::move(place));
}

/// `rest`: "//bucket/prefix".
Result<S3Place> BucketOf(Env& env, const TargetOptions& options, const std::string& rest) {
  if (!rest.starts_with("//")) return Wrong(fmt::format("{}: not s3://BUCKET", options.to));
  const std::string place = WithoutSlash(rest.substr(2));
  const std::size_t slash = std::min(place.find('/'), place.size());
  PTPKG_TRY(AwsSettings settings, ReadAwsSettings(env));
  if (!options.server.empty()) settings.endpoint = options.server;
  PTPKG_CHECK(RequireServerUrl(settings.endpoint, settings.endpoint_from));
  return S3Place{.bucket = place.substr(0, slash),
                 .prefix = slash < place.size() ? place.substr(slash + 1) : "",
                 .region = std::move(settings.region),
                 .endpoint = std::move(settings.endpoint)};
}

Result<AbsPath> FolderOf(const TargetOptions& options, const std::string& rest) {
  if (!options.server.empty()) return Wrong(fmt::format("--server cannot be used with {}", options.to));
  constexpr std::string_view kOwnHost = "//localhost/";
  const bool names_host = rest.starts_with(kOwnHost);
  if (rest == kOwnHost.substr(0, kOwnHost.size() - 1))
    return Wrong(fmt::format("{}: not a directory", options.to));
  if (!names_host && !rest.starts_with("///")) {
    return Error(ErrorCode::kUsage, fmt::format("{}: not file:///DIR", options.to))
        .WithHint(fmt::format("use three slashes: file:///{}",
                              rest.substr(std::min(rest.find_first_not_of('/'), rest.size()))));
  }
  PTPKG_TRY(AbsPath folder, AbsPath::Parse(PercentDecode(rest.substr(names_host ? kOwnHost.size() - 1 : 2))));
  PTPKG_CHECK(OutputFolder::RefuseRoot(folder));
  return folder;
}

/// `flag`: the option that `rest` comes from.
Result<ChannelPlace> ChannelOf(const TargetOptions& options, const std::string& kind, const std::string& rest,
                               std::string_view flag = "--to") {
  // A repository of Artifactory can have a path.
  if (kind == "artifactory") {
    for (const std::string& part : Split(rest, '/')) PTPKG_CHECK(RequireName(part, flag));
  } else {
    PTPKG_CHECK(RequireName(rest, flag));
  }
  PTPKG_TRY(std::string server, ServerOf(options, kind == "prefix" ? "https://prefix.dev" : ""));
  return ChannelPlace{.server = std::move(server), .channel = rest};
}

Result<std::unique_ptr<Remote>> RemoteOf(Env& env, const TargetOptions& options, const std::string& kind,
                                         const std::string& rest) {
  if (kind == "anaconda") return AnacondaOf(env, options, rest);
  if (kind == "pypi") return IndexOf(env, options, rest);
  if (kind == "s3") {
    PTPKG_TRY(S3Place bucket, BucketOf(env, options, rest));
    return MakeS3(env, std::move(bucket));
  }
  PTPKG_TRY(ChannelPlace place, ChannelOf(options, kind, rest));
  if (kind == "prefix") {
    PTPKG_CHECK(RequireIdentityUrl(env));
    return MakePrefixDev(env, std::move(place));
  }
  if (kind == "quetz") return MakeQuetz(env, std::move(place));
  return MakeArtifactory(env, std::move(place));
}

struct TargetText {
  std::string kind;
  std::string rest;  ///< Behind the colon.
};

/// The target of a directory that is named by its path, or like a host; "": `text` looks like no path.
std::string FolderTarget(const std::string& text) {
  if (text.starts_with('/')) return "file://" + text;
  if (text.starts_with("~/")) return "file://$HOME" + text.substr(1);
  const bool relative = text == "." || text == ".." || text.find(':') == std::string::npos;
  return relative && text.find_first_of("/.") != std::string::npos ? "file://$PWD/" + text : "";
}

/// "anaconda:me" → "anaconda" and "me". `flag`: the option that it comes from.
Result<TargetText> ParseTarget(const std::string& text, std::string_view flag) {
  // Secrets of a URL, and of a target that somebody gave a query: "pypi:NAME?token=…".
  for (const std::string& url : {text, "target:///" + text}) RememberSecretsOf(url);
  if (text.empty()) return Wrong(fmt::format("{} TARGET is missing", flag));
  const std::size_t colon = text.find(':');
  TargetText parsed{.kind = text.substr(0, colon),
                    .rest = colon == std::string::npos ? "" : text.substr(colon + 1)};
  std::vector<std::string> kinds;
  for (const TargetForm& form : kForms) kinds.emplace_back(form.kind);
  if (std::find(kinds.begin(), kinds.end(), parsed.kind) != kinds.end() && !parsed.rest.empty())
    return parsed;
  if (const std::string folder = FolderTarget(text); !folder.empty()) {
    return Error(ErrorCode::kUsage, fmt::format("{} {}: a path is not a target", flag, text))
        .WithHint(fmt::format("use the URL of the directory: {} {}", flag, folder));
  }
  const auto nearest = NearestMatch(parsed.kind, kinds);
  return Wrong(
      fmt::format("{} {}: unknown target; use one of {}{}", flag, text, Join(kinds, ", "),
                  nearest && *nearest != parsed.kind ? fmt::format("; did you mean '{}:'?", *nearest) : ""));
}

Result<std::unique_ptr<Store>> AnacondaStoreOf(Env& env, const TargetOptions& from, const TargetText& here,
                                               const std::optional<TargetText>& there) {
  PTPKG_TRY(AnacondaPlace place, AnacondaPlaceOf(from, here.rest, "--from"));
  AnacondaPlace to;
  if (there) {
    PTPKG_TRY(to, AnacondaPlaceOf(from, there->rest));
  }
  return MakeAnacondaStore(env, std::move(place), std::move(to));
}

/// `there`: of the same kind as `here`; nullopt: nothing is copied.
Result<std::unique_ptr<Store>> StoreOf(Env& env, const TargetOptions& from, const TargetText& here,
                                       const std::optional<TargetText>& there) {
  if (here.kind == "anaconda") return AnacondaStoreOf(env, from, here, there);
  if (here.kind == "pypi") {
    return Error(ErrorCode::kRefused, fmt::format("{}: package indexes have no API for changes", from.to))
        .WithHint(
            "yank or remove files on the index's website (pypi.org: /manage/project/NAME/release/VERSION/)");
  }
  if (there && here.kind != "artifactory") {
    return Error(ErrorCode::kRefused, fmt::format("{}: the server cannot copy artifacts", from.to))
        .WithHint("publish the artifact to the other target: ptpkg publish ARTIFACT --to TARGET");
  }
  if (here.kind == "s3") {
    PTPKG_TRY(S3Place bucket, BucketOf(env, from, here.rest));
    return MakeS3Store(env, std::move(bucket));
  }
  if (here.kind == "file") {
    PTPKG_TRY(const AbsPath folder, FolderOf(from, here.rest));
    return MakeFolderStore(env, folder);
  }
  PTPKG_TRY(ChannelPlace place, ChannelOf(from, here.kind, here.rest, "--from"));
  if (here.kind == "prefix") {
    PTPKG_CHECK(RequireIdentityUrl(env));
    return MakePrefixDevStore(env, std::move(place));
  }
  if (here.kind == "quetz") return MakeQuetzStore(env, std::move(place));
  if (!there) return MakeArtifactoryStore(env, std::move(place), "");
  PTPKG_TRY(const ChannelPlace copy, ChannelOf(from, there->kind, there->rest));
  return MakeArtifactoryStore(env, std::move(place), copy.channel);
}

}  // namespace

Result<Target> MakeTarget(Env& env, const TargetOptions& options) {
  for (const std::string& url : {options.server, options.check_url}) RememberSecretsOf(url);
  PTPKG_CHECK(RequireServerUrl(options.server, "--server"));
  PTPKG_CHECK(RequireServerUrl(options.check_url, "--check-url"));
  PTPKG_TRY(const TargetText text, ParseTarget(options.to, "--to"));
  const auto& [kind, rest] = text;
  if (!options.check_url.empty() && kind != "pypi")
    return Wrong(fmt::format("--check-url cannot be used with --to {}", options.to));
  if (kind == "file") {
    PTPKG_TRY(AbsPath folder, FolderOf(options, rest));
    return Target(std::move(folder));
  }
  PTPKG_TRY(std::unique_ptr<Remote> remote, RemoteOf(env, options, kind, rest));
  return Target(std::move(remote));
}

Result<std::unique_ptr<Store>> MakeStore(Env& env, const StoreOptions& options) {
  RememberSecretsOf(options.server);
  PTPKG_CHECK(RequireServerUrl(options.server, "--server"));
  PTPKG_TRY(const TargetText from, ParseTarget(options.from, "--from"));
  std::optional<TargetText> to;
  if (!options.to.empty()) {
    PTPKG_TRY(to, ParseTarget(options.to, "--to"));
    // A server can only copy within itself.
    if (to->kind != from.kind) {
      return Error(ErrorCode::kRefused,
                   fmt::format("{} and {} are on different servers", options.from, options.to))
          .WithHint(fmt::format("publish the artifact there: ptpkg publish ARTIFACT --to {}", options.to));
    }
  }
  return StoreOf(env, {.to = options.from, .server = options.server}, from, to);
}

Result<S3Place> ParseBucket(Env& env, const std::string& url, const std::string& option) {
  constexpr std::string_view kScheme = "s3:";
  if (url.starts_with("s3://")) return BucketOf(env, {}, url.substr(kScheme.size()));
  return Error(ErrorCode::kUsage, fmt::format("{}: '{}' is not the URL of a bucket", option, url))
      .WithHint("write s3://BUCKET or s3://BUCKET/PREFIX");
}

std::string TargetForms() {
  std::string text;
  for (const TargetForm& form : kForms)
    text += fmt::format("  {:<26}{}\n", fmt::format("{}:{}", form.kind, form.rest), form.meaning);
  return text;
}

}  // namespace ptpkg::publish
