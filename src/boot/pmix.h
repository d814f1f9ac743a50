/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The services of a PMIx server that Tutti uses: who is in the job and where, short values
 * published by its ranks, and a barrier. The library (libpmix) is loaded at its first use, so a
 * program needs it only if its launcher uses PMIx. This header has only what other files need
 * besides the directory (directory.h).
 *
 * Functions may be called from any thread.
 */
#ifndef TT_PMIX_H
#define TT_PMIX_H

#include "boot/directory.h"

/* Returns whether the environment says that a launcher with PMIx started this process, and
 * TUTTI_PMIX is not 0. */
bool tt_pmix_there(void);
/* Sets *text to the version of libpmix, as the library itself prints it. Errors: BOOT; the error
 * text says what is missing or too old. */
tutti_status tt_pmix_version(const char **text);

#endif
