// ptpkg image. Layer: cli. Options that the description may set too (--base) win over it.

#include <fmt/core.h>
#include <memory>

#include "cli/verbs/verbs.h"
#include "pipeline/image/image.h"
#include "support/text/json.h"
#include "support/text/plural.h"

namespace ptpkg::cli {

namespace {

struct ImageFlags {
  std::vector<std::string> inputs;
  std::optional<std::string> file;
  std::optional<std::string> context;
  std::optional<std::string> extract;
  pipeline::ImageRequest request;  ///< Fields that the parser fills itself.
};

Json ImageToJson(const pipeline::ImageRequest& request, const pipeline::ImageOutcome& outcome) {
  Json images = Json::array();
  for (const pipeline::BuiltImage& image : outcome.images) {
    images.push_back({{"name", image.name}, {"id", image.id}, {"layers", image.layers}, {"run", image.run}});
  }
  return {{"images", images},
          // Empty for a recipe, whose packages are made in the build stage.
          {"artifacts", outcome.artifacts},
          {"context", request.context ? Json(request.context->str()) : Json(nullptr)},
          {"extracted", request.extract ? Json(request.extract->str()) : Json(nullptr)}};
}

Result<ExitCode> RunImage(Context& context, const ImageFlags& flags) {
  // All paths are resolved before the work, so that a mistake in the last one costs no build.
  pipeline::ImageRequest request = flags.request;
  PTPKG_TRY(request.inputs, ResolveExisting(context, flags.inputs));
  PTPKG_TRY(request.file, ResolveFile(context, flags.file));
  PTPKG_TRY(request.context, ResolveFile(context, flags.context));
  PTPKG_TRY(request.extract, ResolveFile(context, flags.extract));
  PTPKG_TRY(const pipeline::ImageOutcome outcome, pipeline::MakeImages(context.env(), request));
  if (context.json()) {
    context.PrintJson(ImageToJson(request, outcome));
    return kDone;
  }
  // With --context there are no images: the file is the result.
  if (request.context) context.Print(context.Shown((*request.context / "Containerfile").str()));
  for (const pipeline::BuiltImage& image : outcome.images) {
    context.Print(
        fmt::format("{} sha256:{} ({})", image.name, image.id, Plural(image.layers.size(), "layer")));
    // A note on stderr. stdout has the images alone, one a line, for scripts.
    context.env().reporter.Note(fmt::format("run it: {}", image.run));
  }
  return kDone;
}

}  // namespace

Verb ImageVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<ImageFlags>();
  return {.name = "image",
          .summary = "Build container images with wheels and conda packages",
          .known_as = {"docker", "container", "containerize"},
          .options = {{.names = "INPUT",
                       .help = "Wheels and conda packages, or one recipe",
                       .target = &flags->inputs},
                      {.names = "--file",
                       .value = "FILE",
                       .help = "Read the image description from FILE",
                       .target = &flags->file,
                       .default_text = "image.yaml beside the recipe"},
                      {.names = "--base",
                       .value = "IMAGE",
                       .help = "Start from this image, or root file system X.tar",
                       .target = &flags->request.base,
                       .default_text = "the description's"},
                      {.names = "--engine",
                       .help = "Build with this engine",
                       .target = &flags->request.engine,
                       .choices = {"auto", "buildah", "podman", "docker"},
                       .default_text = "the first that works"},
                      // The directory is complete before the first image is built, so it is useful after a
                      // failure too.
                      {.names = "--extract",
                       .value = "DIR",
                       .help = "Also copy the wheels to DIR, new or empty",
                       .target = &flags->extract},
                      // For a machine without an engine: another one builds from these files.
                      {.names = "--context",
                       .value = "DIR",
                       .help = "Only write Containerfile and files to DIR",
                       .target = &flags->context}},
          .notes =
              "A recipe is built in a stage of its own, once for all images. The description names the "
              "base, packages, time zone, user and environment of each image: 'ptpkg explain images'. Time "
              "stamps come from SOURCE_DATE_EPOCH.\n"
              "\n"
              "Exit codes: 3 unfit description or base, 4 no such file or engine, 5 failed step, 6 full disk "
              "or engine without rights, 7 DIR has content.",
          .examples = {"ptpkg image dist/wheels/*.whl --base docker.io/library/python:3.11-slim",
                       "ptpkg image recipes/toy --file image.yaml --base rootfs.tar --extract wheels",
                       "ptpkg image dist/wheels/toy-*.whl --file image.yaml --context context"},
          .run = [flags](Context& context) { return RunImage(context, *flags); }};
}

}  // namespace ptpkg::cli
