# SPDX-License-Identifier: BSD-3-Clause
#
# The target `reference`: the public functions as HTML and manual pages, from the headers. It is not
# part of `all`, since nothing else needs Doxygen. A declaration without a comment is an error.
find_program(DOXYGEN doxygen)

set(reference_folder ${PROJECT_BINARY_DIR}/reference)
configure_file(docs/reference/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile @ONLY)
if(DOXYGEN)
  add_custom_target(reference
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${reference_folder}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${reference_folder}
    COMMAND ${DOXYGEN} ${PROJECT_BINARY_DIR}/Doxyfile
    # Doxygen also writes a page for each member of a struct, such as to.3.
    COMMAND find ${reference_folder}/man -type f ! -iname "tutti*" -delete
    COMMENT "Writing ${reference_folder}/html/index.html and ${reference_folder}/man" VERBATIM)
else()
  add_custom_target(reference
    COMMAND ${CMAKE_COMMAND} -E echo "The reference needs Doxygen: `scripts/setup.sh test` installs it; then run cmake again"
    COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
endif()
