#include "ci/scripts.h"

#include "ci/template.h"

namespace ptpkg::ci {
namespace {

/// The array `folders`: one output directory a job. An artifact that is downloaded alone has no directory of
/// its own.
std::string FindFolders(std::string_view folder) {
  return Fill(R"sh(mapfile -d '' -t folders < <(
  find "@folder@" -mindepth 1 -maxdepth 2 -name manifest.json -printf '%h\0' |
    sort -z)
if [[ ${#folders[@]} != "$PTPKG_FOLDERS" ]]; then
  echo "error: ${#folders[@]} output folders, not $PTPKG_FOLDERS" >&2
  exit 1
fi
)sh",
              {{"folder", std::string(folder)}});
}

}  // namespace

std::string LookForPtpkg() {
  return R"sh(if [[ -n $PTPKG_IMAGE && $PTPKG_IMAGE != *@sha256:* ]]; then
  echo "error: PTPKG_IMAGE has no digest: write it as NAME@sha256:…" >&2
  exit 1
fi
if ! command -v ptpkg >/dev/null; then
  echo "error: cannot run ptpkg: it is not on PATH" >&2
  echo "help: set the CI variable PTPKG_IMAGE to an image with ptpkg" \
    "(NAME@sha256:…), or install ptpkg on the runner" >&2
  exit 1
fi
ptpkg --version
)sh";
}

std::string CompareWorkflow() {
  return R"sh(mapfile -t arguments <<<"$PTPKG_CI"
ptpkg ci "${arguments[@]}" --check
)sh";
}

std::string Build(std::string_view output) {
  return Fill(R"sh(mapfile -t arguments <<<"$PTPKG_ARGUMENTS"
ptpkg build "${arguments[@]}" --output "@output@"
)sh",
              {{"output", std::string(output)}});
}

std::string CollectEarlierPackages(std::string_view folder, std::string_view output) {
  return Fill(R"sh(@find@
ptpkg publish "${folders[@]}" --to "file://$(realpath -m "@output@")"
)sh",
              {{"find", FindFolders(folder)}, {"output", std::string(output)}});
}

std::string CleanCache() { return "ptpkg cache clean --max-size \"$PTPKG_CACHE_SIZE\"\n"; }

std::string Publish(std::string_view folder, bool dry) {
  return Fill(R"sh(@find@
mapfile -t target <<<"$PTPKG_TARGET"
ptpkg publish "${folders[@]}" "${target[@]}"@dry@
)sh",
              {{"find", FindFolders(folder)}, {"dry", dry ? " --dry-run" : ""}});
}

}  // namespace ptpkg::ci
