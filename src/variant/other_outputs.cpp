// Names of outputs can be expressions, so only evaluating their heads for a choice shows which output has a
// name. This reads axes. The output that asks must open them too: under another value, the same name might
// belong to another output, or to none.

#include "variant/other_outputs.h"

#include <fmt/core.h>
#include <optional>

#include "support/text/text.h"

namespace ptpkg::variant {
namespace {

Error NotUnique(const recipe::Evaluation& heir) {
  return Error(ErrorCode::kInvalidInput, fmt::format("two outputs have the name '{}'", heir.inherit))
      .At(heir.inherit_span)
      .WithHint("give the staging output its own name, for example '…-build'");
}

/// `names`: of the staging outputs. `package`: a package output has the name.
Error NoStaging(const recipe::Evaluation& heir, const std::vector<std::string>& names, bool package) {
  if (package) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("'{}' is a package output: only staging outputs can be inherited", heir.inherit))
        .At(heir.inherit_span)
        .WithHint("move its script into a staging output, and let both packages inherit from that");
  }
  Error error = Error(ErrorCode::kInvalidInput, fmt::format("there is no staging output '{}'", heir.inherit))
                    .At(heir.inherit_span);
  const std::optional<std::string> nearest = NearestMatch(heir.inherit, names);
  if (nearest) return std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest));
  return std::move(error).WithHint(names.empty()
                                       ? "add one to 'outputs': '- staging: {name: NAME}'"
                                       : fmt::format("the staging outputs are {}", Join(names, ", ")));
}

}  // namespace

recipe::EvaluationInput InputOf(const RenderInputs& inputs, std::size_t index, ChosenValues& values,
                                const HashTexts& texts) {
  return {.target_platform = inputs.options.target_platform,
          .variants = values,
          .environment = inputs.options.variables,
          .hash = texts.hash,
          .string_prefix = texts.prefix,
          .run_pins = inputs.config.run_pins,
          .check_wheel_requirement = inputs.options.check_wheel_requirement,
          .detected = inputs.options.detected,
          .staging = inputs.outputs[index].staging,
          .files = &inputs.files};
}

Result<recipe::Recipe> HeadOf(const RenderInputs& inputs, std::size_t index, const Choice& choice,
                              ChosenValues& asking) {
  ChosenValues values(inputs.config.axes, choice);
  Result<recipe::Recipe> head =
      recipe::EvaluateHead(inputs.outputs[index].document, InputOf(inputs, index, values, HashTexts{}));
  asking.Open(values.open());
  return head;
}

Result<std::size_t> PinnedOutput(const RenderInputs& inputs, const std::string& name, std::size_t self,
                                 const Choice& choice, ChosenValues& asking) {
  std::vector<std::string> names;
  bool skipped = false;
  for (std::size_t i = 0; i < inputs.outputs.size(); ++i) {
    if (i == self || inputs.outputs[i].staging) continue;
    PTPKG_TRY(const recipe::Recipe head, HeadOf(inputs, i, choice, asking));
    names.push_back(head.name);
    if (head.name != name) continue;
    if (!head.skip) return i;
    skipped = true;
  }
  if (skipped) {
    return Error(ErrorCode::kInvalidInput, fmt::format("the output '{}' is skipped in this variant", name))
        .WithHint("skip the output that pins it too, or pin it under the opposite condition");
  }
  Error error(ErrorCode::kInvalidInput, fmt::format("'{}' is not an output of this recipe", name));
  const std::optional<std::string> nearest = NearestMatch(name, names);
  return nearest ? std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest))
                 : std::move(error).WithHint(fmt::format("the outputs are {}", Join(names, ", ")));
}

Result<std::size_t> StagingOutput(const RenderInputs& inputs, const recipe::Evaluation& heir,
                                  const Choice& choice, ChosenValues& asking) {
  std::vector<std::string> names;
  std::optional<std::size_t> found;
  bool package = false;
  for (std::size_t i = 0; i < inputs.outputs.size(); ++i) {
    PTPKG_TRY(const recipe::Recipe head, HeadOf(inputs, i, choice, asking));
    package = package || (head.name == heir.inherit && !inputs.outputs[i].staging);
    if (!inputs.outputs[i].staging) continue;
    names.push_back(head.name);
    if (head.name != heir.inherit) continue;
    // No early end at the first one: a second output of that name is an error.
    if (found) return NotUnique(heir);
    found = i;
  }
  if (found && package) return NotUnique(heir);
  if (!found) return NoStaging(heir, names, package);
  return *found;
}

Result<void> CheckNotItself(const recipe::Evaluation& heir, const recipe::OutputDocument& document,
                            const recipe::Recipe& staging) {
  for (const auto* specs : {&staging.requirements.build, &staging.requirements.host}) {
    for (const recipe::MatchSpec& spec : *specs) {
      if (spec.name != heir.recipe.name) continue;
      const recipe::Node* section = document.document.root.Find("requirements");
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("the outputs require each other: '{}' is built with '{}', which inherits it",
                               staging.name, spec.name))
          .At(section == nullptr ? heir.inherit_span : section->span);
    }
  }
  return Ok();
}

}  // namespace ptpkg::variant
