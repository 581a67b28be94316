#pragma once
// Reserves result names and moves files into place atomically. Layer: pipeline.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/env.h"
#include "support/files/atomic_file.h"

namespace ptpkg::pipeline {

/// The names that one run gives to its results.
class ResultNames {
 public:
  /// `verb`: "retag". Errors: kUsage for a name that was given before.
  Result<void> Take(const AbsPath& to, std::string_view verb);

 private:
  std::set<std::string> taken_;
};

/// kAlreadyExists; the hint names what the verb offers.
Error NameTakenError(const AbsPath& path, bool has_force);

/// True if both paths lead to the same file, through links too. Errors: kNotFound, kIo.
Result<bool> IsOneFile(Env& env, const AbsPath& left, const AbsPath& right);

/// Removes what vouches for `artifact` beside it: for bytes that go, or are gone. Errors: kIo.
Result<void> RemoveSidecars(Env& env, const AbsPath& artifact);

/// Removes what killed runs left in `folder` (support/files/scratch.h), as far as that is possible. Verbs
/// that write beside their files begin with it, also when there is nothing to do.
void RemoveAbandonedScratch(Env& env, const AbsPath& folder);

/// Gives finished files their names, all of them or none: a person who publishes a directory must not
/// find a part of a set there.
class AtomicPlacement {
 public:
  AtomicPlacement(Env& env, ExistingFilePolicy on_existing) : env_(env), on_existing_(on_existing) {}
  AtomicPlacement(const AtomicPlacement&) = delete;
  AtomicPlacement& operator=(const AtomicPlacement&) = delete;
  /// Removes the directories that MakeDirs made, where they are empty, unless Place succeeded.
  ~AtomicPlacement();

  /// Makes a directory that results go to, with its parents. Errors: kIo.
  Result<void> MakeDirs(const AbsPath& folder);
  /// `staged`: a file on the file system that `to` will be on.
  void Add(AbsPath staged, AbsPath to);
  /// Makes the directories and renames the files, in the order of Add. `scratch`: an empty directory on their
  /// file system, which gets the files that they replace, and what vouched for those: the caller removes it.
  /// Post: each has its name; or, after an error, all is as it was. A process that is killed meanwhile leaves
  /// a part, each file whole. Errors: kAlreadyExists (kRefuse only), kIo.
  Result<void> Place(const AbsPath& scratch);

 private:
  struct Move {
    AbsPath staged;
    AbsPath to;
  };
  Result<void> MoveIntoPlace(const Move& move, const AbsPath& kept);
  Result<void> Replace(const Move& move, const AbsPath& kept);
  void Undo();

  Env& env_;
  ExistingFilePolicy on_existing_;
  std::vector<AbsPath> made_;  // directories, parents first
  std::vector<Move> moves_;
  /// Moves to undo: a file at `to` that was at `staged`.
  std::vector<Move> done_;
  std::vector<AbsPath> new_;  // files that are to be removed then
};

/// Gives one finished file its name, as AtomicPlacement::Place does. `staged` is the only file of a scratch
/// directory, which gets the sidecars of a replaced file. Syncs the directory of `to`, and warns if that
/// fails. Errors: kAlreadyExists (kRefuse only), kIo.
Result<void> PlaceFile(Env& env, const AbsPath& staged, const AbsPath& to, ExistingFilePolicy on_existing);

}  // namespace ptpkg::pipeline
