# SPDX-License-Identifier: BSD-3-Clause
#
# cmake -D OUTPUT=FILE.h -D NAME=MACRO -D DIGITS=N -D FILES="A;B;..." -P fingerprint.cmake
#
# Writes a header that defines the macro as the first N digits of a hash of the contents of these
# files.
set(all "")
foreach(file IN LISTS FILES)
  file(SHA256 ${file} one)
  string(APPEND all ${one})
endforeach()
string(SHA256 all "${all}")
string(SUBSTRING ${all} 0 ${DIGITS} short)
file(WRITE ${OUTPUT} "#define ${NAME} \"${short}\"\n")
