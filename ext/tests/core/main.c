/* core TEST DIRECTORY: runs one of the tests, with its files in that directory. */
#include "core.h"

static const struct {
	const char *name;
	int (*run)(void);
} tests[] = {
	{"death", test_death},
	{"stress", test_stress},
	{"sleeper", test_sleeper},
	{"slots", test_slots},
	{"model", test_model},
	{"sieve", test_sieve},
	{"expiry", test_expiry},
	{"threads", test_threads},
	{"fork", test_fork},
	{"presence", test_presence},
	{"room", test_room},
	{"lost", test_lost},
	{"growth", test_growth},
};

int main(int count, char **words)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; count == 3 && i < COUNT(tests); i++) {
		if (strcmp(words[1], tests[i].name) == 0) {
			directory = words[2];
			return tests[i].run();
		}
	}
	fprintf(stderr, "core TEST DIRECTORY, where TEST is one of:");
	for (size_t i = 0; i < COUNT(tests); i++) {
		fprintf(stderr, " %s", tests[i].name);
	}
	fputc('\n', stderr);

	return 2;
}
