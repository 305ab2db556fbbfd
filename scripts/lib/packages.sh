# shellcheck shell=bash disable=SC2034
# The Debian packages that this project needs: the one list of them.

# To build and to run the tests.
required_packages=(
  cmake
  g++
  ninja-build
  pkg-config # finds Pistache
  libboost-dev # multi-index containers
  libboost-test-dev
  libcaf-dev
  libcli11-dev
  libcurl4-openssl-dev
  libfmt-dev
  libpistache-dev
  librust-blake3-dev # its sources hold the C implementation of BLAKE3
  python3 # for scripts/try_membership and test/packaging
  rapidjson-dev
)

# For scripts/test --thorough besides: fuzzing takes clang and its runtime libraries. The sanitizers come with g++.
thorough_packages=(
  clang-14
  libclang-rt-14-dev
)

# For scripts/bench besides.
benchmark_packages=(
  nginx-light # answers requests with next to no work: the bottom line
  wrk
)
