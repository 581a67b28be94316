#include "publish/servers/anaconda.h"

#include <algorithm>
#include <fmt/core.h>
#include <mutex>
#include <set>

#include "publish/http/multipart.h"
#include "publish/servers/anaconda_api.h"
#include "support/digest/base64.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

// One POST to the storage behind the server takes no more (S3).
constexpr std::uint64_t kMostBytes = 5'000'000'000;

Json TextOrNull(const Json& about, const char* key) {
  return about.contains(key) ? about[key] : Json(nullptr);
}

/// "numpy >=1.2" → {"name": "numpy", "specs": [[">=", "1.2"]]}. A '*' at the end is dropped, and what has no
/// comparison is equality, as the server has always been told.
Json Dependency(const std::string& text) {
  const std::size_t space = text.find(' ');
  Json specs = Json::array();
  if (space != std::string::npos) {
    std::string spec = text.substr(space + 1);
    if (spec.ends_with('*')) spec.pop_back();
    const std::size_t version = spec.find_first_not_of("=><");
    const bool compares = version != 0 && version != std::string::npos;
    specs.push_back({compares ? spec.substr(0, version) : "==", compares ? spec.substr(version) : spec});
  }
  return {{"name", text.substr(0, space)}, {"specs", specs}};
}

Json Dependencies(const Json& index) {
  Json depends = Json::array();
  if (index.contains("depends") && index["depends"].is_array()) {
    for (const Json& text : index["depends"]) {
      if (text.is_string()) depends.push_back(Dependency(std::string(Trim(text.get<std::string>()))));
    }
  }
  return {{"depends", depends}};
}

Json FileAttributes(const CondaFacts& facts) {
  const Json& index = *facts.index;
  Json attributes = index;
  attributes.erase("name");
  attributes.erase("version");
  const Json machine = TextOrNull(index, "arch");
  Json system = TextOrNull(index, "platform");
  if (system == "osx") system = "darwin";
  if (system == "win") system = "win32";
  const auto word = [](const Json& value) { return value.is_string() ? value.get<std::string>() : "None"; };
  attributes["operatingsystem"] = system;
  attributes["machine"] = machine;
  attributes["target-triplet"] = fmt::format("{}-any-{}", word(machine), word(system));
  attributes["has_prefix"] = facts.has_prefix;
  attributes["subdir"] = facts.subdir;
  return attributes;
}

/// Attributes of the package and of the release, from about.json; the server wants a summary, "" at least.
Json PublicAttributes(const Json& about) {
  Json attributes = {{"summary", about.value("summary", Json(""))},
                     {"description", about.value("description", Json(""))}};
  for (const char* key :
       {"license", "license_url", "license_family", "dev_url", "doc_url", "home", "source_git_url"})
    attributes[key] = TextOrNull(about, key);
  return attributes;
}

Json PackageDocument(const CondaFacts& facts) {
  Json attributes = PublicAttributes(*facts.about);
  const Json about = attributes;
  attributes["license"] = {
      {"name", about["license"]}, {"url", about["license_url"]}, {"family", about["license_family"]}};
  attributes["name"] = facts.name;
  attributes["package_types"] = {"conda"};
  return {{"public", true}, {"publish", false}, {"public_attrs", attributes}};
}

Json ReleaseDocument(const CondaFacts& facts) {
  Json document = PublicAttributes(*facts.about);
  document["version"] = facts.version;
  document["home_page"] = document["home"];
  document["source_git_tag"] = TextOrNull(*facts.about, "source_git_tag");
  document["icon"] = nullptr;
  document["requirements"] = Json::array();
  document["announce"] = nullptr;
  return document;
}

/// Announces the file. `label`: "" for the server's default.
Json StageDocument(const Upload& upload, const std::string& label) {
  const CondaFacts& facts = *upload.conda;
  Json labels = Json::array();
  if (!label.empty()) labels.push_back(label);
  return {{"distribution_type", "conda"},
          {"description", nullptr},
          {"attrs", FileAttributes(facts)},
          {"dependencies", Dependencies(*facts.index)},
          {"channels", labels},
          {"sha256", upload.digests.sha256.Hex()}};
}

Request PostOf(std::string url, const Json& document) {
  return AnacondaApi::JsonRequest("POST", std::move(url), document);
}

/// The server's file is in no channel of this label. To put it there is another verb: what a label shows is
/// somebody's decision, and no part of sending a file.
Result<void> CheckLabel(const AnacondaPlace& place, const Upload& upload, const AnacondaFile& file) {
  const std::string wanted = place.label.empty() ? kMainLabel : place.label;
  if (!file.tells_labels || file.HasLabel(wanted)) return Ok();
  const bool usual = place.api == kAnacondaOrg;
  return Error(ErrorCode::kRefused, fmt::format("'{}' is already at {}, with {} instead of '{}'",
                                                upload.ChannelPath(), place.api, file.LabelWords(), wanted))
      .WithHint(fmt::format("add the label: ptpkg promote {} --from anaconda:{} --to anaconda:{}/{}{}",
                            upload.file.str(), place.owner, place.owner, wanted,
                            usual ? "" : " --server " + place.api));
}

/// `document`: the server's answer about a package or a release. False too if it does not list its files.
bool ListsNoFiles(const Json& document) {
  const Json* content = &document;
  for (const char* key : {"distributions", "files"}) {
    if (document.is_object() && document.contains(key)) content = &document[key];
  }
  return content != &document && content->empty();
}

/// `staged`: the server's answer to StageDocument.
Result<Json> IdOf(const Json& staged) {
  if (staged.is_object() && staged.contains("dist_id")) return staged["dist_id"];
  return Error(ErrorCode::kNetwork, "the server returned no 'dist_id' for the file");
}

/// Sends the file to the storage that the server names, which gets no token: the form's fields say who sends.
/// `staged`: as IdOf.
Result<void> SendToStorage(Env& env, const Upload& upload, const Json& staged,
                           const std::function<void(std::uint64_t)>& on_sent) {
  PTPKG_TRY(const std::string url, JsonString(staged, "post_url", "answer of the server"));
  Form form{.file_field = "file"};
  const Json fields = staged.value("form_data", Json::object());
  for (const auto& [name, value] : fields.items()) {
    if (!value.is_string()) continue;
    form.fields.emplace_back(name, value.get<std::string>());
  }
  form.fields.emplace_back("Content-Length", std::to_string(upload.digests.size_bytes));
  form.fields.emplace_back("Content-MD5", Base64(std::as_bytes(std::span(upload.digests.md5.bytes))));
  FormBody body = MakeFormBody(form, upload);
  PTPKG_TRY(const std::string origin, OriginOf(url));
  Exchange storage(env, origin, {});
  PTPKG_TRY(const HttpAnswer answer, storage.Send({.method = "POST",
                                                   .url = url,
                                                   .headers = {{"Content-Type", body.content_type}},
                                                   .body = std::move(body.body),
                                                   .repeat = Repeat::kOnce,
                                                   .on_sent = on_sent}));
  if (answer.status == 201) return Ok();
  // Anything else, 2xx too, is not what the storage says of a whole object.
  return AnswerError(answer, fmt::format("uploading '{}'", upload.Name()));
}

class Anaconda final : public Remote {
 public:
  Anaconda(AnacondaPlace place, std::unique_ptr<AnacondaApi> api)
      : place_(std::move(place)), api_(std::move(api)), exchange_(api_->exchange()) {}

  [[nodiscard]] std::string Title() const override {
    return fmt::format("channel '{}'{} at {}", place_.owner,
                       place_.label.empty() ? "" : fmt::format(", label '{}'", place_.label), place_.api);
  }
  [[nodiscard]] std::string ProfileName() const override { return "conda"; }

  [[nodiscard]] Result<void> CheckRules(const Upload& upload) const override {
    PTPKG_CHECK(RequireCondaPackage(upload));
    if (upload.digests.size_bytes <= kMostBytes) return Ok();
    return Error(ErrorCode::kRefused,
                 fmt::format("'{}' has {}, but anaconda.org accepts at most {}", upload.Name(),
                             HumanBytes(upload.digests.size_bytes), HumanBytes(kMostBytes)))
        .WithHint("publish to another target, or build for fewer GPU architectures");
  }

  [[nodiscard]] std::vector<std::string> Requests(const Upload& upload, bool replace) const override {
    std::vector<std::string> lines = {"GET " + UserUrl(), "GET " + DistUrl("dist", upload)};
    if (replace) lines.push_back("DELETE " + DistUrl("dist", upload) + " (if another file is there)");
    for (const std::string& url : {PackageUrl(upload), ReleaseUrl(upload)}) {
      lines.push_back("GET " + url);
      lines.push_back("POST " + url + " (if there is none)");
    }
    lines.push_back("POST " + DistUrl("stage", upload));
    lines.emplace_back("POST the URL that the server returns");
    lines.push_back("POST " + DistUrl("commit", upload));
    lines.push_back("GET " + DistUrl("dist", upload));
    return lines;
  }

  Result<void> LogIn() override { return api_->LogIn(place_.owner); }

  Result<std::optional<RemoteFile>> Find(const Upload& upload) override {
    PTPKG_TRY(const std::optional<AnacondaFile> file, api_->Find(place_.owner, upload.Id()));
    if (!file) return std::optional<RemoteFile>();
    if (file->sha256 == upload.digests.sha256.Hex()) PTPKG_CHECK(CheckLabel(place_, upload, *file));
    // Entries of its first years have an MD5 alone.
    return std::optional(
        RemoteFile{.sha256 = file->sha256, .words = file->sha256.empty() ? "unknown sha256" : ""});
  }

  Result<void> Send(const Upload& upload, bool replace,
                    const std::function<void(std::uint64_t)>& on_sent) override {
    // The server drops a release and a package that have lost their last file: of two files that are replaced
    // at once the second one's removal would take away what the first one has just found.
    std::unique_lock<std::mutex> alone(replacing_, std::defer_lock);
    if (replace) {
      alone.lock();
      PTPKG_CHECK(api_->Expect({.method = "DELETE", .url = DistUrl("dist", upload)}, {200, 201, 404},
                               "removing the other file"));
    }
    PTPKG_CHECK(MakePackageAndRelease(upload));
    PTPKG_TRY(const Json staged, Stage(upload));
    PTPKG_CHECK(SendToStorage(exchange_.env(), upload, staged, on_sent));
    return Commit(upload, staged);
  }

  Result<void> CleanUp(const Upload& upload) override {
    exchange_.IgnoreCancel();
    for (const std::string& url : {ReleaseUrl(upload), PackageUrl(upload)}) {
      {
        const std::lock_guard lock(mutex_);
        if (made_.erase(url) == 0) continue;
      }
      PTPKG_TRY(const HttpAnswer there, exchange_.Send({.url = url}));
      if (there.status != 200) continue;
      PTPKG_TRY(const Json document, ParseJson(there.body, "answer of the server"));
      if (!ListsNoFiles(document)) continue;  // it stays for somebody else's file
      PTPKG_TRY(const HttpAnswer gone, exchange_.Send({.method = "DELETE", .url = url}));
      static_cast<void>(gone);
    }
    return Ok();
  }

 private:
  [[nodiscard]] std::string UserUrl() const { return api_->UserUrl(place_.owner); }
  [[nodiscard]] std::string PackageUrl(const Upload& upload) const {
    return api_->PackageUrl(place_.owner, upload.conda->name);
  }
  [[nodiscard]] std::string ReleaseUrl(const Upload& upload) const {
    return api_->ReleaseUrl(place_.owner, upload.Id());
  }
  [[nodiscard]] std::string DistUrl(std::string_view verb, const Upload& upload) const {
    return api_->FileUrl(verb, place_.owner, upload.Id());
  }

  /// For a release that exists. Another run may have taken away an empty one meanwhile: a next try makes it
  /// again.
  Result<HttpAnswer> ExpectInRelease(const Request& request, const std::string& doing) {
    auto answer = api_->Expect(request, {200, 201}, doing);
    if (!answer && answer.error().code() == ErrorCode::kNotFound)
      return Error(ErrorCode::kNetwork, answer.error().message());
    return answer;
  }

  /// GET; where there is none, POST. Of two that make it at once, one gets a conflict, and it is there.
  Result<void> EnsureExists(const std::string& url, const Json& document, const std::string& what) {
    NullSink nobody;  // it lists all files of a package, and only its status counts
    PTPKG_TRY(const HttpAnswer there, exchange_.Send({.url = url, .answer_sink = &nobody}));
    if (there.status == 200) return Ok();
    if (there.status != 404) return AnswerError(there, fmt::format("looking up the {}", what));
    const auto made = exchange_.Send(PostOf(url, document));
    if (made && made->status == 409) return Ok();
    if (made && made->status / 100 != 2) return AnswerError(*made, fmt::format("creating the {}", what));
    {
      // Also when no answer came: it was not there before.
      const std::lock_guard lock(mutex_);
      made_.insert(url);
    }
    return made ? Ok() : Result<void>(made.error());
  }

  Result<void> MakePackageAndRelease(const Upload& upload) {
    const CondaFacts& facts = *upload.conda;
    PTPKG_CHECK(
        EnsureExists(PackageUrl(upload), PackageDocument(facts), fmt::format("package '{}'", facts.name)));
    return EnsureExists(ReleaseUrl(upload), ReleaseDocument(facts),
                        fmt::format("release '{}' of '{}'", facts.version, facts.name));
  }

  Result<Json> Stage(const Upload& upload) {
    PTPKG_TRY(const HttpAnswer answer,
              ExpectInRelease(PostOf(DistUrl("stage", upload), StageDocument(upload, place_.label)),
                              fmt::format("announcing '{}'", upload.ChannelPath())));
    return ParseJson(answer.body, "answer of the server");
  }

  Result<void> Commit(const Upload& upload, const Json& staged) {
    PTPKG_TRY(const Json id, IdOf(staged));
    PTPKG_TRY(const HttpAnswer answer, ExpectInRelease(PostOf(DistUrl("commit", upload), {{"dist_id", id}}),
                                                       fmt::format("completing '{}'", upload.ChannelPath())));
    static_cast<void>(answer);
    return Ok();
  }

  AnacondaPlace place_;
  std::unique_ptr<AnacondaApi> api_;
  Exchange& exchange_;  // of api_
  std::mutex replacing_;
  std::mutex mutex_;
  std::set<std::string> made_;  // URLs of packages and releases that this run has made; under mutex_
};

}  // namespace

Result<std::unique_ptr<Remote>> MakeAnaconda(Env& env, AnacondaPlace place) {
  PTPKG_TRY(std::unique_ptr<AnacondaApi> api, AnacondaApi::Make(env, place.api));
  return std::unique_ptr<Remote>(std::make_unique<Anaconda>(std::move(place), std::move(api)));
}

}  // namespace ptpkg::publish
