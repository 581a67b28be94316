// A recipe with outputs becomes one document per output, before anything is evaluated. The rest of ptpkg then
// only knows recipes with one package.
//
// An output takes these parts of the top level (CEP 14, and rattler-build where it leaves this open):
//
// - `build` and `about` are merged key by key, and the output wins. `script` and `files` are replaced as a
//   whole. `skip` holds if either does.
// - `source` and `tests` of the top level come before the output's own.
// - An output that inherits from a staging output takes neither sources, tests nor script from the top level.
// - A staging output makes no package, so it takes no `build`, `tests` or `about`, and gets a version that
//   nobody sees.

#include "recipe/outputs.h"

#include <algorithm>
#include <array>

namespace ptpkg::recipe {

namespace {

Entry* FindEntry(Node& mapping, std::string_view key) {
  const auto found = std::find_if(mapping.entries.begin(), mapping.entries.end(),
                                  [&](const Entry& entry) { return entry.key == key; });
  return found == mapping.entries.end() ? nullptr : &*found;
}

void Set(Node& mapping, std::string_view key, Node value) {
  if (Entry* entry = FindEntry(mapping, key)) {
    entry->value = std::move(value);
  } else {
    const SourceSpan span = value.span;
    mapping.entries.push_back({std::string(key), span, std::move(value)});
  }
}

void Erase(Node& mapping, std::string_view key) {
  std::erase_if(mapping.entries, [&](const Entry& entry) { return entry.key == key; });
}

/// Both as one list; each may be an item of its own, or missing.
Node Joined(const Node* first, const Node* second) {
  Node list;
  list.kind = Node::Kind::kSequence;
  list.span = second != nullptr ? second->span : first->span;
  for (const Node* node : {first, second}) {
    if (node == nullptr) continue;
    if (node->kind == Node::Kind::kSequence) {
      list.items.insert(list.items.end(), node->items.begin(), node->items.end());
    } else {
      list.items.push_back({*node});
    }
  }
  return list;
}

/// `key` of the top level before the output's.
void Prepend(const Node& top, std::string_view key, Node& output) {
  const Node* first = top.Find(key);
  if (first != nullptr) Set(output, key, Joined(first, output.Find(key)));
}

Node Mapping(const SourceSpan& span) {
  Node node;
  node.kind = Node::Kind::kMapping;
  node.span = span;
  return node;
}

/// The top level's `build` under the output's.
void MergeBuild(const Node& top, bool inherits, Node& output) {
  const Node* base = top.Find("build");
  if (base == nullptr) return;
  Node taken = *base;
  if (inherits) Erase(taken, "script");
  const Node* own = output.Find("build");
  const Node* skip = own == nullptr ? nullptr : own->Find("skip");
  Node merged = own == nullptr ? taken : MergeNodes(taken, *own);
  if (const Node* top_skip = base->Find("skip"); top_skip != nullptr && skip != nullptr) {
    Set(merged, "skip", Joined(top_skip, skip));
  }
  Set(output, "build", std::move(merged));
}

/// A version that no recipe gives, for a staging output, whose version nobody sees.
Node NoVersion(const SourceSpan& span) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.span = span;
  node.raw = "0";
  node.text.pieces.emplace_back(std::string("0"));
  return node;
}

void TakeVersion(const Node& top, bool staging, Node& output) {
  Node package = *output.Find("package");
  if (package.Find("version") == nullptr) {
    const Node* recipe = top.Find("recipe");
    const Node* version = recipe == nullptr ? nullptr : recipe->Find("version");
    if (version != nullptr) Set(package, "version", *version);
    // The reader of `package` requires a version.
    if (version == nullptr && staging) Set(package, "version", NoVersion(package.span));
  }
  Set(output, "package", std::move(package));
}

Node OutputRoot(const Node& top, Node output) {
  const Node* staging = output.Find("staging");
  const Node* inherit = output.Find("inherit");
  const bool inherits = inherit != nullptr && inherit->kind != Node::Kind::kNull;
  if (staging != nullptr) Set(output, "package", *staging);
  TakeVersion(top, staging != nullptr, output);
  for (const char* key : {"schema_version", "context", "recipe", "extra"}) {
    if (const Node* value = top.Find(key)) Set(output, key, *value);
  }
  if (!inherits) Prepend(top, "source", output);
  if (staging != nullptr) return output;
  MergeBuild(top, inherits, output);
  if (!inherits) Prepend(top, "tests", output);
  if (const Node* about = top.Find("about")) {
    Set(output, "about",
        MergeNodes(*about, output.Find("about") ? *output.Find("about") : Mapping(about->span)));
  }
  return output;
}

}  // namespace

Node MergeNodes(const Node& base, const Node& over) {
  constexpr std::array<std::string_view, 2> kWhole = {"script", "files"};
  Node merged = base;
  merged.span = over.span;
  for (const Entry& entry : over.entries) {
    Entry* there = FindEntry(merged, entry.key);
    const bool whole = std::find(kWhole.begin(), kWhole.end(), entry.key) != kWhole.end();
    if (there == nullptr) {
      merged.entries.push_back(entry);
    } else if (!whole && there->value.kind == Node::Kind::kMapping &&
               entry.value.kind == Node::Kind::kMapping) {
      *there = {entry.key, entry.key_span, MergeNodes(there->value, entry.value)};
    } else {
      *there = entry;
    }
  }
  return merged;
}

std::vector<OutputDocument> OutputDocuments(const Document& document) {
  const Node* outputs = document.root.Find("outputs");
  std::vector<OutputDocument> all;
  if (outputs == nullptr) {
    all.push_back({.document = document, .span = document.root.span});
    return all;
  }
  for (const Item& item : outputs->items) {
    const Node& node = std::get<Node>(item.value);  // the schema refuses conditions here
    all.push_back({.document = {.path = document.path, .root = OutputRoot(document.root, node)},
                   .staging = node.Find("staging") != nullptr,
                   .span = node.span});
  }
  return all;
}

}  // namespace ptpkg::recipe
