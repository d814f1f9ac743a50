/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Softmax regression: the probability of digit d is exp(w[d] . x) divided by the sum of exp(w[e] .
 * x) over all digits e. The loss is the cross entropy, which is convex in w.
 */
#include "train.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Turns scores into probabilities; returns the most probable digit. The greatest score is
 * subtracted first, so that no exponential overflows. */
static int softmax(double score[DIGITS])
{
    int best = 0;
    double sum = 0;
    for (int d = 1; d < DIGITS; d++) {
        if (score[d] > score[best]) best = d;
    }
    double most = score[best];
    for (int d = 0; d < DIGITS; d++) sum += score[d] = exp(score[d] - most);
    for (int d = 0; d < DIGITS; d++) score[d] /= sum;
    return best;
}

static int recognise(const struct model *model, const struct sample *sample,
                     double probability[DIGITS])
{
    for (int d = 0; d < DIGITS; d++) {
        probability[d] = 0;
        for (int i = 0; i < INPUTS; i++) probability[d] += model->weight[d][i] * sample->input[i];
    }
    return softmax(probability);
}

void model_look(const struct model *model, const struct sample *samples, int64_t n,
                struct finding *finding)
{
    for (const struct sample *s = samples; s < samples + n; s++) {
        double probability[DIGITS];
        finding->right += recognise(model, s, probability) == s->digit;
        finding->loss -= log(probability[s->digit]);
        for (int d = 0; d < DIGITS; d++) {
            double off = probability[d] - (d == s->digit);
            for (int i = 0; i < INPUTS; i++) finding->gradient[d][i] += off * s->input[i];
        }
    }
}

void model_step(struct model *model, const struct finding *finding, int64_t n, double rate)
{
    for (int d = 0; d < DIGITS; d++) {
        for (int i = 0; i < INPUTS; i++) {
            model->weight[d][i] -= rate / (double)n * finding->gradient[d][i];
        }
    }
    model->steps++;
}

double model_test(const struct model *model, uint64_t seed, int64_t first, int64_t n)
{
    int64_t right = 0;
    for (int64_t i = first; i < first + n; i++) {
        struct sample sample;
        double probability[DIGITS];
        sample_draw(&sample, seed, i);
        right += recognise(model, &sample, probability) == sample.digit;
    }
    return (double)right / (double)n;
}

static bool write_to(const struct model *model, FILE *file)
{
    for (int d = 0; d < DIGITS; d++) {
        for (int i = 0; i < INPUTS; i++) fprintf(file, "%.17g\n", model->weight[d][i]);
    }
    bool bad = ferror(file);
    return fclose(file) == 0 && !bad;
}

/* Writes to a new file and then renames it to `name`, so that an existing file stays until the new
 * one is complete. */
static bool replace_file(const struct model *model, const char *name)
{
    char *part;
    if (asprintf(&part, "%s.%d", name, (int)getpid()) < 0) return false;
    FILE *file = fopen(part, "wxe");
    bool ok = file && write_to(model, file) && rename(part, name) == 0;
    int error = errno;
    if (file && !ok) unlink(part);
    free(part);
    errno = error;
    return ok;
}

bool model_write(const struct model *model, const char *name)
{
    struct stat is;
    if (lstat(name, &is) != 0 || S_ISREG(is.st_mode)) return replace_file(model, name);
    /* A rename would replace a device or a link itself, so such a file is written directly. */
    FILE *file = fopen(name, "we");
    return file && write_to(model, file);
}
