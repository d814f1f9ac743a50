/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data-parallel training of a small model, which can continue when ranks die:
 *
 *   data.c      samples: digits, drawn from a seed; any rank can draw any sample again
 *   model.c     softmax regression: the gradient of a share of the samples, and a step downhill
 *   main.c      in each step every rank evaluates its share, and one allreduce sums the findings
 *               (gradient, loss and recognised samples); also what happens when an allreduce
 *               fails, the options, and the output
 *
 * The samples are divided evenly among the ranks. The gradient is that of all samples, whichever
 * ranks computed it. With fewer ranks the steps are therefore the same, apart from the order in
 * which numbers are added.
 */
#ifndef TRAIN_H
#define TRAIN_H

#include <stdbool.h>
#include <stdint.h>

enum { WIDTH = 6, HEIGHT = 8, INPUTS = WIDTH * HEIGHT + 1, DIGITS = 10 };

/* An image and the digit that it shows. input[INPUTS - 1] is always 1. */
struct sample {
    double input[INPUTS];
    int digit;
};

/* Draws sample number i of a seed. The same seed and number always give the same sample. */
void sample_draw(struct sample *sample, uint64_t seed, int64_t i);

struct model {
    double weight[DIGITS][INPUTS];
    /* Steps done. This is a double so that a model consists of doubles and can be sent as such. */
    double steps;
};

/* The sums over a number of samples: the findings of two shares are added by adding all members.
 * All members are doubles. */
struct finding {
    double gradient[DIGITS][INPUTS];
    double loss;  /* cross entropy, in nats */
    double right; /* samples whose digit was recognised */
};

/* Adds the gradient, loss and hits of n samples under the model to the finding. */
void model_look(const struct model *model, const struct sample *samples, int64_t n,
                struct finding *finding);
/* Takes one step of gradient descent, on the mean over n samples. */
void model_step(struct model *model, const struct finding *finding, int64_t n, double rate);
/* Returns the fraction of the samples first .. first+n-1 that the model recognises: 0 to 1. */
double model_test(const struct model *model, uint64_t seed, int64_t first, int64_t n);
/* Writes the weights as text, one exact number on each line. On an error, returns false and sets
 * errno; a regular file with this name then stays as it was. */
bool model_write(const struct model *model, const char *file);

#endif
