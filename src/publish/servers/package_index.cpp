// Publishes wheels to PyPI and other package indexes (the upload form that twine sends).
//
// The index is queried by its simple page, which has the digests, with caches bypassed. A redirect to
// another server means that the index has nothing: pypiserver and GitLab send readers on to a public index,
// whose file of that name is not theirs. Entries of one name that disagree count as a different file.
//
// Public indexes refuse local versions and plain linux tags, so these are refused before the login. An
// upload that fails because the name exists may be an earlier try of this run: the caller compares digests.
// Credentials for uploads go to the simple index only at the same origin.

#include "publish/servers/package_index.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <fmt/core.h>
#include <set>

#include "publish/auth/credential.h"
#include "publish/auth/trusted.h"
#include "publish/http/exchange.h"
#include "publish/http/multipart.h"
#include "publish/servers/read_back.h"
#include "publish/servers/simple_page.h"
#include "support/basic_credentials.h"
#include "support/net/resolve_url.h"
#include "support/reporter.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

// Both run the same program.
constexpr std::array<std::string_view, 2> kPublicHosts = {"https://upload.pypi.org", "https://test.pypi.org"};
// A page of a nightly index lists some ten thousand files.
constexpr std::uint64_t kMostPageBytes = 64U << 20U;
// PyPI's own limit for a file unless the project asked for more.
constexpr std::uint64_t kPublicMostBytes = 100U << 20U;

/// The form's name of a metadata field: lower case, '_' for '-', and the plural for some repeated fields.
/// "" for fields that are sent in another way.
std::string FormName(std::string_view field) {
  std::string name = ReplaceAll(ToLower(field), "-", "_");
  if (name == "metadata_version" || name == "name" || name == "version" || name == "description") return "";
  if (name == "classifier") return "classifiers";
  if (name == "project_url") return "project_urls";
  if (name == "import_name") return "import_names";
  if (name == "import_namespace") return "import_namespaces";
  return name;
}

Form UploadForm(const Upload& upload) {
  const wheel::WheelInfo& info = *upload.wheel;
  Form form{.file_field = "content"};
  const auto add = [&](std::string name, std::string value) {
    form.fields.emplace_back(std::move(name), std::move(value));
  };
  add(":action", "file_upload");
  add("protocol_version", "1");
  add("filetype", "bdist_wheel");
  add("pyversion", info.file_name.tag.python);
  add("metadata_version", info.metadata.Get("Metadata-Version"));
  add("name", info.metadata.Get("Name"));
  add("version", info.metadata.Get("Version"));
  add("sha256_digest", upload.digests.sha256.Hex());
  add("md5_digest", upload.digests.md5.Hex());
  for (const auto& [field, value] : info.metadata.fields) {
    std::string name = FormName(field);
    if (!name.empty()) add(std::move(name), value);
  }
  const std::string description =
      info.metadata.description.empty() ? info.metadata.Get("Description") : info.metadata.description;
  if (!description.empty()) add("description", description);
  if (!upload.attestations.empty()) {
    std::vector<std::string> texts;
    for (const Attestation& one : upload.attestations) texts.emplace_back(Trim(one.text));
    add("attestations", fmt::format("[{}]", Join(texts, ", ")));
  }
  return form;
}

class PackageIndex final : public Remote {
 public:
  PackageIndex(Env& env, IndexPlace place, std::string upload_origin, std::string simple_origin)
      : place_(std::move(place)),
        upload_(env, std::move(upload_origin), {{"User-Agent", "ptpkg"}}),
        simple_(env, std::move(simple_origin), {{"User-Agent", "ptpkg"}}) {}

  [[nodiscard]] std::string Title() const override {
    return fmt::format("index '{}' at {}", place_.name, place_.upload);
  }
  [[nodiscard]] std::string ProfileName() const override { return IsPublic() ? "wheel" : "pytorch-index"; }

  [[nodiscard]] Result<void> CheckRules(const Upload& upload) const override {
    if (!upload.wheel) {
      return Error(ErrorCode::kRefused,
                   fmt::format("'{}' is not a wheel, so an index does not accept it", upload.Name()))
          .WithHint("publish conda packages --to anaconda:OWNER or another channel");
    }
    PTPKG_CHECK(RefuseVariantWheel(upload));
    if (!IsPublic()) return Ok();
    const wheel::WheelInfo& info = *upload.wheel;
    for (const std::string& platform : Split(info.file_name.tag.platform, '.')) {
      if (!platform.starts_with("linux_")) continue;
      return Error(ErrorCode::kRefused,
                   fmt::format("'{}' has the platform tag {}, which public indexes reject", upload.Name(),
                               platform))
          .WithHint("give it a manylinux tag with 'ptpkg repair', or publish it to your own index");
    }
    if (info.file_name.version.find('+') != std::string::npos) {
      return Error(ErrorCode::kRefused,
                   fmt::format("'{}' has a local version, which public indexes reject", upload.Name()))
          .WithHint("remove it with 'ptpkg retag --no-local', or publish it to your own index");
    }
    if (upload.digests.size_bytes <= kPublicMostBytes) return Ok();
    upload_.env().reporter.Warn(
        fmt::format("'{}' has {}: above {}, the index accepts files only from projects with a raised limit",
                    upload.Name(), HumanBytes(upload.digests.size_bytes), HumanBytes(kPublicMostBytes)));
    return Ok();
  }

  [[nodiscard]] bool CanReplace() const override { return false; }
  [[nodiscard]] bool AcceptsAttestations() const override { return true; }
  [[nodiscard]] std::vector<std::string> Requests(const Upload& upload, bool /*replace*/) const override {
    return {"GET " + PageUrl(upload), "POST " + place_.upload + WithAttestations(upload),
            "GET " + PageUrl(upload)};
  }

  Result<void> LogIn() override {
    PTPKG_TRY(const Login login, IndexLogin(upload_.env(), place_.name, place_.upload));
    if (login.minted) minted_ = login.password;
    const std::string basic = "Basic " + BasicCredentials(login.user + ":" + login.password.Reveal());
    upload_.SetHeader("Authorization", basic);
    // A private index asks readers too. Another server than the one for uploads gets no credentials.
    if (simple_.origin() == upload_.origin()) simple_.SetHeader("Authorization", basic);
    return Ok();
  }

  Result<void> LogOut() override {
    if (minted_.empty()) return Ok();
    return RevokeTrustedToken(upload_.env(), place_.upload, minted_);
  }

  Result<std::optional<RemoteFile>> Find(const Upload& upload) override {
    const std::string page = PageUrl(upload);
    PTPKG_TRY(const HttpAnswer answer,
              simple_.Send({.url = page,
                            // A cached page may be minutes old.
                            .headers = {{"Accept", kSimplePageAccept}, {"Cache-Control", "no-cache"}},
                            .answer_limit_bytes = kMostPageBytes,
                            .stays_at_server = true}));
    // pypiserver and GitLab send readers on to a public index when they have nothing of a project: what that
    // one has is not theirs.
    if (answer.status == 404 || answer.status / 100 == 3) {
      lacks_page_ = true;
      return std::optional<RemoteFile>();
    }
    if (answer.status != 200) {
      return AnswerError(answer,
                         fmt::format("looking up the files of '{}'", upload.wheel->metadata.Get("Name")));
    }
    PTPKG_TRY(const FoundFiles found, FindInSimplePage(answer, upload.Name()));
    Tell(found, upload);
    return OneOf(found, page, upload);
  }

  Result<void> Send(const Upload& upload, bool /*replace*/,
                    const std::function<void(std::uint64_t)>& on_sent) override {
    FormBody form = MakeFormBody(UploadForm(upload), upload);
    PTPKG_TRY(const HttpAnswer answer, upload_.Send({.method = "POST",
                                                     .url = place_.upload,
                                                     .headers = {{"Content-Type", form.content_type}},
                                                     .body = std::move(form.body),
                                                     .repeat = Repeat::kOnce,
                                                     .on_sent = on_sent}));
    if (answer.status / 100 == 2) return Ok();
    const std::string doing = fmt::format("uploading '{}'", upload.Name());
    // PyPI says 400, others 409. Perhaps it was a try of ours: the caller looks.
    Error error = AnswerError(answer, doing);
    const bool exists =
        answer.status == 400 && ToLower(answer.body).find("already exist") != std::string::npos;
    if (exists) error = Error(ErrorCode::kAlreadyExists, error.message());
    if (error.code() != ErrorCode::kAlreadyExists || !lacks_page_) return error;
    return std::move(error).WithHint(fmt::format(
        "'{}' has no page of the project: check --check-url, or raise the build number", PageUrl(upload)));
  }

 private:
  /// Once for all artifacts of the run.
  void Tell(const FoundFiles& found, const Upload& upload) {
    if (!found.newer_version.empty() && !told_version_.exchange(true)) {
      upload_.env().reporter.Warn(
          fmt::format("the index uses API version {}, which ptpkg does not support", found.newer_version));
    }
    const bool yanked = std::any_of(found.files.begin(), found.files.end(),
                                    [](const SimpleFile& file) { return file.is_yanked; });
    if (yanked)
      upload_.env().reporter.Note(fmt::format("'{}' is yanked: installers ignore it", upload.Name()));
  }

  /// Merges the entries of one name: entries that disagree are another file.
  Result<std::optional<RemoteFile>> OneOf(const FoundFiles& found, const std::string& page,
                                          const Upload& upload) {
    std::set<std::string> contents;
    for (const SimpleFile& file : found.files) {
      if (!file.sha256.empty()) {
        contents.insert("sha256 " + file.sha256);
        continue;
      }
      // For pypiserver --hash-algo md5 and plain directories.
      std::string base = page;
      if (!found.base.empty()) {
        PTPKG_TRY(base, ResolveUrl(page, found.base));
      }
      PTPKG_TRY(const std::string url, ResolveUrl(base, file.link));
      PTPKG_TRY(const HttpAnswer head, simple_.Send({.method = "HEAD", .url = url}));
      PTPKG_TRY(const std::optional<RemoteFile> there, ReadBack(simple_, url, head, upload));
      if (there) contents.insert(there->sha256.empty() ? there->words : "sha256 " + there->sha256);
    }
    if (contents.empty()) return std::optional<RemoteFile>();
    constexpr std::string_view kDigest = "sha256 ";
    const std::string& only = *contents.begin();
    if (contents.size() == 1 && only.starts_with(kDigest))
      return std::optional(RemoteFile{.sha256 = only.substr(kDigest.size())});
    const std::vector<std::string> all(contents.begin(), contents.end());
    return std::optional(RemoteFile{.sha256 = "", .words = Join(all, " and ")});
  }

  [[nodiscard]] bool IsPublic() const {
    return std::find(kPublicHosts.begin(), kPublicHosts.end(), upload_.origin()) != kPublicHosts.end();
  }
  [[nodiscard]] std::string PageUrl(const Upload& upload) const {
    return fmt::format("{}/{}/", place_.simple, wheel::NormalizeName(upload.wheel->metadata.Get("Name")));
  }

  IndexPlace place_;
  Secret minted_;  // of trusted publishing; "": the credentials are somebody's
  Exchange upload_;
  Exchange simple_;
  std::atomic<bool> lacks_page_{false};  // a project had no page
  std::atomic<bool> told_version_{false};
};

}  // namespace

Result<std::unique_ptr<Remote>> MakePackageIndex(Env& env, IndexPlace place) {
  PTPKG_TRY(std::string upload, OriginOf(place.upload));
  PTPKG_TRY(std::string simple, OriginOf(place.simple));
  return std::unique_ptr<Remote>(
      std::make_unique<PackageIndex>(env, std::move(place), std::move(upload), std::move(simple)));
}

}  // namespace ptpkg::publish
