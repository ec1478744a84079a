/*
 * What decided the design, measured: what it costs to say what one reads, to find a key, to lock, and to copy.
 *
 * All lines are measured in turn, in rounds; of each the median of the rounds is printed, in nanoseconds, and the
 * median distance from it. `make ext-costs` builds it without PHP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "segment.h"

#define ROUNDS 31
#define KEYS 20000
#define CELLS 2500

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);

	return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

static uint64_t random_state = 88172645463325252u;

/* xorshift64 (Marsaglia, 2003) */
static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;

	return random_state;
}

static seg *segment;
static char keys[KEYS][16];
static uint64_t hashes[KEYS];
static uint32_t order[KEYS];
static volatile uint64_t sink;
static _Atomic uint64_t word;
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, robust;
static char *source, *target;
static uint64_t *pointers[2];

/* SipHash-1-3 (Aumasson and Bernstein, 2012), to compare with. */
static uint64_t siphash(const char *at, uint32_t length, const uint64_t secret[2])
{
	uint64_t a = secret[0] ^ UINT64_C(0x736f6d6570736575), b = secret[1] ^ UINT64_C(0x646f72616e646f6d);
	uint64_t c = secret[0] ^ UINT64_C(0x6c7967656e657261), d = secret[1] ^ UINT64_C(0x7465646279746573), m = 0;
#define LEFT(x, n) ((x) << (n) | (x) >> (64 - (n)))
#define ROUND do { a += b; b = LEFT(b, 13); b ^= a; a = LEFT(a, 32); c += d; d = LEFT(d, 16); d ^= c; \
		a += d; d = LEFT(d, 21); d ^= a; c += b; b = LEFT(b, 17); b ^= c; c = LEFT(c, 32); } while (0)
	uint32_t left = length;
	for (; left >= 8; left -= 8, at += 8) {
		memcpy(&m, at, 8);
		d ^= m;
		ROUND;
		a ^= m;
	}
	m = (uint64_t) length << 56;
	for (uint32_t i = 0; i < left; i++) {
		m |= (uint64_t) (unsigned char) at[i] << 8 * i;
	}
	d ^= m;
	ROUND;
	a ^= m;
	c ^= 0xff;
	ROUND;
	ROUND;
	ROUND;

	return a ^ b ^ c ^ d;
}

static void hash_many(uint64_t n, uint32_t length)
{
	for (uint64_t i = 0; i < n; i++) {
		sink = seg_hash(segment, source + (i & 15), length);
	}
}

static void siphash_many(uint64_t n, uint32_t length)
{
	for (uint64_t i = 0; i < n; i++) {
		sink = siphash(source + (i & 15), length, segment->secret);
	}
}

static void hash_12(uint64_t n) { hash_many(n, 12); }
static void hash_32(uint64_t n) { hash_many(n, 32); }
static void hash_100(uint64_t n) { hash_many(n, 100); }
static void siphash_12(uint64_t n) { siphash_many(n, 12); }
static void siphash_32(uint64_t n) { siphash_many(n, 32); }
static void siphash_100(uint64_t n) { siphash_many(n, 100); }

/* Each does its thing n times. */
static void nothing(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		sink = i;
	}
}

static void store_released(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		atomic_store_explicit(&word, i, memory_order_release);
	}
}

static void store_fenced(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		atomic_store(&word, i);
	}
}

static void bit_is_set(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		if (!(atomic_load_explicit(&word, memory_order_relaxed) >> (i & 1) & 1)) {
			sink = i;
		}
	}
}

static void lock_plain(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		pthread_mutex_lock(&plain);
		pthread_mutex_unlock(&plain);
	}
}

static void lock_robust(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		pthread_mutex_lock(&robust);
		pthread_mutex_unlock(&robust);
	}
}

static void find(uint32_t key)
{
	bool in_place;
	const seg_item *item = seg_find(segment, hashes[key], keys[key], (uint32_t) strlen(keys[key]), &in_place);

	if (!item) {
		abort();
	}
	sink = (uint64_t) item->key[15];
}

static void find_one(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		find(7);
	}
}

static void find_shuffled(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		find(order[i % KEYS]);
	}
}

/* As find_shuffled, of a request that has read nothing yet: each page's bit is set once. */
static void find_as_new(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		if (i % 1000 == 0) {
			seg_leave(segment);
		}
		find(order[i % KEYS]);
	}
}

static void find_nothing(uint64_t n)
{
	bool in_place;

	for (uint64_t i = 0; i < n; i++) {
		if (seg_find(segment, hashes[order[i % KEYS]] ^ 1, "absent", 6, &in_place)) {
			abort();
		}
	}
}

static void copy_all(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		memcpy(target, source, CELLS * 48);
	}
}

/* An array of strings laid out by writing each where it will stay, with the addresses it will have. */
static void relocate(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		char *to = target;
		for (int cell = 0; cell < CELLS; cell++) {
			memcpy(to, source + cell * 48, 32);
			pointers[0][cell] = (uint64_t) (uintptr_t) to;
			to += 32;
		}
	}
}

/* The same by copying first and then going over all pointers. */
static void copy_and_relocate(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		memcpy(target, source, CELLS * 32);
		for (int cell = 0; cell < CELLS; cell++) {
			pointers[1][cell] += (uint64_t) (target - source);
		}
	}
}

static const struct {
	const char *name;
	void (*work)(uint64_t n);
	uint64_t n;
} lines[] = {
	{"an empty loop", nothing, 2000000},
	{"saying what is read: a store", store_released, 2000000},
	{"saying what is read: a store that all see before the next load", store_fenced, 500000},
	{"saying what is read: the bit is set already", bit_is_set, 2000000},
	{"a lock, and back", lock_plain, 500000},
	{"a robust lock, and back", lock_robust, 500000},
	{"hashing a key of 12 bytes", hash_12, 500000},
	{"hashing a key of 12 bytes, SipHash-1-3", siphash_12, 500000},
	{"hashing a key of 32 bytes", hash_32, 500000},
	{"hashing a key of 32 bytes, SipHash-1-3", siphash_32, 500000},
	{"hashing a key of 100 bytes", hash_100, 500000},
	{"hashing a key of 100 bytes, SipHash-1-3", siphash_100, 500000},
	{"finding one key", find_one, 500000},
	{"finding 20,000 keys, shuffled", find_shuffled, KEYS},
	{"the same, a new request every thousand", find_as_new, KEYS},
	{"not finding 20,000 keys", find_nothing, KEYS},
	{"copying 2,500 strings of 32 bytes, once", copy_all, 200},
	{"writing them where they stay, one by one", relocate, 200},
	{"copying all and correcting 2,500 pointers", copy_and_relocate, 200},
};

#define LINES (sizeof lines / sizeof *lines)

static int ascending(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof *values, ascending);

	return values[ROUNDS / 2];
}

int main(void)
{
	char directory[] = "/dev/shm/larder-costs-XXXXXX", path[64], why[512];
	static double times[LINES][ROUNDS];

	if (!mkdtemp(directory)) {
		perror("/dev/shm");
		return 1;
	}
	snprintf(path, sizeof path, "%s/segment", directory);
	segment = seg_open(path, 64 << 20, "costs", why, sizeof why);
	if (!segment) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	seg_make_lock(&robust);
	source = malloc(CELLS * 48);
	target = malloc(CELLS * 48);
	pointers[0] = calloc(CELLS, 8);
	pointers[1] = calloc(CELLS, 8);
	memset(source, 'x', CELLS * 48);
	atomic_store(&word, 3);
	for (uint32_t i = 0; i < KEYS; i++) {
		seg_item *item;
		snprintf(keys[i], sizeof keys[i], "posts:%u", i * 7919u);
		hashes[i] = seg_hash(segment, keys[i], (uint32_t) strlen(keys[i]));
		order[i] = i;
		if (seg_reserve(segment, hashes[i], keys[i], (uint32_t) strlen(keys[i]), 40, &item) != SEG_OK || seg_publish(segment, item, SEG_SET) != SEG_OK) {
			fprintf(stderr, "there is no room\n");
			return 1;
		}
	}
	for (uint32_t i = KEYS - 1; i > 0; i--) {
		uint32_t other = (uint32_t) (random_number() % (i + 1)), kept = order[i];
		order[i] = order[other];
		order[other] = kept;
	}
	for (int round = -1; round < ROUNDS; round++) {
		for (size_t i = 0; i < LINES; i++) {
			size_t line = (i + (size_t) (round + 1) * 5) % LINES;
			double begin = now();
			lines[line].work(lines[line].n);
			if (round >= 0) {
				times[line][round] = (now() - begin) / (double) lines[line].n;
			}
		}
	}
	printf("%-64s %12s %8s\n", "", "ns", "MAD");
	for (size_t line = 0; line < LINES; line++) {
		double middle = median(times[line]);
		for (int round = 0; round < ROUNDS; round++) {
			times[line][round] = times[line][round] > middle ? times[line][round] - middle : middle - times[line][round];
		}
		printf("%-64s %12.1f %8.1f\n", lines[line].name, middle, median(times[line]));
	}
	seg_close(segment);
	unlink(path);
	snprintf(path, sizeof path, "%s/segment.lock", directory);
	unlink(path);
	rmdir(directory);

	return 0;
}
