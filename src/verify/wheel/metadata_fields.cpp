// Repeats the validation of an upload in warehouse and in packaging, which it calls. All findings are
// warnings here, because installers look at few of these fields. With --target pypi, most of them are errors.
// The table has each field with the Metadata-Version that introduced it. MetadataVersionNeeded uses the same
// table, so that the check and its fix agree. Classifiers come from the list of one release. The message
// names that release, because a newer classifier is unknown only to this ptpkg.

#include "verify/wheel/metadata_fields.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <set>

#include "support/text/python_name.h"
#include "support/text/text.h"
#include "verify/classifiers_text.h"  // generated from data/classifiers.txt
#include "versions/spdx.h"

namespace ptpkg::verify {
namespace {

struct FieldRule {
  std::string_view name;  ///< Spelling of the specification.
  std::string_view since;
  bool repeats = false;
};

constexpr std::array<FieldRule, 32> kFields = {{
    {"Metadata-Version", "1.0"},
    {"Name", "1.0"},
    {"Version", "1.0"},
    {"Platform", "1.0", true},
    {"Supported-Platform", "1.1", true},
    {"Summary", "1.0"},
    {"Description", "1.0"},
    {"Description-Content-Type", "2.1"},
    {"Keywords", "1.0"},
    {"Home-page", "1.0"},
    {"Download-URL", "1.1"},
    {"Author", "1.0"},
    {"Author-email", "1.0"},
    {"Maintainer", "1.2"},
    {"Maintainer-email", "1.2"},
    {"License", "1.0"},
    {"License-Expression", "2.4"},
    // PEP 639 made this field official. setuptools wrote it before, with another place for the files.
    {"License-File", "2.4", true},
    {"Classifier", "1.1", true},
    {"Requires-Dist", "1.2", true},
    {"Requires-Python", "1.2"},
    {"Requires-External", "1.2", true},
    {"Project-URL", "1.2", true},
    {"Provides-Extra", "2.1", true},
    {"Provides-Dist", "1.2", true},
    {"Obsoletes-Dist", "1.2", true},
    {"Requires", "1.1", true},
    {"Provides", "1.1", true},
    {"Obsoletes", "1.1", true},
    {"Dynamic", "2.2", true},
    {"Import-Name", "2.5", true},
    {"Import-Namespace", "2.5", true},
}};
constexpr std::array<std::string_view, 4> kNeverDynamic = {"metadata-version", "name", "version", "dynamic"};
// RFC 6761 and its successors: nobody has an address there.
constexpr std::array<std::string_view, 6> kReservedDomains = {"arpa",      "invalid", "local",
                                                              "localhost", "onion",   "test"};
constexpr std::size_t kMaxLabel = 32;  ///< Characters of a Project-URL's label.

const FieldRule* RuleOf(std::string_view field) {
  const std::string wanted = ToLower(field);
  const auto* const it = std::find_if(kFields.begin(), kFields.end(),
                                      [&](const FieldRule& rule) { return ToLower(rule.name) == wanted; });
  return it == kFields.end() ? nullptr : &*it;
}

/// Reports under one id and one file.
class FieldReport {
 public:
  FieldReport(const std::string& file, std::vector<Finding>& findings) : file_(file), findings_(findings) {}
  void Add(std::string_view id, std::string message, std::string_view fix) {
    findings_.Add({std::string(id), Severity::kWarning, file_, std::move(message), std::string(fix)});
  }
  void Field(std::string message) {
    Add("wheel-metadata-field", std::move(message), "write the field as in the core metadata specification");
  }

 private:
  const std::string& file_;
  LimitedFindings findings_;
};

bool IsOlder(std::string_view version, std::string_view since) {
  const Result<wheel::Version> left = wheel::ParseVersion(version);
  const Result<wheel::Version> right = wheel::ParseVersion(since);
  return left && right && wheel::CompareVersions(*left, *right) < 0;
}

void CheckFieldNames(const wheel::CoreMetadata& metadata, FieldReport& report) {
  const std::string version(Trim(metadata.Get("Metadata-Version")));
  std::set<std::string> seen;
  for (const auto& [name, value] : metadata.fields) {
    const FieldRule* const rule = RuleOf(name);
    // One finding for each unknown name, however often it occurs.
    const bool first = seen.insert(ToLower(name)).second;
    if (rule == nullptr) {
      if (first) report.Field(fmt::format("core metadata has no field '{}'", name));
    } else if (first && IsOlder(version, rule->since)) {
      report.Field(fmt::format("the field '{}' came with Metadata-Version {}, and this is {}", rule->name,
                               rule->since, version));
    } else if (!first && !rule->repeats) {
      report.Field(fmt::format("the field '{}' is given twice", rule->name));
    }
  }
}

bool IsWebUrl(std::string_view url) {
  const std::string lower = ToLower(url);
  return lower.starts_with("http:") || lower.starts_with("https:");
}

void CheckUrls(const wheel::CoreMetadata& metadata, FieldReport& report) {
  constexpr std::string_view kFix =
      "write 'Project-URL: Label, https://…' with a label of up to 32 characters";
  for (const std::string& value : metadata.GetAll("Project-URL")) {
    const std::size_t comma = value.find(',');
    const std::string_view label = Trim(std::string_view(value).substr(0, comma));
    const std::string_view url =
        comma == std::string::npos ? std::string_view() : Trim(std::string_view(value).substr(comma + 1));
    if (label.empty()) {
      report.Add("wheel-project-url", fmt::format("Project-URL '{}' has no label", value), kFix);
    } else if (CharacterCount(label) > kMaxLabel) {
      report.Add("wheel-project-url",
                 fmt::format("the label of Project-URL '{}' has more than {} characters", value, kMaxLabel),
                 kFix);
    } else if (!IsWebUrl(url)) {
      report.Add("wheel-project-url", fmt::format("Project-URL '{}' has no http or https URL", value), kFix);
    }
  }
  for (const std::string_view field : {"Home-page", "Download-URL"}) {
    for (const std::string& value : metadata.GetAll(field)) {
      if (IsWebUrl(Trim(value))) continue;
      report.Add("wheel-project-url", fmt::format("{} '{}' is not an http or https URL", field, value),
                 "write the full URL, or remove the field");
    }
  }
}

void CheckClassifiers(const wheel::CoreMetadata& metadata, FieldReport& report) {
  for (const std::string& value : metadata.GetAll("Classifier")) {
    const std::string problem = ClassifierProblem(value);
    if (problem.empty()) continue;
    report.Add("wheel-classifier", fmt::format("the classifier '{}' {}", value, problem),
               "use a classifier from the index's list, or remove it");
  }
}

void CheckEmails(const wheel::CoreMetadata& metadata, FieldReport& report) {
  for (const std::string_view field : {"Author-email", "Maintainer-email"}) {
    const std::string value = metadata.Get(field);
    if (IsAcceptedAddress(value)) continue;
    report.Add("wheel-author-email",
               fmt::format("{} '{}' does not begin with an email address", field, value),
               "write it like 'Name <name@example.org>', a name with a comma in quotes");
  }
}

void CheckContentType(const wheel::CoreMetadata& metadata, FieldReport& report) {
  const std::string value = metadata.Get("Description-Content-Type");
  if (value.empty()) return;
  const std::vector<std::string> parts = Split(value, ';');
  const std::string type = ToLower(Trim(parts.front()));
  bool taken = type == "text/plain" || type == "text/x-rst" || type == "text/markdown";
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string part(Trim(parts[i]));
    const std::string option = ToLower(part);
    if (option.starts_with("charset=") && option != "charset=utf-8") taken = false;
    const bool variant = type == "text/markdown" && option.starts_with("variant=");
    if (variant && part != "variant=GFM" && part != "variant=CommonMark") taken = false;
  }
  if (taken) return;
  report.Field(fmt::format(
      "Description-Content-Type '{}' is not plain text, reStructuredText or Markdown in UTF-8", value));
}

/// A heading, a fence, a link or an image of Markdown at the beginning of a line.
bool LooksLikeMarkdown(std::string_view description) {
  // A guess by the beginnings of lines: rendering would need a parser of both languages.
  for (const std::string& line : Split(description, '\n')) {
    std::string_view heading = line;
    while (heading.starts_with('#')) heading.remove_prefix(1);
    const std::size_t depth = line.size() - heading.size();
    if (depth > 0 && depth <= 6 && heading.starts_with(' ')) return true;
    if (line.starts_with("```") || line.starts_with("![") || line.starts_with("[![")) return true;
    if (line.starts_with('[') && line.find("](") != std::string::npos) return true;
  }
  return false;
}

/// The index renders what has no type as reStructuredText, and refuses what fails as that.
void CheckDescription(const wheel::CoreMetadata& metadata, FieldReport& report) {
  if (!Trim(metadata.Get("Description-Content-Type")).empty()) return;
  const std::string field = metadata.Get("Description");
  if (!LooksLikeMarkdown(field.empty() ? metadata.description : field)) return;
  report.Add("wheel-description-type",
             "the description looks like Markdown, but the index reads it as reStructuredText without "
             "Description-Content-Type",
             "write 'Description-Content-Type: text/markdown'");
}

/// PEP 639: relative, resolved, with '/'.
bool IsLicensePath(std::string_view path) {
  const bool climbs = path.find("..") != std::string_view::npos;
  return !climbs && !path.starts_with("/") && path.find_first_of("*\\") == std::string_view::npos;
}

/// A word of a licence expression as SPDX writes it. The index takes operators and LicenseRef in any case.
std::string LicenseWord(const std::string& word) {
  constexpr std::array<std::string_view, 3> kOperators = {"AND", "OR", "WITH"};
  constexpr std::string_view kReference = "LicenseRef-";
  const std::string lower = ToLower(word);
  for (const std::string_view one : kOperators) {
    if (lower == ToLower(one)) return std::string(one);
  }
  const bool reference = lower.starts_with(ToLower(kReference));
  return reference ? std::string(kReference) + word.substr(kReference.size()) : word;
}

/// Checks it like the index, which takes no DocumentRef.
void CheckLicenseExpression(const wheel::CoreMetadata& metadata, FieldReport& report) {
  const std::string value(Trim(metadata.Get("License-Expression")));
  if (value.empty()) return;
  const std::string spaced = ReplaceAll(ReplaceAll(ReplaceAll(value, "\t", " "), "(", " ( "), ")", " ) ");
  std::string expression;
  for (const std::string& word : Split(spaced, ' ')) expression += LicenseWord(word) + ' ';
  const Result<void> known = versions::CheckLicense(Trim(expression));
  if (known && value.find("DocumentRef-") == std::string::npos) return;
  report.Add("wheel-metadata-field",
             known ? fmt::format("License-Expression '{}' refers to a licence in another document", value)
                   : fmt::format("License-Expression '{}': {}", value, known.error().message()),
             known ? "write LicenseRef-NAME, without DocumentRef" : known.error().hint());
}

bool IsExtraName(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && plain(name.front()) && plain(name.back()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return plain(c) || c == '.' || c == '_' || c == '-'; });
}

void CheckLists(const wheel::CoreMetadata& metadata, FieldReport& report) {
  for (const std::string& value : metadata.GetAll("Dynamic")) {
    const std::string lower = ToLower(Trim(value));
    // PEP 643 excludes Name, Version and Metadata-Version.
    const bool never = std::find(kNeverDynamic.begin(), kNeverDynamic.end(), lower) != kNeverDynamic.end();
    if (never || RuleOf(lower) == nullptr) report.Field(fmt::format("'{}' cannot be dynamic", value));
  }
  for (const std::string& value : metadata.GetAll("Provides-Extra")) {
    if (!IsExtraName(Trim(value))) report.Field(fmt::format("'{}' cannot be the name of an extra", value));
  }
  for (const std::string& value : metadata.GetAll("License-File")) {
    if (!IsLicensePath(Trim(value)))
      report.Field(fmt::format("License-File '{}' is not a plain relative path", value));
  }
  for (const std::string_view field : {"Provides-Dist", "Obsoletes-Dist"}) {
    for (const std::string& value : metadata.GetAll(field)) {
      const Result<wheel::Requirement> requirement = wheel::ParseRequirement(value);
      if (!requirement || !requirement->url.empty())
        report.Field(fmt::format("{} '{}' is not a name with versions", field, value));
    }
  }
  for (const std::string_view field : {"Import-Name", "Import-Namespace"}) {
    for (const std::string& value : metadata.GetAll(field)) {
      const std::string_view module = Trim(std::string_view(value).substr(0, value.find(';')));
      if (!module.empty() && !IsDottedName(module))
        report.Field(fmt::format("{} '{}' is not a module", field, value));
    }
  }
}

/// Letters of other scripts are taken in both halves.
bool IsAddressCharacter(char c) {
  // atext of RFC 5322, and the dot.
  constexpr std::string_view kMarks = "!#$%&'*+-/=?^_`{|}~.";
  return static_cast<unsigned char>(c) >= 0x80U || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || kMarks.find(c) != std::string_view::npos;
}

bool IsMailDomain(std::string_view domain) {
  const std::vector<std::string> labels = Split(domain, '.');
  if (labels.size() < 2) return false;
  for (const std::string& label : labels) {
    const bool fits =
        !label.empty() && label.front() != '-' && label.back() != '-' &&
        std::all_of(label.begin(), label.end(), [](char c) {
          return IsAddressCharacter(c) &&
                 (c == '-' || std::string_view("!#$%&'*+/=?^_`{|}~").find(c) == std::string_view::npos);
        });
    if (!fits) return false;
  }
  const std::string top = ToLower(labels.back());
  const bool number = std::all_of(top.begin(), top.end(), [](char c) { return c >= '0' && c <= '9'; });
  return !number &&
         std::find(kReservedDomains.begin(), kReservedDomains.end(), top) == kReservedDomains.end();
}

/// "Name <address>, …", "address (comment), …": the first address; quoted commas do not count.
std::string_view FirstAddress(std::string_view field) {
  std::size_t end = 0;
  for (bool quoted = false; end < field.size() && (quoted || field[end] != ','); ++end) {
    if (field[end] == '"') quoted = !quoted;
  }
  std::string_view first = Trim(field.substr(0, end));
  const std::size_t open = first.rfind('<');
  if (open != std::string_view::npos) {
    first = first.substr(open + 1);
    return Trim(first.substr(0, first.find('>')));
  }
  return Trim(first.substr(0, first.find('(')));
}

}  // namespace

std::size_t CharacterCount(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

bool IsAcceptedAddress(std::string_view field) {
  const std::string_view address = FirstAddress(field);
  if (address.empty()) return true;
  const std::size_t at = address.find('@');
  if (at == std::string_view::npos) return false;
  if (address.find('@', at + 1) != std::string_view::npos) return true;  // read as no address at all
  const std::string_view local = address.substr(0, at);
  const bool fits = !local.empty() && local.size() <= 64 && local.front() != '.' && local.back() != '.' &&
                    local.find("..") == std::string_view::npos &&
                    std::all_of(local.begin(), local.end(), IsAddressCharacter);
  return fits && IsMailDomain(address.substr(at + 1));
}

std::string ClassifierProblem(std::string_view classifier) {
  if (classifier.find('\n') != std::string_view::npos) return "has several lines";
  // A line of the list: the classifier; of one that is no longer taken, '\t' and what to take instead.
  const std::string line = fmt::format("\n{}", classifier);
  // A wheel has a few classifiers, so a search in the text is fast enough without an index.
  std::size_t at = kClassifiersText.find(line);
  while (at != std::string_view::npos) {
    const std::string_view rest = kClassifiersText.substr(at + line.size());
    if (rest.starts_with('\n')) return {};
    if (rest.starts_with('\t')) {
      const std::string_view instead = rest.substr(1, rest.find('\n') - 1);
      return instead == "-" ? "is no longer accepted"
                            : fmt::format("is no longer accepted; use '{}'", instead);
    }
    at = kClassifiersText.find(line, at + 1);
  }
  const std::string_view release = kClassifiersText.substr(0, kClassifiersText.find('\n'));
  return fmt::format("is not a classifier of {}", Trim(release.substr(1)));
}

std::string MetadataVersionNeeded(const wheel::CoreMetadata& metadata) {
  const std::string stated(Trim(metadata.Get("Metadata-Version")));
  std::string needed = stated;
  for (const auto& [name, value] : metadata.fields) {
    const FieldRule* const rule = RuleOf(name);
    if (rule != nullptr && IsOlder(needed, rule->since)) needed = rule->since;
  }
  return needed == stated ? std::string() : needed;
}

void CheckMetadataFields(const wheel::CoreMetadata& metadata, const std::string& file,
                         std::vector<Finding>& findings) {
  FieldReport report(file, findings);
  CheckFieldNames(metadata, report);
  CheckUrls(metadata, report);
  CheckClassifiers(metadata, report);
  CheckEmails(metadata, report);
  CheckContentType(metadata, report);
  CheckDescription(metadata, report);
  CheckLists(metadata, report);
  CheckLicenseExpression(metadata, report);
}

}  // namespace ptpkg::verify
