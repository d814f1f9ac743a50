/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests names by which processes of one host find each other (src/mpi/local-names.h): another
 * process finds a name as long as it is published, and finds only names of processes of its own
 * user.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi/local-names.h"

enum { NOBODY = 65534 };

static char name[TT_MPI_LOCAL_NAME];

static int name_it(void **state)
{
    (void)state;
    snprintf(name, sizeof name, "tutti-test-%ld", (long)getpid());
    return 0;
}

static int withdraw(void **state)
{
    (void)state;
    tt_mpi_local_withdraw();
    return 0;
}

/* Returns whether another process finds the name: a process of this user, or, if `user` is not 0,
 * of the user with this number. */
static bool another_finds(uid_t user)
{
    int status;
    pid_t child = fork();
    if (child == 0) _exit(user && setuid(user) != 0 ? 2 : tt_mpi_local_find(name));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 1;
}

static void is_found_until_withdrawn(void **state)
{
    (void)state;
    assert_false(another_finds(0));
    assert_true(tt_mpi_local_publish(name));
    assert_true(another_finds(0));
    assert_true(another_finds(0));
    tt_mpi_local_withdraw();
    assert_false(another_finds(0));
}

static void is_published_once(void **state)
{
    (void)state;
    assert_true(tt_mpi_local_publish(name));
    assert_false(tt_mpi_local_publish(name));
}

static void ends_with_its_process(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0) _exit(!tt_mpi_local_publish(name));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_false(tt_mpi_local_find(name));
}

static void is_not_that_of_another_user(void **state)
{
    (void)state;
    if (geteuid() != 0) skip();
    assert_true(tt_mpi_local_publish(name));
    assert_true(another_finds(0));
    assert_false(another_finds(NOBODY));
}

/* Tests that a name is found also by searches whose connections the system refuses, because too
 * many others already wait at the socket of the name. */
static void is_found_often(void **state)
{
    (void)state;
    assert_true(tt_mpi_local_publish(name));
    for (int i = 0; i < 10000; i++) assert_true(tt_mpi_local_find(name));
}

static void has_a_length(void **state)
{
    (void)state;
    char text[TT_MPI_LOCAL_NAME + 2];
    memset(text, 'x', sizeof text - 1);
    text[TT_MPI_LOCAL_NAME + 1] = '\0';
    assert_false(tt_mpi_local_publish(text));
    assert_false(tt_mpi_local_find(text));
    text[TT_MPI_LOCAL_NAME] = '\0';
    assert_true(tt_mpi_local_publish(text));
    assert_true(tt_mpi_local_find(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(is_found_until_withdrawn, name_it, withdraw),
        cmocka_unit_test_setup_teardown(is_published_once, name_it, withdraw),
        cmocka_unit_test_setup_teardown(ends_with_its_process, name_it, withdraw),
        cmocka_unit_test_setup_teardown(is_not_that_of_another_user, name_it, withdraw),
        cmocka_unit_test_setup_teardown(is_found_often, name_it, withdraw),
        cmocka_unit_test_setup_teardown(has_a_length, name_it, withdraw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
