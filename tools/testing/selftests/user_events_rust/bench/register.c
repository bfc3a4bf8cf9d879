// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of registering as the number of events grows: the mean over all
 * events of one process and one open file.
 */

#include <stdio.h>

#include "bench.h"

static unsigned int size;

static void measure_new(double *values)
{
	struct many many;
	uint32_t *words;
	double start;

	many_init(&many, size);
	words = many_words(&many);
	start = now_ns();
	many_register(&many, words, 0, size);
	values[0] = (now_ns() - start) / size;
}

/* The same events again, at other addresses, and the removal of those. */
static void measure_again(double *values)
{
	uint32_t *first, *second;
	struct many many;
	double start;
	unsigned int i;

	many_init(&many, size);
	first = many_words(&many);
	second = many_words(&many);
	many_register(&many, first, 0, size);

	start = now_ns();
	many_register(&many, second, 0, size);
	values[0] = (now_ns() - start) / size;

	start = now_ns();
	for (i = 0; i < size; i++)
		event_unregister(many.fd, &second[i]);
	values[1] = (now_ns() - start) / size;
}

void bench_register(void)
{
	static const unsigned int sizes[] = { 250, 500, 1000, 2000, 10000, 30000 };
	const char *metrics[3] = {};
	char name[64];
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size = sizes[i];
		if (quick && size != 250 && size != 2000)
			continue;
		snprintf(name, sizeof(name), "register_new@%u", size);
		metrics[0] = name;
		metrics[1] = NULL;
		measure_alone(measure_new, size > 2000 || quick ? 1 : 3, metrics, "ns");
		if (size == 2000) {
			metrics[0] = "register_again_2000";
			metrics[1] = "unregister_2000";
			measure_alone(measure_again, quick ? 1 : 3, metrics, "ns");
		}
	}
}
