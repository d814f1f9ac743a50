# SPDX-License-Identifier: BSD-3-Clause
#
# The options for all compilations: the language, the warnings (all of them errors), the sanitizers.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# The tests need no more than -g1, which a sixth to a fifth less time compiles (scripts/test.sh).
set(TUTTI_DEBUG_INFO -g CACHE STRING "The debug information of a Release build: -g, or -g1 for lines only")
# Functions start at a cache line. Otherwise the time of a call of 300 instructions varies by 10 %
# with the code that is linked before it.
set(CMAKE_C_FLAGS_RELEASE "-O3 ${TUTTI_DEBUG_INFO} -DNDEBUG -falign-functions=64")
# For x86, gcc clears and copies structs of 100 bytes and more by `rep stos` and `rep movs`. A load of
# a member then waits until all earlier stores of the rank have reached the cache, also one to a line
# that another rank polls: a bcast of 8 bytes took 1.7 times as long.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(strategy "vector_loop:512:noalign,libcall:-1:noalign")
  string(APPEND CMAKE_C_FLAGS_RELEASE " -mmemset-strategy=${strategy} -mmemcpy-strategy=${strategy}")
endif()
set(CMAKE_C_FLAGS_DEBUG "-O0 -g3")
if(TUTTI_SANITIZE)
  # Sanitizers print the lines of a stack, and nobody looks at variables. Optimised code runs two to
  # five times as fast, which saves the tests more than the compiler takes.
  set(CMAKE_C_FLAGS_DEBUG "-O1 -g1")
endif()

# The value is empty, so that a file that defines it itself does not define it differently.
add_compile_options($<$<COMPILE_LANGUAGE:C>:-D_GNU_SOURCE=>)
add_compile_options(-Wall -Wextra -Wundef -Wshadow -Wvla
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes$<SEMICOLON>-Wmissing-prototypes>)
if(NOT DEFINED CMAKE_COMPILE_WARNING_AS_ERROR)
  set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
endif()

if(TUTTI_SANITIZE STREQUAL "address")
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(TUTTI_SANITIZE STREQUAL "thread")
  set(sanitize -fsanitize=thread)
elseif(TUTTI_SANITIZE)
  message(FATAL_ERROR "TUTTI_SANITIZE is \"${TUTTI_SANITIZE}\": want address, thread, or nothing")
endif()
# clang brings libFuzzer with its address sanitizer. The library and the laboratory are then compiled
# so that libFuzzer sees which code an input reaches. So one build serves all tests and the fuzzers.
set(fuzzed "")
if(TUTTI_SANITIZE STREQUAL "address" AND CMAKE_C_COMPILER_ID MATCHES "Clang")
  set(fuzzed -fsanitize=fuzzer-no-link)
endif()
if(TUTTI_SANITIZE)
  # Sanitizers change the code that the optimiser sees; gcc documents that this warning is
  # unreliable then.
  add_compile_options(${sanitize} -fno-omit-frame-pointer)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  add_link_options(${sanitize})
  # A program at a fixed place has no hundred thousand addresses to adjust when it starts, of which
  # each copies a page. The tests start thousands.
  add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()
# lld links in half of the time, and programs with sanitizers in a third of it. All of them are linked
# with it, and in other builds the test programs (tests/CMakeLists.txt).
find_program(TUTTI_LLD ld.lld)
if(TUTTI_SANITIZE AND TUTTI_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# tutti_not_fuzzed(TARGET FOLDER...): no parser that is fuzzed is in sources of the target in these
# folders, so libFuzzer need not see which of their code an input reaches.
function(tutti_not_fuzzed target)
  get_target_property(sources ${target} SOURCES)
  string(REPLACE ";" "|" folders "${ARGN}")
  list(FILTER sources INCLUDE REGEX "/(${folders})/[^/]*$")
  if(fuzzed)
    set_property(SOURCE ${sources} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS
      -fno-sanitize=fuzzer-no-link)
  endif()
endfunction()
