/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data-parallel training of a small model, which may go on when ranks die:
 *
 *   data.c      samples: digits, drawn from a seed; any rank can draw any of them again
 *   model.c     softmax regression: what a share of the samples says about the weights, and a step
 *               downhill
 *   main.c      each step every rank looks at its share, and one allreduce adds up what they found;
 *               what happens when that fails; options, and what is printed
 *
 * The samples are divided evenly among the ranks there are, and the gradient is that of all samples
 * whoever computed it: so with fewer ranks the steps are the same but for the order in which
 * numbers are added.
 */
#ifndef TRAIN_H
#define TRAIN_H

#include <stdbool.h>
#include <stdint.h>

enum { WIDTH = 6, HEIGHT = 8, INPUTS = WIDTH * HEIGHT + 1, DIGITS = 10 };

/* An image with the digit that it shows. input[INPUTS - 1] is always 1. */
struct sample {
    double input[INPUTS];
    int digit;
};

/* Sample number i of a seed: always the same. */
void sample_draw(struct sample *sample, uint64_t seed, int64_t i);

struct model {
    double weight[DIGITS][INPUTS];
    double
        steps; /* done; a double, so that a model is doubles throughout and can be sent as such */
};

/* What a number of samples say together: sums, so that those of two shares can be added. Doubles
 * throughout. */
struct finding {
    double gradient[DIGITS][INPUTS];
    double loss;  /* cross entropy, in nats */
    double right; /* samples whose digit was recognised */
};

/* Adds what n samples say about the model to the finding. */
void model_look(const struct model *model, const struct sample *samples, int64_t n,
                struct finding *finding);
/* One step of gradient descent, on the mean of what n samples say. */
void model_step(struct model *model, const struct finding *finding, int64_t n, double rate);
/* Of n samples that begin at `first`, the part recognised: 0 to 1. */
double model_test(const struct model *model, uint64_t seed, int64_t first, int64_t n);
/* Text, one number a line, exact; whole or not at all. False with errno set. */
bool model_write(const struct model *model, const char *file);

#endif
