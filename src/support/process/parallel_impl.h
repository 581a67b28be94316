#pragma once
// Typed front of OrderedPipeline (parallel.cpp). Layer: support. Included by parallel.h only.

#include <memory>
#include <utility>

namespace ptpkg::detail {

/// Unit of work in the pipeline: first the input, then the output, or an error of either step.
struct PipelineToken {
  PipelineToken() = default;
  PipelineToken(PipelineToken&&) = delete;
  PipelineToken& operator=(PipelineToken&&) = delete;
  virtual ~PipelineToken() = default;
  std::optional<Error> error;
};

struct PipelineSteps {
  /// Null at the end of the input.
  std::function<std::unique_ptr<PipelineToken>()> next;
  std::function<void(PipelineToken&)> work;
  std::function<Result<void>(PipelineToken&)> done;
};

Result<void> RunOrderedPipeline(int jobs, std::size_t tokens, const PipelineSteps& steps);

template <class In, class Out>
struct TypedToken final : PipelineToken {
  std::optional<In> in;
  std::optional<Out> out;
};

}  // namespace ptpkg::detail

namespace ptpkg {

template <class In, class Out>
Result<void> OrderedPipeline(int jobs, std::size_t tokens,
                             const std::function<Result<std::optional<In>>()>& next,
                             const std::function<Result<Out>(In)>& work,
                             const std::function<Result<void>(Out)>& done) {
  using Token = detail::TypedToken<In, Out>;
  detail::PipelineSteps steps;
  steps.next = [&]() -> std::unique_ptr<detail::PipelineToken> {
    Result<std::optional<In>> made = next();
    auto token = std::make_unique<Token>();
    if (!made) {
      token->error = std::move(made).error();
    } else if (made->has_value()) {
      token->in = *std::move(made);
    } else {
      return nullptr;
    }
    return token;
  };
  steps.work = [&](detail::PipelineToken& erased) {
    auto& token = static_cast<Token&>(erased);
    Result<Out> made = work(*std::move(token.in));
    token.in.reset();
    if (made) {
      token.out = *std::move(made);
    } else {
      token.error = std::move(made).error();
    }
  };
  steps.done = [&](detail::PipelineToken& erased) {
    return done(*std::move(static_cast<Token&>(erased).out));
  };
  return detail::RunOrderedPipeline(jobs, tokens, steps);
}

}  // namespace ptpkg
