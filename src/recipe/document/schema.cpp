// The table of recipe keys. Layer: recipe. Source: CEP 14 and the recipe-format schema;
// docs/recipe-reference.md explains every row.
//
// All keys are checked before anything is evaluated: a misspelt key would otherwise be ignored, and its
// mistake would show in the package. Keys of the format that ptpkg doesn't implement are listed too
// (kUnsupported), with a hint, because an ignored key would build something else than the recipe says.
//
// The shapes mirror the format: most keys take several forms, and items of lists may be conditional at any
// depth. A new key is one row here, and SchemaKeys() makes tests hold documentation and code to the table.

#include "recipe/document/schema.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <iterator>
#include <span>
#include <string_view>

#include "support/text/text.h"

namespace ptpkg::recipe {
namespace {

enum class Shape : std::uint8_t {
  kText,            ///< A scalar.
  kTexts,           ///< A scalar or a list of scalars.
  kTextList,        ///< A list of scalars.
  kMapping,         ///< A mapping by `schema`.
  kMappings,        ///< A mapping or a list of mappings by `schema`.
  kMappingList,     ///< A list of mappings by `schema`.
  kTextsOrMapping,  ///< A scalar, a list of scalars, or a mapping by `schema`.
  kTextMapping,     ///< Free keys, each a scalar.
  kTextsMapping,    ///< Free keys, each a scalar or a list of scalars.
  kNamedMappings,   ///< Free keys, each a mapping by `schema`.
  kInherit,         ///< Nothing, a scalar, or a mapping by `schema`.
  kOutputs,         ///< A list of mappings by kPackageOutput or kStagingOutput.
  kAny,             ///< Anything; not looked at.
  kUnsupported,     ///< A key of the format that ptpkg refuses; `hint` says what to do.
};

struct Rule;
using Schema = std::span<const Rule>;

struct Rule {
  std::string_view key;
  Shape shape = Shape::kText;
  Schema schema = {};
  std::string_view hint = {};
};

/// The rules, and one more.
template <std::size_t kCount>
constexpr std::array<Rule, kCount + 1> With(const Rule (&rules)[kCount], const Rule& more) {
  std::array<Rule, kCount + 1> all;
  std::copy(std::begin(rules), std::end(rules), all.begin());
  all.back() = more;
  return all;
}

constexpr Rule kPackage[] = {{"name"}, {"version"}};

constexpr Rule kFiles[] = {{"include", Shape::kTexts}, {"exclude", Shape::kTexts}};

constexpr Rule kSource[] = {
    {"url", Shape::kTexts},
    {"sha256"},
    {"md5"},
    {"file_name"},
    {"target_directory"},
    {"patches", Shape::kTexts},
    {"path"},
    {"use_gitignore", Shape::kUnsupported, {}, "a 'path' source is used unchanged; remove the key"},
    {"git"},
    {"tag"},
    {"branch"},
    {"rev"},
    {"depth"},
    {"lfs"},
    {"submodules"},
    {"expected_commit"},
    {"filter", Shape::kTextsOrMapping, kFiles},
    {"attestation",
     Shape::kUnsupported,
     {},
     "the digest already says which bytes are meant; 'ptpkg check' verifies attestations of artifacts"},
};

constexpr Rule kScript[] = {
    {"file"},
    {"content", Shape::kTexts},
    {"interpreter"},
    {"env", Shape::kTextMapping},
    {"secrets", Shape::kTextList},
    {"cwd", Shape::kUnsupported, {}, "begin the script with 'cd'"},
};

constexpr Rule kVariantKeys[] = {
    {"use_keys", Shape::kTextList}, {"ignore_keys", Shape::kTextList}, {"down_prioritize_variant"}};

constexpr std::string_view kNoPythonOption = "ptpkg ignores it; remove the key";
constexpr Rule kPython[] = {
    {"entry_points", Shape::kTextList},
    {"skip_pyc_compilation", Shape::kTexts},  // a package holds no compiled Python file: post_process.h
    {"use_python_app_entrypoint", Shape::kUnsupported, {}, kNoPythonOption},
    {"version_independent"},
    {"site_packages_path", Shape::kUnsupported, {}, kNoPythonOption},
};

constexpr Rule kFileTypes[] = {{"text", Shape::kTexts}, {"binary", Shape::kTexts}};
constexpr Rule kPrefixDetection[] = {
    {"ignore_binary_files"},
    {"ignore", Shape::kTexts},
    {"force_file_type", Shape::kMapping, kFileTypes},
};

constexpr Rule kDynamicLinking[] = {
    {"missing_dso_allowlist", Shape::kTexts}, {"rpaths", Shape::kTexts}, {"binary_relocation", Shape::kTexts},
    {"rpath_allowlist", Shape::kTexts},       {"overlinking_behavior"},  {"overdepending_behavior"},
};

constexpr Rule kBuild[] = {
    {"number"},
    {"string"},
    {"skip", Shape::kTexts},
    {"noarch"},
    {"script", Shape::kTextsOrMapping, kScript},
    {"files", Shape::kTextsOrMapping, kFiles},
    {"variant", Shape::kMapping, kVariantKeys},
    {"python", Shape::kMapping, kPython},
    {"prefix_detection", Shape::kMapping, kPrefixDetection},
    {"dynamic_linking", Shape::kMapping, kDynamicLinking},
    {"always_include_files", Shape::kTexts},
    {"always_copy_files", Shape::kTexts},
    {"merge_build_and_host_envs", Shape::kUnsupported, {}, "list the packages under 'requirements.host'"},
    {"post_process", Shape::kUnsupported, {}, "change the files at the end of the build script"},
    {"flags", Shape::kUnsupported, {}, "name variants by 'build.string'"},
};

constexpr Rule kRunExports[] = {
    {"weak", Shape::kTexts},
    {"strong", Shape::kTexts},
    {"noarch", Shape::kTexts},
    {"weak_constraints", Shape::kTexts},
    {"strong_constraints", Shape::kTexts},
};

constexpr Rule kIgnoreRunExports[] = {{"by_name", Shape::kTextList}, {"from_package", Shape::kTextList}};

constexpr Rule kRequirements[] = {
    {"build", Shape::kTextList},
    {"host", Shape::kTextList},
    {"run", Shape::kTextList},
    {"run_constraints", Shape::kTextList},
    {"run_exports", Shape::kTextsOrMapping, kRunExports},
    {"ignore_run_exports", Shape::kMapping, kIgnoreRunExports},
};

constexpr Rule kTestPython[] = {
    {"imports", Shape::kTexts},
    {"pip_check"},
    {"python_version", Shape::kTexts},
};
constexpr Rule kTestRequirements[] = {
    {"run", Shape::kTextList},
    {"build", Shape::kTextList},
};
constexpr Rule kTestFiles[] = {{"exists", Shape::kTexts}, {"not_exists", Shape::kTexts}};
constexpr Rule kTestContents[] = {
    {"files", Shape::kTextsOrMapping, kTestFiles},
    {"site_packages", Shape::kTexts},
    {"bin", Shape::kTexts},
    {"lib", Shape::kTexts},
    {"include", Shape::kTexts},
    {"strict"},
};
constexpr Rule kTestCopiedFiles[] = {{"source", Shape::kTexts}, {"recipe", Shape::kTexts}};
constexpr Rule kTestPerl[] = {{"uses", Shape::kTexts}};
constexpr Rule kTestR[] = {{"libraries", Shape::kTexts}};
constexpr Rule kTestRuby[] = {{"requires", Shape::kTexts}};
constexpr Rule kTest[] = {
    {"script", Shape::kTextsOrMapping, kScript},
    {"python", Shape::kMapping, kTestPython},
    {"requirements", Shape::kMapping, kTestRequirements},
    {"package_contents", Shape::kMapping, kTestContents},
    {"files", Shape::kMapping, kTestCopiedFiles},
    {"pip_check"},  // beside `python`, as in it
    {"strict"},     // beside `package_contents`, as in it
    {"downstream", Shape::kUnsupported, {}, "build the other recipe; remove the test"},
    {"perl", Shape::kMapping, kTestPerl},
    {"r", Shape::kMapping, kTestR},
    {"ruby", Shape::kMapping, kTestRuby},
};

constexpr Rule kAbout[] = {
    {"homepage"}, {"repository"},     {"documentation"},
    {"license"},  {"license_family"}, {"license_file", Shape::kTexts},
    {"summary"},  {"description"},
};

constexpr Rule kLayoutRule[] = {{"files"}, {"rpath", Shape::kTexts}, {"tag"}};
constexpr Rule kLayouts[] = {{"conda", Shape::kMappingList, kLayoutRule},
                             {"wheel", Shape::kMappingList, kLayoutRule},
                             {"zip", Shape::kMappingList, kLayoutRule}};
constexpr Rule kWheel[] = {{"name"}, {"requires", Shape::kTexts}, {"exclude", Shape::kTexts}, {"repair"}};
constexpr Rule kZip[] = {
    {"name"},
    {"root"},
    {"top"},
    {"files", Shape::kTexts},
    {"exclude", Shape::kTexts},
    {"texts", Shape::kTextMapping},
};
constexpr Rule kSlices[] = {
    {"gpus", Shape::kTexts}, {"ptx"}, {"allow", Shape::kTexts}, {"compact"}, {"variant"}, {"cuda"},
};
constexpr Rule kDev[] = {{"script", Shape::kTextsOrMapping, kScript}};
constexpr Rule kResources[] = {{"cores"}, {"memory"}, {"disk"}, {"gpus"}, {"minutes"}};
constexpr Rule kPtpkgOutput[] = {
    {"formats", Shape::kTexts},
    {"layouts", Shape::kMapping, kLayouts},
    {"wheel", Shape::kMapping, kWheel},
    {"zip", Shape::kMapping, kZip},
    {"system_packages", Shape::kTexts},
    {"allow_unresolved", Shape::kTexts},
    {"allow_empty"},
    {"resume"},
    {"memory_per_job"},
    {"resources", Shape::kMapping, kResources},
    {"device_code", Shape::kTexts},
    {"slices", Shape::kTextsOrMapping, kSlices},
    {"dev", Shape::kMapping, kDev},
};
constexpr auto kPtpkg = With(kPtpkgOutput, {"outputs", Shape::kNamedMappings, kPtpkgOutput});

constexpr Rule kRecipe[] = {{"name"}, {"version"}};
constexpr Rule kInherit[] = {{"from"}, {"run_exports"}};
constexpr std::string_view kUnderTop =
    "other tools accept it at the top level only: write it under 'extra.ptpkg.outputs.NAME' there";
constexpr Rule kPackageOutput[] = {
    {"package", Shape::kMapping, kPackage},
    {"inherit", Shape::kInherit, kInherit},
    {"source", Shape::kMappings, kSource},
    {"build", Shape::kMapping, kBuild},
    {"requirements", Shape::kMapping, kRequirements},
    {"tests", Shape::kMappingList, kTest},
    {"about", Shape::kMapping, kAbout},
    {"extra", Shape::kUnsupported, {}, kUnderTop},
};

constexpr std::string_view kNoPackage =
    "a staging output makes no package: move it to the outputs that inherit from it";
constexpr Rule kStaging[] = {{"name"}};
constexpr Rule kStagingBuild[] = {{"script", Shape::kTextsOrMapping, kScript}};
constexpr Rule kStagingRequirements[] = {
    {"build", Shape::kTextList},
    {"host", Shape::kTextList},
    {"ignore_run_exports", Shape::kMapping, kIgnoreRunExports},
    {"run", Shape::kUnsupported, {}, kNoPackage},
    {"run_constraints", Shape::kUnsupported, {}, kNoPackage},
    {"run_exports", Shape::kUnsupported, {}, kNoPackage},
};
constexpr Rule kStagingOutput[] = {
    {"staging", Shape::kMapping, kStaging},
    {"inherit", Shape::kInherit, kInherit},
    {"source", Shape::kMappings, kSource},
    {"build", Shape::kMapping, kStagingBuild},
    {"requirements", Shape::kMapping, kStagingRequirements},
    {"tests", Shape::kUnsupported, {}, kNoPackage},
    {"about", Shape::kUnsupported, {}, kNoPackage},
};

constexpr std::string_view kOldCache =
    "this is rattler-build's old syntax: make it an item of 'outputs', '- staging: {name: NAME}', and give "
    "the packages 'inherit: NAME'";
constexpr Rule kTop[] = {
    {"$schema"},
    {"schema_version"},
    {"context", Shape::kTextsMapping},
    {"package", Shape::kMapping, kPackage},
    {"source", Shape::kMappings, kSource},
    {"build", Shape::kMapping, kBuild},
    {"requirements", Shape::kMapping, kRequirements},
    {"tests", Shape::kMappingList, kTest},
    {"about", Shape::kMapping, kAbout},
    // Other tools keep data of their own here; CheckKeys looks at extra.ptpkg alone.
    {"extra", Shape::kAny},
    {"recipe", Shape::kMapping, kRecipe},
    {"outputs", Shape::kOutputs},
    {"cache", Shape::kUnsupported, {}, kOldCache},
};

using NodeKind = YamlNode::Kind;

Error WrongKind(const std::string& path, std::string_view expected, const YamlNode& node) {
  if (node.kind == NodeKind::kNull) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' has no value", path))
        .At(node.span)
        .WithHint("remove the key, or give it a value");
  }
  return Error(ErrorCode::kInvalidInput,
               fmt::format("expected {} for '{}', found {}", expected, path, node.KindName()))
      .At(node.span);
}

std::string_view Expected(Shape shape) {
  switch (shape) {
    case Shape::kText:
      return "text";
    case Shape::kTexts:
      return "text or a list";
    case Shape::kTextList:
    case Shape::kMappingList:
    case Shape::kOutputs:
      return "a list";
    case Shape::kInherit:
      return "the name of a staging output or a mapping";
    case Shape::kMappings:
      return "a mapping or a list of mappings";
    case Shape::kTextsOrMapping:
      return "text, a list or a mapping";
    default:
      return "a mapping";
  }
}

class Checker {
 public:
  Result<void> CheckMapping(const YamlNode& node, const std::string& path, Schema schema) {
    for (const YamlEntry& entry : node.entries) {
      const auto rule =
          std::find_if(schema.begin(), schema.end(), [&](const Rule& r) { return r.key == entry.key; });
      if (rule == schema.end()) return UnknownKey(entry, path, schema);
      const std::string inner = path.empty() ? entry.key : path + "." + entry.key;
      if (rule->shape == Shape::kUnsupported) {
        return Error(ErrorCode::kUnsupported, fmt::format("'{}' is not supported", inner))
            .At(entry.key_span)
            .WithHint(std::string(rule->hint));
      }
      PTPKG_CHECK(CheckShape(entry.value, inner, *rule));
    }
    return Ok();
  }

 private:
  static Error UnknownKey(const YamlEntry& entry, const std::string& path, Schema schema) {
    std::vector<std::string> known;
    for (const Rule& rule : schema) {
      // A key that is not supported would be a bad suggestion: the next run would refuse it.
      if (rule.shape != Shape::kUnsupported) known.emplace_back(rule.key);
    }
    const std::string where = path.empty() ? "a recipe" : fmt::format("'{}'", path);
    Error error = Error(ErrorCode::kInvalidInput, fmt::format("unknown key '{}' in {}", entry.key, where))
                      .At(entry.key_span);
    if (const std::optional<std::string> nearest = NearestMatch(entry.key, known)) {
      return std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest));
    }
    return std::move(error).WithHint(fmt::format("known keys are {}", Join(known, ", ")));
  }

  Result<void> CheckShape(const YamlNode& node, const std::string& path, const Rule& rule) {
    const Shape shape = rule.shape;
    if (shape == Shape::kAny) return Ok();
    // "inherit:" without a value takes the top level, as without the key.
    if (shape == Shape::kInherit && node.kind == NodeKind::kNull) return Ok();
    if (shape == Shape::kTextList && node.kind == NodeKind::kNull) return Ok();  // as a list without items
    if (shape == Shape::kOutputs && node.kind == NodeKind::kSequence) return CheckOutputs(node);
    const bool takes_text = shape == Shape::kText || shape == Shape::kTexts ||
                            shape == Shape::kTextsOrMapping || shape == Shape::kInherit;
    const bool takes_list = shape == Shape::kTexts || shape == Shape::kTextList ||
                            shape == Shape::kMappings || shape == Shape::kMappingList ||
                            shape == Shape::kTextsOrMapping;
    const bool takes_mapping = shape == Shape::kMapping || shape == Shape::kMappings ||
                               shape == Shape::kTextsOrMapping || shape == Shape::kTextMapping ||
                               shape == Shape::kTextsMapping || shape == Shape::kNamedMappings ||
                               shape == Shape::kInherit;
    if (node.kind == NodeKind::kScalar && takes_text) return Ok();
    if (node.kind == NodeKind::kSequence && takes_list) {
      for (const YamlNode& item : node.items) PTPKG_CHECK(CheckItem(item, path, rule));
      return Ok();
    }
    if (node.kind != NodeKind::kMapping || !takes_mapping) return WrongKind(path, Expected(shape), node);
    if (shape == Shape::kTextMapping || shape == Shape::kTextsMapping)
      return CheckFreeMapping(node, path, shape);
    if (shape == Shape::kNamedMappings) return CheckNamedMappings(node, path, rule.schema);
    return CheckMapping(node, path, rule.schema);
  }

  Result<void> CheckNamedMappings(const YamlNode& node, const std::string& path, Schema schema) {
    for (const YamlEntry& entry : node.entries) {
      const std::string inner = path + "." + entry.key;
      if (entry.value.kind != NodeKind::kMapping) return WrongKind(inner, "a mapping", entry.value);
      PTPKG_CHECK(CheckMapping(entry.value, inner, schema));
    }
    return Ok();
  }

  Result<void> CheckOutputs(const YamlNode& list) {
    if (list.items.empty()) {
      return Error(ErrorCode::kInvalidInput, "'outputs' is empty")
          .At(list.span)
          .WithHint("write at least one item with 'package', or write the package at the top level");
    }
    for (const YamlNode& item : list.items) {
      if (item.kind != NodeKind::kMapping) {
        return Error(ErrorCode::kInvalidInput,
                     fmt::format("expected a mapping as an item of 'outputs', found {}", item.KindName()))
            .At(item.span);
      }
      // Outputs are split before any variant is known (recipe/outputs.h).
      if (item.Find("if") != nullptr) {
        return Error(ErrorCode::kInvalidInput, "an output cannot be conditional")
            .At(item.span)
            .WithHint("write the output without a condition, and the opposite condition as its 'build.skip'");
      }
      // The two kinds have different keys, so the kind is settled before any other key is checked.
      const bool staging = item.Find("staging") != nullptr;
      if (staging == (item.Find("package") != nullptr)) {
        return Error(ErrorCode::kInvalidInput, "an output has either 'package' or 'staging'").At(item.span);
      }
      PTPKG_CHECK(CheckMapping(item, "outputs", staging ? Schema(kStagingOutput) : Schema(kPackageOutput)));
    }
    return Ok();
  }

  Result<void> CheckItem(const YamlNode& item, const std::string& path, const Rule& rule) {
    // Both branches are checked, also the one that no variant takes.
    if (item.kind == NodeKind::kMapping && item.Find("if") != nullptr) {
      for (const char* key : {"then", "else"}) {
        const YamlNode* branch = item.Find(key);
        if (branch == nullptr || branch->kind == NodeKind::kNull) continue;  // no items
        if (branch->kind != NodeKind::kSequence) {
          PTPKG_CHECK(CheckItem(*branch, path, rule));
          continue;
        }
        for (const YamlNode& child : branch->items) PTPKG_CHECK(CheckItem(child, path, rule));
      }
      return Ok();
    }
    const bool mappings = rule.shape == Shape::kMappings || rule.shape == Shape::kMappingList;
    if (item.kind == (mappings ? NodeKind::kMapping : NodeKind::kScalar)) {
      return mappings ? CheckMapping(item, path, rule.schema) : Ok();
    }
    const std::string_view expected = mappings ? "a mapping" : "text";
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("expected {} as an item of '{}', found {}", expected, path, item.KindName()))
        .At(item.span);
  }

  static Result<void> CheckFreeMapping(const YamlNode& node, const std::string& path, Shape shape) {
    for (const YamlEntry& entry : node.entries) {
      const std::string inner = path + "." + entry.key;
      if (entry.value.kind == NodeKind::kScalar) continue;
      if (entry.value.kind != NodeKind::kSequence || shape == Shape::kTextMapping) {
        return WrongKind(inner, shape == Shape::kTextMapping ? "text" : "text or a list", entry.value);
      }
      for (const YamlNode& item : entry.value.items) {
        if (item.kind != NodeKind::kScalar) return WrongKind(inner, "a list of text", item);
      }
    }
    return Ok();
  }
};

void ListKeys(Schema schema, const std::string& path, std::vector<SchemaKey>& keys) {
  for (const Rule& rule : schema) {
    const std::string inner = path.empty() ? std::string(rule.key) : fmt::format("{}.{}", path, rule.key);
    const bool inside = !rule.schema.empty();
    // A mapping is carried out through its keys, a value that may also be text or a list by itself too.
    if (!inside || rule.shape == Shape::kTextsOrMapping || rule.shape == Shape::kNamedMappings ||
        rule.shape == Shape::kInherit) {
      keys.push_back({.path = inner, .carried_out = rule.shape != Shape::kUnsupported});
    }
    // Below a free name are the keys of extra.ptpkg itself, which are listed already.
    if (rule.shape != Shape::kNamedMappings) ListKeys(rule.schema, inner, keys);
  }
}

/// Keys that only outputs have. Their other keys are also keys of the top level.
void ListOutputKeys(std::vector<SchemaKey>& keys) {
  std::vector<std::string_view> done;
  for (const Schema schema : {Schema(kPackageOutput), Schema(kStagingOutput)}) {
    for (const Rule& rule : schema) {
      const bool top = std::any_of(std::begin(kTop), std::end(kTop),
                                   [&](const Rule& at_top) { return at_top.key == rule.key; });
      if (top || std::find(done.begin(), done.end(), rule.key) != done.end()) continue;
      done.push_back(rule.key);
      ListKeys(Schema(&rule, 1), "outputs", keys);
    }
  }
}

Error MisplacedKey(std::string message, const SourceSpan& span, std::string hint) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(span).WithHint(std::move(hint));
}

/// Which top-level keys go together (CEP 14).
Result<void> CheckTopLevel(const YamlNode& root) {
  const bool outputs = root.Find("outputs") != nullptr;
  for (const YamlEntry& entry : root.entries) {
    if (outputs && entry.key == "package") {
      return MisplacedKey("a recipe has either 'package' or 'outputs'", entry.key_span,
                          "with 'outputs', the common name and version go under 'recipe'");
    }
    if (outputs && entry.key == "requirements") {
      return MisplacedKey("'requirements' beside 'outputs' belongs to no package", entry.key_span,
                          "move it into the outputs");
    }
    if (!outputs && entry.key == "recipe") {
      return MisplacedKey("'recipe' without 'outputs'", entry.key_span,
                          "the name and version of a single package go under 'package'");
    }
  }
  return Ok();
}

}  // namespace

std::vector<SchemaKey> SchemaKeys() {
  std::vector<SchemaKey> keys;
  ListKeys(kTop, "", keys);
  ListKeys(kPtpkg, "extra.ptpkg", keys);
  ListOutputKeys(keys);
  return keys;
}

Result<void> CheckKeys(const YamlNode& root) {
  Checker checker;
  PTPKG_CHECK(checker.CheckMapping(root, "", kTop));
  PTPKG_CHECK(CheckTopLevel(root));
  const YamlNode* extra = root.Find("extra");
  if (extra == nullptr) return Ok();
  if (extra->kind != NodeKind::kMapping) return WrongKind("extra", "a mapping", *extra);
  const YamlNode* ptpkg = extra->Find("ptpkg");
  if (ptpkg == nullptr) return Ok();
  if (ptpkg->kind != NodeKind::kMapping) return WrongKind("extra.ptpkg", "a mapping", *ptpkg);
  PTPKG_CHECK(checker.CheckMapping(*ptpkg, "extra.ptpkg", kPtpkg));
  const YamlNode* outputs = ptpkg->Find("outputs");
  if (outputs == nullptr || root.Find("outputs") != nullptr) return Ok();
  return MisplacedKey("'extra.ptpkg.outputs' in a recipe without 'outputs'", outputs->span,
                      "write its keys under 'extra.ptpkg'");
}

}  // namespace ptpkg::recipe
