/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TUTTI_REPORT=FILE: the report of a rank's calls when it leaves its job.
 */
#ifndef TT_REPORT_H
#define TT_REPORT_H

#include "api/api.h"

/* Writes the report of rank 0, or of each rank if the file's name has %r for its number: as JSON if
 * the name ends in .json, else as text; 1: to standard error. Does nothing without TUTTI_REPORT.
 * Warns if the file cannot be written. */
void tt_report_write(tutti_client *client);

#endif
