// Answers of spec/ for spec_vs_rattler.py: one question a line on standard input, fields separated by tabs,
// one answer a line on standard output.
//   order LEFT RIGHT          "<", "=", ">", or "error" when one of them is no version
//   version VERSION SPEC      "True", "False" or "error"
//   match VERSION BUILD SPEC  the same, of a whole match spec and a package called "x"

#include <iostream>
#include <string>
#include <vector>

#include "support/text/text.h"
#include "versions/constraint.h"

namespace {

using ptpkg::Result;
using ptpkg::versions::Choice;
using ptpkg::versions::Constraint;
using ptpkg::versions::MatchSpec;
using ptpkg::versions::Version;
using ptpkg::versions::VersionMatches;

std::string Word(const Result<bool>& answer) {
  if (!answer) return "error";
  return *answer ? "True" : "False";
}

std::string Order(const std::string& left, const std::string& right) {
  const Result<Version> a = Version::Parse(left);
  const Result<Version> b = Version::Parse(right);
  if (!a || !b) return "error";
  return *a < *b ? "<" : (*a > *b ? ">" : "=");
}

Result<bool> Match(const std::string& version, const std::string& build, const std::string& text) {
  PTPKG_TRY(const MatchSpec spec, MatchSpec::Parse(text));
  if (spec.name != "x") return false;
  PTPKG_TRY(const Constraint constraint, Constraint::Of(spec));
  PTPKG_TRY(const Version parsed, Version::Parse(version));
  return constraint.Admits(Choice{parsed, build});
}

std::string Answer(const std::vector<std::string>& fields) {
  if (fields.size() == 3 && fields[0] == "order") return Order(fields[1], fields[2]);
  if (fields.size() == 3 && fields[0] == "version") {
    return fields[2].empty() ? "error" : Word(VersionMatches(fields[1], fields[2]));
  }
  if (fields.size() == 4 && fields[0] == "match") return Word(Match(fields[1], fields[2], fields[3]));
  return "bad question";
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) std::cout << Answer(ptpkg::Split(line, '\t')) << '\n';
  return 0;
}
