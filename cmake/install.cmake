# SPDX-License-Identifier: BSD-3-Clause
#
# The contents of `cmake --install`: headers, both libraries, tutti.pc, the CMake package, bash
# completion; tools/CMakeLists.txt adds the manual pages. Everything is relocatable, except from
# /usr: the package files find the prefix from their own location.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tutti)

install(DIRECTORY include/tutti TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(TARGETS tutti_shared tutti_static EXPORT TuttiTargets)
install(EXPORT TuttiTargets NAMESPACE Tutti:: DESTINATION ${package_dir})
# With the targets, the files that follow are a package in the build folder, too. find_package looks
# there if its folder `bin` is in PATH, even if Tutti is installed.
export(EXPORT TuttiTargets NAMESPACE Tutti:: FILE ${PROJECT_BINARY_DIR}/TuttiTargets.cmake)
configure_package_config_file(cmake/TuttiConfig.cmake.in ${PROJECT_BINARY_DIR}/TuttiConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TuttiConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TuttiConfig.cmake ${PROJECT_BINARY_DIR}/TuttiConfigVersion.cmake
  DESTINATION ${package_dir})

# The folders may be given as absolute paths.
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
set(pc_prefix "\${pcfiledir}/${pc_prefix}")
# pkg-config leaves out -I and -L for the folders of the system, which have to come after all others,
# but only if they have their usual names.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(pc_prefix /usr)
endif()
file(RELATIVE_PATH pc_include ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
file(RELATIVE_PATH pc_lib ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
configure_file(cmake/tutti.pc.in ${PROJECT_BINARY_DIR}/tutti.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tutti.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET tutti_lab_shared)
  install(TARGETS tutti_lab_shared LIBRARY NAMELINK_SKIP)
endif()
if(TARGET tutti_command)
  install(TARGETS tutti_command)
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/scripts/tutti.bash-completion)
  install(FILES scripts/tutti.bash-completion
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tutti)
endif()
