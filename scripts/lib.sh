# shellcheck shell=bash
# Sourced by the scripts beside it: where things are kept, how they speak. No side effects.
# shellcheck disable=SC2034  # the names below are for those scripts
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ptpkg
build_requirements=$root/scripts/requirements-build.txt
peer_requirements=$root/tests/peers/requirements.txt
docs_requirements=$root/scripts/requirements-docs.txt

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# usage SCRIPT: its header comment.
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$1"; }

# fail MESSAGE COMMAND: the one error of a run, and what mends it.
fail() {
  printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
  exit 1
}

# system_python: the newest-named Python ≥ 3.11 that can make environments; empty when there is none.
system_python() {
  local python
  for python in "${PYTHON:-python3}" /usr/bin/python3; do
    if "$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$python"
      return
    fi
  done
}

# environment_dir REQUIREMENTS PYTHON: the folder of the virtual environment with those requirements.
environment_dir() {
  local name key
  name=$(basename "$(dirname "$1")")-$(basename "$1" .txt)
  key=$({ cat "$1"; "$2" --version; echo "$2"; } | sha256sum)
  printf '%s/envs/%s-%s\n' "$cache" "$name" "${key:0:16}"
}

# use_environment REQUIREMENTS: its programs come first on PATH.
use_environment() {
  local dir
  dir=$(environment_dir "$1" "$(system_python)")
  export VIRTUAL_ENV=$dir PATH=$dir/bin:$PATH
}

# cached_value BUILD NAME: what CMake's cache of that folder says.
cached_value() { sed -n "s/^$2:[A-Z]*=//p" "$1/CMakeCache.txt" 2>/dev/null; }

# configure_and_build PRESET TARGET TESTING: quiet while it goes well, the compiler's words when it does not.
# TESTING is ON or OFF: a machine set up by quickstart has no GoogleTest.
configure_and_build() {
  local build=$root/build/$1 log=$root/build/$1.log options=("-DBUILD_TESTING=$3")
  mkdir -p "$root/build"
  if [[ ! -e $build/build.ninja || $(cached_value "$build" BUILD_TESTING) != "$3" ]]; then
    # Precompiled headers make a first build twice as fast as an empty compiler cache does. Sources that are compiled several at
    # a time save more, and cost time after each edit: only where nothing is kept between runs.
    [[ -z ${CI-} || $1 != dev ]] || options+=(-DPTPKG_UNITY=ON)
    say "configuring build/$1"
    cmake --preset "$1" "${options[@]}" >"$log" 2>&1 || {
      grep -A 8 'CMake Error' "$log" >&2 || tail -n 30 "$log" >&2
      fail "cmake could not configure build/$1 (lines above)" "rm -r build/$1; then scripts/${0##*/}"
    }
  fi
  say "compiling build/$1"
  ninja -C "$build" "$2" >"$log" 2>&1 || {
    grep -A 30 -m 3 '^FAILED' "$log" >&2 || tail -n 30 "$log" >&2
    fail "compiling failed (lines above; all of it: build/$1.log)" "scripts/${0##*/}, after mending it"
  }
}
