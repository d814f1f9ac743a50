# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Functions by which tests recognise faults of UCX.

# ucx_stopped FILE...: returns whether UCX stopped a rank whose output is in one of these files.
# After a peer has died, UCX 1.13 sometimes stops a survivor at an assertion of its own
# (docs/limitations.md). Such a job shows nothing about Tutti, and a test may run it again.
ucx_stopped() {
    grep -qsE '(wireup_ep\.c|uct_iface\.h|ucp_request\.c):[0-9]+ +Assertion' "$@"
}
