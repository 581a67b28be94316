// A Containerfile is filled from the templates in data/containerfile.txt. All images begin with the stage
// `common`, so packages that they share are installed once and are the same layers. Wheels and packages are
// mounted from the stage `artifacts` while they are installed: no layer holds them.
//
// Two quotations: words of a shell line get the shell's single quotes; values of ENV and LABEL get double
// quotes, in which the engine reads '\', '"' and '$'.

#include "pipeline/image/containerfile.h"

#include <fmt/core.h>

#include "ci/template.h"
#include "pipeline/containerfile_templates.h"  // generated from data/containerfile.txt
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {
namespace {

using Values = std::map<std::string, std::string>;

std::string FillPart(std::string_view name, const Values& values) {
  return ci::Fill(ci::FindTemplate(kContainerfileTemplates, name), values);
}

std::string EngineQuoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '\\' || c == '"' || c == '$') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string Pairs(std::string_view instruction, const std::map<std::string, std::string>& pairs) {
  std::string lines;
  for (const auto& [key, value] : pairs)
    lines += fmt::format("{} {}={}\n", instruction, key, EngineQuoted(value));
  return lines;
}

std::string BaseStage(const std::string& stage, const std::string& rootfs, const std::string& reference) {
  return FillPart(rootfs.empty() ? "reference" : "rootfs",
                  {{"stage", stage}, {"base", rootfs.empty() ? reference : rootfs}});
}

/// The step that installs `packages` with `tool`; "" for none.
std::string Install(const std::string& tool, const std::vector<std::string>& packages) {
  return packages.empty() ? "" : FillPart(tool, {{"packages", ci::ShellLine(packages)}});
}

/// apt first: it may bring Python, pip and time zone data.
std::string SharedSteps(const ContainerfileInput& input) {
  const ImageSettings& shared = input.file.shared;
  std::vector<std::string> conda;
  std::vector<std::string> wheels;
  for (const ImageArtifact& artifact : input.artifacts) {
    if (artifact.conda_spec.empty()) {
      wheels.push_back("/run/artifacts/" + artifact.file_name);
    } else {
      conda.push_back(artifact.conda_spec);
    }
  }
  if (!conda.empty()) conda.insert(conda.begin(), {"--channel", "file:///run/artifacts"});
  conda.insert(conda.end(), shared.conda.begin(), shared.conda.end());
  wheels.insert(wheels.end(), shared.pip.begin(), shared.pip.end());
  std::string steps = Pairs("ENV", shared.env) + Install("apt", shared.apt);
  if (input.need) {
    steps += FillPart("glibc", {{"version", input.need->version.str()},
                                {"artifact", ci::ShellLine({input.need->artifact})}});
  }
  steps += Install("conda", conda);
  if (!input.runs_recipe) return steps + Install("pip", wheels);
  // The names of wheels that a build stage makes are not known here: the shell finds them.
  const std::string more = wheels.empty() ? "" : " " + ci::ShellLine(wheels);
  return steps + FillPart("pip", {{"packages", "/run/artifacts/*.whl" + more}});
}

std::string ImageStage(const NamedImage& image, const ContainerfileInput& input) {
  const ImageSettings& settings = image.settings;
  std::string steps = Pairs("ENV", settings.env) + Install("apt", settings.apt) +
                      Install("conda", settings.conda) + Install("pip", settings.pip);
  if (!settings.timezone.empty()) steps += FillPart("timezone", {{"zone", settings.timezone}});
  std::string workdir = settings.workdir;
  if (!settings.user.empty()) {
    if (workdir.empty()) workdir = "/home/" + settings.user;
    const std::string uid = fmt::format("{}", *settings.uid);
    steps += FillPart("user", {{"user", settings.user},
                               {"uid", uid},
                               {"gid", fmt::format("{}", settings.gid.value_or(*settings.uid))},
                               {"workdir", ci::ShellLine({workdir})}});
  }
  if (!workdir.empty()) steps += FillPart("workdir", {{"workdir", EngineQuoted(workdir)}});
  std::map<std::string, std::string> labels = settings.labels;
  if (!input.runs_recipe) {
    Json digests = Json::object();
    for (const ImageArtifact& artifact : input.artifacts) digests[artifact.file_name] = artifact.sha256;
    labels.insert_or_assign(kArtifactsLabel, digests.dump());
  }
  return FillPart("image", {{"name", image.name},
                            {"epoch", fmt::format("{}", input.epoch)},
                            {"steps", steps + Pairs("LABEL", labels)}});
}

}  // namespace

std::string ContainerfileText(const ContainerfileInput& input) {
  const ImageFile& file = input.file;
  const std::string epoch = fmt::format("{}", input.epoch);
  std::string builder;
  if (input.runs_recipe) {
    const bool own = !file.build_base.empty() || !input.build_rootfs.empty();
    const std::string recipe = input.recipe_file.empty() ? "/recipe" : "/recipe/" + input.recipe_file;
    builder = FillPart("builder", {{"base", own ? BaseStage("build-base", input.build_rootfs, file.build_base)
                                                : BaseStage("build-base", "", "base")},
                                   {"epoch", epoch},
                                   {"recipe", ci::ShellLine({recipe})},
                                   {"apt", Install("apt", file.build_apt)},
                                   {"arguments", ci::ShellLine(file.build_arguments)}});
  }
  std::string images;
  for (const NamedImage& image : file.images) images += "\n" + ImageStage(image, input);
  return FillPart("file", {{"epoch", epoch},
                           {"base", BaseStage("base", input.base_rootfs, file.base)},
                           {"builder", builder},
                           {"artifacts", input.runs_recipe ? "--from=builder /artifacts" : "artifacts/"},
                           {"steps", SharedSteps(input)},
                           {"images", images}});
}

}  // namespace ptpkg::pipeline
