/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws digits of five by seven dots. Each is placed anywhere in a frame of six by eight, with some
 * dots inverted and with noise.
 */
#include "train.h"

static const char glyph[DIGITS][7][6] = {
    {" ### ", "#   #", "#  ##", "# # #", "##  #", "#   #", " ### "},
    {"  #  ", " ##  ", "  #  ", "  #  ", "  #  ", "  #  ", " ### "},
    {" ### ", "#   #", "    #", "   # ", "  #  ", " #   ", "#####"},
    {"#####", "   # ", "  #  ", "   # ", "    #", "#   #", " ### "},
    {"   # ", "  ## ", " # # ", "#  # ", "#####", "   # ", "   # "},
    {"#####", "#    ", "#### ", "    #", "    #", "#   #", " ### "},
    {"  ## ", " #   ", "#    ", "#### ", "#   #", "#   #", " ### "},
    {"#####", "    #", "   # ", "  #  ", " #   ", " #   ", " #   "},
    {" ### ", "#   #", "#   #", " ### ", "#   #", "#   #", " ### "},
    {" ### ", "#   #", "#   #", " ####", "    #", "   # ", " ##  "},
};

/* Returns the next number of splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double between(uint64_t *state, double low, double high)
{
    return low + (high - low) * ((double)(next(state) >> 11) * 0x1p-53);
}

static bool is_dot(int digit, int y, int x)
{
    return y >= 0 && y < 7 && x >= 0 && x < 5 && glyph[digit][y][x] == '#';
}

void sample_draw(struct sample *sample, uint64_t seed, int64_t i)
{
    uint64_t state = seed ^ ((uint64_t)i + 1) * 0xd1342543de82ef95u;
    sample->digit = (int)(next(&state) % DIGITS);
    int dy = (int)(next(&state) % (HEIGHT - 7 + 1)), dx = (int)(next(&state) % (WIDTH - 5 + 1));
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            bool inverted = between(&state, 0, 1) < 0.02;
            double dot = is_dot(sample->digit, y - dy, x - dx) != inverted ? 0.5 : -0.5;
            sample->input[y * WIDTH + x] = dot + between(&state, -0.3, 0.3);
        }
    }
    sample->input[INPUTS - 1] = 1;
}
