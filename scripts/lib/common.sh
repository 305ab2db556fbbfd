# shellcheck shell=bash
# What the scripts in scripts/ share. Sourced by each of them, after `set -euo pipefail`.

project_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=scripts/lib/packages.sh
source "$project_root/scripts/lib/packages.sh"

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "error: $*"
  exit 1
}

# Runs a command and shows what it printed only if it failed.
quietly() {
  local output
  output=$("$@" 2>&1) || {
    printf '%s\n' "$output" >&2
    fail "this failed: $*"
  }
}

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "this takes root or sudo: $*"
  fi
}

# Installs those of the named Debian packages that are missing.
install_packages() {
  if ! command -v apt-get >/dev/null; then
    say "not a Debian system: taking it that there is what these packages bring: $*"
    return
  fi
  local missing=() package
  for package in "$@"; do
    [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  say "installing ${missing[*]}"
  quietly as_root apt-get --quiet --quiet update
  quietly as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get --quiet --quiet --yes --no-install-recommends --option DPkg::Lock::Timeout=300 install "${missing[@]}"
}

# build PRESET [TARGET...]: configures and builds a preset into build/PRESET. In CI, a compiler warning is an error.
build() {
  local preset=$1
  shift
  local targets=() progress=()
  (($# == 0)) || targets=(--target "$@")
  [[ -t 2 ]] || progress=(-- --quiet)
  say "building ${*:-everything} ($preset)"
  (
    cd "$project_root" || exit
    quietly cmake --preset "$preset" -D MPC_WARNINGS_AS_ERRORS="${CI:+ON}"
    cmake --build --preset "$preset" --parallel "$(nproc)" "${targets[@]}" "${progress[@]}" >&2
  )
}
