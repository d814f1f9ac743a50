# SPDX-License-Identifier: BSD-3-Clause
#
# cmake -D OUTPUT=FILE.h -D FILES="A;B;..." -P fingerprint.cmake
#
# Writes a header that defines TT_CHOOSE_BUILD as a hash of the contents of these files.
set(all "")
foreach(file IN LISTS FILES)
  file(SHA256 ${file} one)
  string(APPEND all ${one})
endforeach()
string(SHA256 all "${all}")
string(SUBSTRING ${all} 0 16 short)
file(WRITE ${OUTPUT} "#define TT_CHOOSE_BUILD \"${short}\"\n")
