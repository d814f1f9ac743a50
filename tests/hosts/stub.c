/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A libpmix with a version, and with STUB_ALL also the functions that Tutti needs. They do nothing:
 * there is no server.
 */
#include <stddef.h>

const char *PMIx_Get_version(void);

const char *PMIx_Get_version(void)
{
    return STUB_VERSION;
}

#ifdef STUB_ALL
enum { UNREACHABLE = -25 }; /* the value of this error in PMIx */

#define NEVER_CALLED(name)                                                                         \
    int PMIx_##name(void);                                                                         \
    int PMIx_##name(void)                                                                          \
    {                                                                                              \
        return UNREACHABLE;                                                                        \
    }

NEVER_CALLED(Finalize)
NEVER_CALLED(Put)
NEVER_CALLED(Commit)
NEVER_CALLED(Get_nb)
NEVER_CALLED(Fence_nb)
NEVER_CALLED(Register_event_handler)

int PMIx_Init(void *me, void *info, size_t n);
int PMIx_Init(void *me, void *info, size_t n)
{
    (void)me, (void)info, (void)n;
    return UNREACHABLE;
}

const char *PMIx_Error_string(int status);
const char *PMIx_Error_string(int status)
{
    return status == UNREACHABLE ? "UNREACHABLE" : "of another status";
}
#endif
