/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A library to preload, which replaces functions of PMIx so that the launcher of Open MPI keeps no
 * names: a process can neither publish nor find any.
 */
#include <stddef.h>

enum { PMIX_ERR_NOT_SUPPORTED = -47 };

int PMIx_Publish(const void *info, size_t n);
int PMIx_Publish_nb(const void *info, size_t n, void *done, void *data);
int PMIx_Lookup(void *found, size_t n, const void *info, size_t ninfo);
int PMIx_Lookup_nb(char **keys, const void *info, size_t n, void *done, void *data);

int PMIx_Publish(const void *info, size_t n)
{
    (void)info;
    (void)n;
    return PMIX_ERR_NOT_SUPPORTED;
}

int PMIx_Publish_nb(const void *info, size_t n, void *done, void *data)
{
    (void)done;
    (void)data;
    return PMIx_Publish(info, n);
}

int PMIx_Lookup(void *found, size_t n, const void *info, size_t ninfo)
{
    (void)found;
    (void)n;
    (void)info;
    (void)ninfo;
    return PMIX_ERR_NOT_SUPPORTED;
}

int PMIx_Lookup_nb(char **keys, const void *info, size_t n, void *done, void *data)
{
    (void)keys;
    (void)done;
    (void)data;
    return PMIx_Lookup(NULL, 0, info, n);
}
