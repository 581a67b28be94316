// Versions and match specs, whatever they hold: no crash, a reason for each refusal, an order that is one.

// clang-format off: rapidcheck does not include what it uses
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
// clang-format on
#include <string>
#include <vector>

#include "support/matchers.h"
#include "versions/constraint.h"
#include "versions/package_names.h"
#include "versions/pin.h"
#include "versions/python_version.h"

namespace ptpkg::versions {
namespace {

/// Texts of pieces that mean something to a parser, so that most come far into it.
rc::Gen<std::string> Pieces(const std::vector<std::string>& pieces) {
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces)),
                      [](const std::vector<std::string>& chosen) {
                        std::string text;
                        for (const std::string& piece : chosen) text += piece;
                        return text;
                      });
}

const std::vector<std::string> kVersionPieces = {"0", "1", "2", "10", "99", ".",   ".",    ".", "_",
                                                 "-", "!", "+", "a",  "rc", "dev", "post", "B"};

std::vector<std::string> SpecPieces() {
  std::vector<std::string> pieces = kVersionPieces;
  for (const char* piece : {"==", "=", "!=", "<", "<=", ">",  ">=", "~=",   ",", "|",     "(",  ")", "*",
                            " ",  "^", "$",  "[", "]",  "::", "\t", "\xc3", "x", "numpy", "\\", "?", "{"}) {
    pieces.emplace_back(piece);
  }
  return pieces;
}

/// Versions that Parse accepts.
rc::Gen<Version> Valid() {
  const auto number = rc::gen::elementOf(std::vector<std::string>{"0", "1", "2", "10", "01"});
  const auto word = rc::gen::elementOf(std::vector<std::string>{"", "", "", "a", "b1", "dev", "post2", "rc"});
  const auto segment =
      rc::gen::map(rc::gen::pair(number, word), [](const auto& both) { return both.first + both.second; });
  const auto segments =
      rc::gen::resize(4, rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(segment)));
  const auto local = rc::gen::elementOf(std::vector<std::string>{"", "", "", "+1", "+a.2"});
  const auto epoch = rc::gen::elementOf(std::vector<std::string>{"", "", "0!", "1!"});
  return rc::gen::map(rc::gen::tuple(epoch, segments, local), [](const auto& parts) {
    std::string text = std::get<0>(parts);
    for (const std::string& one : std::get<1>(parts))
      text += (&one == &std::get<1>(parts).front() ? "" : ".") + one;
    return Version::AnyText(text + std::get<2>(parts));
  });
}

bool Holds(const Version& version, const std::string& spec) {
  const Result<bool> matches = VersionMatches(version.str(), spec);
  RC_ASSERT(matches.has_value());
  return *matches;
}

RC_GTEST_PROP(SpecProperty, AnyTextIsReadOrRefusedWithAReason, ()) {
  const std::string text = *rc::gen::oneOf(Pieces(SpecPieces()), rc::gen::arbitrary<std::string>());
  for (const Result<void>& refused : {CheckSpecName(text), CheckVersion(text), CheckBuildString(text)}) {
    if (!refused) RC_ASSERT(!refused.error().message().empty());
  }
  const auto explained = [](const auto& result) {
    if (!result)
      RC_ASSERT(result.error().message().size() > 10 && result.error().code() != ErrorCode::kInternal);
  };
  explained(Version::Parse(text));
  explained(VersionSpec::Parse(text));
  explained(BuildPattern::Parse(text));
  explained(PinConstraint(text, {}));
  explained(PythonPin(text));
  const Result<MatchSpec> spec = MatchSpec::Parse(text);
  explained(spec);
  if (!spec) return;
  // What was read prints as something that reads the same.
  const Result<MatchSpec> again = MatchSpec::Parse(spec->str());
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == *spec);
  const Result<Constraint> constraint = Constraint::Of(*spec);
  RC_ASSERT(constraint.has_value());
  static_cast<void>(constraint->Admits({Version::AnyText(text), text}));
}

RC_GTEST_PROP(SpecProperty, EverySpecOfANumpyIsReadOrRefused, ()) {
  const std::string text = "numpy " + *Pieces(SpecPieces());
  if (const auto spec = MatchSpec::Parse(text); !spec) {
    RC_ASSERT(!spec.error().message().empty());
  } else {
    RC_ASSERT(MatchSpec::Parse(spec->str()).has_value());
  }
}

RC_GTEST_PROP(SpecProperty, TheOrderIsTotal, ()) {
  const auto any = rc::gen::oneOf(Valid(), rc::gen::map(Pieces(kVersionPieces), [](const std::string& text) {
                                    return Version::AnyText(text);
                                  }));
  const Version a = *any;
  const Version b = *any;
  const Version c = *any;
  RC_ASSERT((a <=> b) == (0 <=> (b <=> a)));
  if (a <= b && b <= c) RC_ASSERT(a <= c);
  if (a == b) RC_ASSERT((a <=> c) == (b <=> c));
}

RC_GTEST_PROP(SpecProperty, WhatOneVersionSatisfiesCanMeet, ()) {
  const Version version = *Valid();
  std::vector<Constraint> constraints;
  for (int i = 0; i < 4; ++i) {
    const Version bound = *rc::gen::oneOf(Valid(), rc::gen::just(version));
    const std::string op =
        *rc::gen::elementOf(std::vector<std::string>{"=", "!=", "<", "<=", ">", ">=", "=="});
    const std::string star = op == "!=" && *rc::gen::arbitrary<bool>() ? ".*" : "";
    const Result<Constraint> constraint = Constraint::Of({.name = "x", .version = op + bound.str() + star});
    RC_ASSERT(constraint.has_value());
    if (constraint->Admits({version, ""})) constraints.push_back(*constraint);
  }
  RC_ASSERT(CanBeSatisfied(constraints));
  RC_ASSERT(!FindCollision(constraints).has_value());
}

RC_GTEST_PROP(SpecProperty, OperatorsAgreeWithTheOrder, ()) {
  const Version version = *Valid();
  const Version bound = *Valid();
  const std::string& text = bound.str();
  RC_ASSERT(Holds(version, "<" + text) == (version < bound));
  RC_ASSERT(Holds(version, "<=" + text) == !Holds(version, ">" + text));
  RC_ASSERT(Holds(version, ">=" + text) == !Holds(version, "<" + text));
  RC_ASSERT(Holds(version, "==" + text) == !Holds(version, "!=" + text));
  RC_ASSERT(Holds(version, "=" + text) == Holds(version, text + ".*"));
  RC_ASSERT(Holds(version, "=" + text) == !Holds(version, "!=" + text + ".*"));
  RC_ASSERT(Holds(version, "(" + text + "|<" + text + ")") == Holds(version, "<=" + text));
  if (version == bound) RC_ASSERT(Holds(version, "=" + text));
}

}  // namespace
}  // namespace ptpkg::versions
