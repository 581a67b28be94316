// The text of 'ptpkg inspect', from the document that --json prints (docs/json/inspect.json). Layer: cli.

#include "cli/output/inspect_text.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "cli/output/size_table.h"
#include "support/text/display_text.h"
#include "support/text/gfx_target.h"
#include "support/text/json.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::cli {
namespace {

/// The documents are our own (docs/json/inspect.json): fields are there and have their type.
std::string Text(const Json& object, const char* key) {
  return object[key].is_null() ? std::string() : object[key].get<std::string>();
}

std::uint64_t Count(const Json& object, const char* key) { return object[key].get<std::uint64_t>(); }

struct Sum {
  std::uint64_t size_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t files = 0;
};
using Sums = std::map<std::string, Sum>;

std::string Share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? ""
                    : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::vector<SizeRow> Largest(const Sums& sums, std::uint64_t whole, std::size_t most) {
  std::vector<std::pair<std::string, Sum>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& left, const auto& right) {
    return left.second.size_bytes > right.second.size_bytes;
  });
  std::vector<SizeRow> rows;
  Sum rest;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto& [name, sum] = sorted[i];
    if (i < most) {
      rows.push_back({.name = sum.files > 1 ? fmt::format("{}  ({})", name, Plural(sum.files, "file")) : name,
                      .cells = {HumanBytes(sum.size_bytes), Share(sum.size_bytes, whole)}});
    } else {
      rest.size_bytes += sum.size_bytes;
    }
  }
  // One row for the rest, so that the shares add up to the whole.
  if (sorted.size() > most) {
    rows.push_back({.name = fmt::format("in {} more", sorted.size() - most),
                    .cells = {HumanBytes(rest.size_bytes), Share(rest.size_bytes, whole)}});
  }
  return rows;
}

/// Two levels of directories; files beside these count for their directory.
std::string FolderOf(const std::string& path) {
  const std::size_t first = path.find('/');
  if (first == std::string::npos) return ".";
  const std::size_t second = path.find('/', first + 1);
  return path.substr(0, second == std::string::npos ? first : second);
}

/// "sm_90 SASS", "compute_90 PTX", "gfx90a code", "amdgcnspirv SPIR-V". `kind` is "sass" or "ptx", the field
/// of the document, which has one name for both vendors.
std::string ArchitectureLabel(const std::string& architecture, std::string_view kind) {
  const bool is_machine_code = kind == "sass";
  if (IsAmdArchitecture(architecture)) return architecture + (is_machine_code ? " code" : " SPIR-V");
  return architecture + (is_machine_code ? " SASS" : " PTX");
}

/// One row for each architecture of a file, with its number of elements and their size. Shorter names come
/// first: "sm_90" before "sm_100".
std::vector<SizeRow> ArchitectureRows(const Json& file) {
  std::vector<SizeRow> rows;
  for (const char* share : {"embedded", "relocatable"}) {
    // Relocatable code is for the device linker and mostly runs nowhere, so it has rows of its own
    // (docs/formats/device-code.md).
    const std::string suffix = std::string_view(share) == "embedded" ? "" : ", relocatable";
    for (const char* kind : {"sass", "ptx"}) {
      for (const auto& [architecture, amount] : file[share][kind].items()) {
        rows.push_back(
            {.name = ArchitectureLabel(architecture, kind) + suffix,
             .cells = {fmt::format("{}", Count(amount, "elements")), HumanBytes(Count(amount, "bytes"))}});
      }
    }
  }
  std::ranges::stable_sort(rows, {}, [](const SizeRow& row) { return row.name.size(); });
  return rows;
}

/// The text of one artifact. A --quick document has null in place of everything that needs ELF files.
class Page {
 public:
  Page(const Json& document, const InspectTextOptions& options) : document_(document), options_(options) {}

  std::vector<std::string> Lines() {
    AddHead();
    AddSizes();
    if (!document_["quick"].get<bool>()) {
      AddSections();
      AddDeviceCode();
      AddFloor();
      AddGraph();
    }
    AddStages();
    return std::move(lines_);
  }

 private:
  void Add(const std::string& line) { lines_.push_back(DisplayLine(line)); }
  void Add(const std::vector<std::string>& table) { lines_.insert(lines_.end(), table.begin(), table.end()); }

  void AddField(std::string_view name, const std::string& text) {
    if (!text.empty()) Add(fmt::format("  {:<15} {}", name, text));
  }
  void AddList(std::string_view name, const Json& list) {
    // Requirements can be long: --rows bounds their number, and this the bytes of the line.
    constexpr std::size_t kMostBytes = 300;
    std::string line;
    std::size_t shown = 0;
    for (const Json& text : list) {
      if (shown > 0 &&
          (shown == options_.rows || line.size() + text.get_ref<const std::string&>().size() > kMostBytes))
        break;
      line += (shown == 0 ? "" : ", ") + text.get<std::string>();
      ++shown;
    }
    if (shown < list.size()) line += fmt::format(", and {} more", list.size() - shown);
    AddField(name, line);
  }

  void AddHead() {
    const Json& metadata = document_["metadata"];
    Add(fmt::format("{} {}: {} in {}, {} unpacked", Text(document_, "format"), Text(metadata, "name"),
                    HumanBytes(Count(document_, "size_bytes")), Plural(document_["files"].size(), "file"),
                    HumanBytes(Count(document_, "unpacked_bytes"))));
    AddField("version", Text(metadata, "version"));
    AddField("build", Text(metadata, "build"));
    AddField("subdir", Text(metadata, "subdir"));
    AddList("tags", metadata["tags"]);
    AddField("requires Python", Text(metadata, "requires_python"));
    AddList("requires", metadata["requires"]);
    AddList("constrains", metadata["constrains"]);
    AddField("license", Text(metadata, "license"));
    AddList("entry points", metadata["entry_points"]);
    AddField("made by", Text(metadata, "generator"));
  }

  void AddSizes() {
    Sums folders;
    Sums kinds;
    Sums files;
    const auto add = [](const Json& file, Sum& sum) {
      sum.size_bytes += Count(file, "size_bytes");
      ++sum.files;
    };
    for (const Json& file : document_["files"]) {
      const std::string path = Text(file, "path");
      add(file, folders[FolderOf(path)]);
      add(file, kinds[Text(file, "kind")]);
      add(file, files[path]);
    }
    const std::uint64_t whole = Count(document_, "unpacked_bytes");
    Add(SizeTable("size by directory", Largest(folders, whole, options_.rows)));
    Add(SizeTable("size by kind", Largest(kinds, whole, options_.rows)));
    Add(SizeTable("largest files", Largest(files, whole, options_.rows)));
  }

  void AddSections() {
    Sums kinds;
    std::uint64_t whole = 0;
    // Summed over all files, since a wheel can have hundreds. --json has the sections of each.
    for (const Json& elf : document_["elf"]) {
      for (const Json& section : elf["sections"]) {
        kinds[Text(section, "kind")].size_bytes += Count(section, "size_bytes");
        whole += Count(section, "size_bytes");
      }
    }
    Add(SizeTable(fmt::format("sections of {}", Plural(document_["elf"].size(), "ELF file")),
                  Largest(kinds, whole, options_.rows)));
    for (const Json& elf : document_["elf"]) {
      // A damaged part does not hide the rest of its file, so it has to be named.
      for (const Json& why : elf["damage"]) {
        Add(fmt::format("damaged: {}: {}", Text(elf, "file"), why.get<std::string>()));
      }
    }
  }

  void AddDeviceCode() {
    for (const Json& file : document_["device_code"]) {
      Add(SizeTable(fmt::format("GPU code of {} (elements, bytes)", Text(file, "file")),
                    ArchitectureRows(file)));
      // Null: neither --device-code nor the package itself names architectures.
      if (file["wanted"].is_null()) continue;
      AddList("missing", file["wanted"]["missing"]);
      AddList("unexpected", file["wanted"]["extra"]);
    }
  }

  void AddFloor() {
    const Json& floor = document_["floor"];
    // No file requires a version.
    if (floor.is_null()) return;
    const std::string policy = Text(floor, "policy");
    Add(fmt::format("floor: glibc {}{} ({}: {})", floor["glibc"].is_null() ? "any" : Text(floor, "glibc"),
                    policy.empty() ? "" : ", " + policy, Text(floor, "file"),
                    Join(floor["symbols"].get<std::vector<std::string>>(), ", ")));
  }

  void AddGraph() {
    std::map<std::string, std::uint64_t> states;
    std::vector<std::string> lines;
    for (const Json& elf : document_["elf"]) {
      bool named = false;
      for (const Json& need : elf["needed"]) {
        ++states[Text(need, "state")];
        const bool missing = Text(need, "state") == "missing";
        // Without --graph only what is missing is shown: a healthy wheel has hundreds of resolved libraries.
        if (!missing && !options_.graph) continue;
        if (!named) lines.push_back("  " + Text(elf, "file") + SearchPath(elf));
        named = true;
        lines.push_back("    " + NeedLine(need));
      }
    }
    std::vector<std::string> counts;
    for (const auto& [state, count] : states) counts.push_back(fmt::format("{} {}", count, state));
    if (counts.empty()) return;
    Add("libraries that files need: " + Join(counts, ", "));
    for (const std::string& line : lines) Add(line);
  }

  static std::string SearchPath(const Json& elf) {
    const Json& path = elf["search_path"];
    if (path.is_null()) return {};
    std::vector<std::string> entries;
    for (const Json& entry : path["entries"]) {
      // An entry that leads into the artifact is the rule, so only others get a remark.
      const std::string kind = Text(entry, "kind");
      entries.push_back(Text(entry, "text") + (kind == "in tree" ? "" : fmt::format(" ({})", kind)));
    }
    return fmt::format("  {} {}", Text(path, "tag"), Join(entries, ":"));
  }

  static std::string NeedLine(const Json& need) {
    if (!need["problem"].is_null()) {
      return fmt::format("{}: missing: {}", Text(need, "name"), Text(need, "problem"));
    }
    // Without a file of the artifact, the state says who brings the library, such as the system or a
    // dependency.
    if (need["files"].empty()) return fmt::format("{}: {}", Text(need, "name"), Text(need, "state"));
    std::vector<std::string> files;
    for (const Json& file : need["files"]) {
      files.push_back(fmt::format("{} by {}", Text(file, "path"), Text(file, "rule")));
    }
    return fmt::format("{}: {}", Text(need, "name"), Join(files, "; "));
  }

  void AddStages() {
    std::vector<SizeRow> rows;
    for (const Json& stage : document_["stages"]) {
      // From the manifest of the output directory, if the artifact lies in one. Elsewhere the table is
      // missing.
      const std::string did = stage["ran"].get<bool>() ? "" : "  (did not run)";
      rows.push_back({.name = Text(stage, "name") + did,
                      .cells = {fmt::format("{:.1f} s", stage["duration_s"].get<double>())}});
    }
    Add(SizeTable("build stages", rows));
  }

  const Json& document_;
  const InspectTextOptions& options_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> InspectLines(const Json& document, const InspectTextOptions& options) {
  return Page(document, options).Lines();
}

}  // namespace ptpkg::cli
