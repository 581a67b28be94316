#pragma once
// Sets of programs that install or index wheels. Layer: model.

namespace ptpkg {

/// A set of them.
struct Consumers {
  bool pypi = false;  ///< The upload of the Python package index.
  bool uv = false;
  bool pip = false;
  bool installer = false;

  [[nodiscard]] constexpr bool Intersects(const Consumers& other) const {
    return (pypi && other.pypi) || (uv && other.uv) || (pip && other.pip) || (installer && other.installer);
  }
  constexpr Consumers operator|(const Consumers& other) const {
    return {pypi || other.pypi, uv || other.uv, pip || other.pip, installer || other.installer};
  }
  constexpr bool operator==(const Consumers&) const = default;
};

inline constexpr Consumers kAllConsumers = {.pypi = true, .uv = true, .pip = true, .installer = true};

}  // namespace ptpkg
