/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TUTTI_REPORT=FILE: the report of a rank's calls, which the rank writes when it leaves its job.
 */
#ifndef TT_REPORT_H
#define TT_REPORT_H

#include "api/api.h"

/* Writes the report of rank 0, or of each rank if the value of TUTTI_REPORT contains %r, which
 * stands for the rank's number. The value is the name of a file, which is JSON if the name ends in
 * .json, and text otherwise; the value 1 stands for standard error. Does nothing without
 * TUTTI_REPORT. Warns if the file cannot be written. */
void tt_report_write(tutti_client *client);

#endif
