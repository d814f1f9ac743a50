/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random numbers that are the same on every machine: xoshiro256** (Blackman and Vigna, "Scrambled
 * linear pseudorandom number generators", 2021), its state filled by splitmix64 (Steele, Lea and
 * Flood, "Fast splittable pseudorandom number generators", 2014). The caller always gives the seed;
 * it never comes from a clock.
 */
#include "base/base.h"

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void tt_random_seed(struct tt_random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++) random->s[i] = splitmix(&seed);
}

static uint64_t rotate_left(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

uint64_t tt_random_next(struct tt_random *random)
{
    uint64_t *s = random->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return result;
}

/* Rejects the lowest 2^64 mod n of the 64-bit numbers, so that the number of accepted numbers is a
 * multiple of n. */
uint64_t tt_random_below(struct tt_random *random, uint64_t n)
{
    tt_assert(n > 0);
    uint64_t lowest = -n % n;
    uint64_t x = tt_random_next(random);
    while (x < lowest) x = tt_random_next(random);
    return x % n;
}
