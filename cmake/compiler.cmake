# SPDX-License-Identifier: BSD-3-Clause
#
# The options for all compilations: the language, the warnings (errors in the presets), the
# sanitizers.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# The tests need no more than -g1, with which the compilation takes a sixth to a fifth less time
# (scripts/test.sh).
set(TUTTI_DEBUG_INFO -g CACHE STRING "The debug information of a Release build: -g, or -g1 for lines only")
# Functions start at a cache line. Otherwise the time of a call of 300 instructions varies by 10 %
# with the code that is linked before it.
set(CMAKE_C_FLAGS_RELEASE "-O3 ${TUTTI_DEBUG_INFO} -DNDEBUG -falign-functions=64")
# For x86, gcc clears and copies structs of 100 bytes and more by `rep stos` and `rep movs`. A load of
# a member then waits until all earlier stores of the rank have reached the cache, also a store to a
# line that another rank polls: a bcast of 8 bytes took 1.7 times as long.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(strategy "vector_loop:512:noalign,libcall:-1:noalign")
  string(APPEND CMAKE_C_FLAGS_RELEASE " -mmemset-strategy=${strategy} -mmemcpy-strategy=${strategy}")
endif()
set(CMAKE_C_FLAGS_DEBUG "-O0 -g3")
if(TUTTI_SANITIZE)
  # Sanitizers print stacks with line numbers, and need no debug information about variables. With
  # -O1 the code runs two to five times as fast as with -O0, which saves the tests more time than
  # the compiler needs for it.
  set(CMAKE_C_FLAGS_DEBUG "-O1 -g1")
endif()

# Defines _GNU_SOURCE with an empty value, as files do that define it themselves, so that the
# definitions do not contradict each other.
add_compile_options($<$<COMPILE_LANGUAGE:C>:-D_GNU_SOURCE=>)
add_compile_options(-Wall -Wextra -Wundef -Wshadow -Wvla
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes$<SEMICOLON>-Wmissing-prototypes>)

if(TUTTI_SANITIZE STREQUAL "address")
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(TUTTI_SANITIZE STREQUAL "thread")
  set(sanitize -fsanitize=thread)
elseif(TUTTI_SANITIZE)
  message(FATAL_ERROR "TUTTI_SANITIZE is \"${TUTTI_SANITIZE}\": want address, thread, or nothing")
endif()
# clang has libFuzzer. In its builds with the address sanitizer, the library and the laboratory are
# compiled so that libFuzzer sees which code an input reaches, so one build serves all tests and the
# fuzzers.
set(fuzzed "")
if(TUTTI_SANITIZE STREQUAL "address" AND CMAKE_C_COMPILER_ID MATCHES "Clang")
  set(fuzzed -fsanitize=fuzzer-no-link)
endif()
if(TUTTI_SANITIZE)
  # gcc's documentation says that -Wmaybe-uninitialized is unreliable with sanitizers, which change
  # the code that the optimiser sees.
  add_compile_options(${sanitize} -fno-omit-frame-pointer)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  add_link_options(${sanitize})
  # With -no-pie a program has a fixed address. Without it, a program would relocate a hundred
  # thousand addresses when it starts, and copy the pages that contain them. The tests start
  # thousands of programs.
  add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()
# lld links in half of the time that the default linker takes, and programs with sanitizers in a
# third. Builds with sanitizers link all programs with lld, other builds only the test programs
# (tests/CMakeLists.txt).
find_program(TUTTI_LLD ld.lld)
if(TUTTI_SANITIZE AND TUTTI_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# tutti_not_fuzzed(TARGET FOLDER...) compiles the target's sources in these folders without the
# instrumentation for libFuzzer. They contain no parser that is fuzzed, so libFuzzer need not see
# which of their code an input reaches.
function(tutti_not_fuzzed target)
  get_target_property(sources ${target} SOURCES)
  string(REPLACE ";" "|" folders "${ARGN}")
  list(FILTER sources INCLUDE REGEX "/(${folders})/[^/]*$")
  if(fuzzed)
    set_property(SOURCE ${sources} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS
      -fno-sanitize=fuzzer-no-link)
  endif()
endfunction()
