/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In which memory domain of this host the calling thread runs, as hwloc knows it.
 */
#ifndef TT_DOMAIN_H
#define TT_DOMAIN_H

#include "base/base.h"

enum tt_domain { TT_DOMAIN_NUMA, TT_DOMAIN_L3 };

enum { TT_DOMAIN_SEVERAL = -1 };

/* Finds the domain that has all processors on which this thread may run. *domain is its logical
 * number in hwloc, or TT_DOMAIN_SEVERAL if the processors are in more than one domain. hwloc is
 * loaded at the first call. Any thread. Errors: UNSUPPORTED (hwloc is missing, or knows no domains
 * of this kind on this host), MEMORY. */
tutti_status tt_domain_of_thread(enum tt_domain kind, int *domain);

#endif
