#pragma once
// The names of a run's results: which are free, and how finished files get them. Layer: pipeline.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/atomic_file.h"
#include "support/env.h"

namespace ptpkg::pipeline {

/// The names that one run gives to its results.
class NewNames {
 public:
  /// `verb`: "retag". Errors: kUsage for a name that was given before.
  Result<void> Take(const AbsPath& to, std::string_view verb);

 private:
  std::set<std::string> taken_;
};

/// kAlreadyExists; the hint names what the verb offers.
Error IsInTheWay(const AbsPath& path, bool has_force);

/// Whether both paths lead to one file, through links too. Errors: kNotFound, kIo.
Result<bool> IsOneFile(Env& env, const AbsPath& left, const AbsPath& right);

/// Removes what vouches for `artifact` beside it: for bytes that go, or are gone. Errors: kIo.
Result<void> RemoveBeside(Env& env, const AbsPath& artifact);

/// Gives finished files their names, all of them or none: whoever publishes what lies in a folder must not
/// find a part of a set there.
class Placement {
 public:
  Placement(Env& env, OnExisting on_existing) : env_(env), on_existing_(on_existing) {}
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;
  /// Removes the folders that MakeDirs made, where they are empty.
  ~Placement();

  /// Makes a folder that results go to, with its parents. Errors: kIo.
  Result<void> MakeDirs(const AbsPath& folder);
  /// `staged`: a file on the file system that `to` will be on.
  void Add(AbsPath staged, AbsPath to);
  /// Makes the folders and renames the files, in the order of Add. Post: each has its name, and what vouched
  /// for one that it replaced is gone. After an error the new ones are removed again; a file that was
  /// replaced before stays replaced. A process that is killed meanwhile leaves a part, each file whole.
  /// Errors: kAlreadyExists (kRefuse only), kIo.
  Result<void> Place();

 private:
  struct Move {
    AbsPath staged;
    AbsPath to;
    bool replaces = false;
  };
  Result<void> PlaceOne(Move& move);

  Env& env_;
  OnExisting on_existing_;
  std::vector<AbsPath> made_;  // folders, parents first
  std::vector<Move> moves_;
};

}  // namespace ptpkg::pipeline
