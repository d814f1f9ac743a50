/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A library that has a version and no other function of UCX.
 */
void ucp_get_version(unsigned *major, unsigned *minor, unsigned *release);

void ucp_get_version(unsigned *major, unsigned *minor, unsigned *release)
{
    *major = STUB_MAJOR;
    *minor = STUB_MINOR;
    *release = 7;
}
