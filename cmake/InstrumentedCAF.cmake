# Builds CAF::core from MPC_CAF_SOURCE with this build's sanitizers, in the place of the installed library.
#
# The thread sanitizer knows only what it saw happen, and what orders the two ends of a message happens inside
# libcaf_core. With the library as Debian compiles it, every message that reaches another thread looks like a race, and
# test/sanitizers/tsan.supp has to hide all that happens inside actors.
# The installed headers stay in use, so the source has to be of their version.

file(GLOB_RECURSE caf_core_sources "${MPC_CAF_SOURCE}/libcaf_core/src/*.cpp")
if(NOT caf_core_sources)
  message(FATAL_ERROR "There is no source of CAF in ${MPC_CAF_SOURCE}")
endif()

add_library(caf_core SHARED ${caf_core_sources})
add_library(CAF::core ALIAS caf_core)
set_target_properties(caf_core PROPERTIES CXX_STANDARD 14)
# It has warnings, and forms references from null pointers that it then leaves alone; neither is ours to mend.
target_compile_options(caf_core PRIVATE -w -U_GLIBCXX_ASSERTIONS ${mpc_sanitizer_options})
target_link_options(caf_core PRIVATE -fsanitize=${MPC_SANITIZERS})
target_link_libraries(caf_core PUBLIC Threads::Threads)
