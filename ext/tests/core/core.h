/*
 * Tests of ../../segment without PHP: what they have in common.
 *
 *   main.c      says which there are                      model.c     every interleaving of a reader and a writer
 *   death.c     SIGKILL at every named point              sieve.c     hit ratios beside a plain SIEVE's
 *   stress.c    many processes, killed at random          expiry.c    what is over goes by itself
 *   sleeper.c   a reader that sleeps                      values.c    values that check themselves
 *   slots.c     more processes than slots                 threads.c   the same as stress.c for ThreadSanitizer
 *   room.c      what fits, and what it takes          lost.c      what was no segment any more
 *   fork.c      children, and what the dead left          presence.c  keys that are always there
 *   growth.c    memory that it has, and gives back
 *
 * A test that fails says why and ends the program with 1.
 */
#ifndef LARDER_TEST_CORE_H
#define LARDER_TEST_CORE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "segment.h"

#define KIND_VALUE 7
#define KIND_INTEGER 8
#define COUNT(array) (sizeof(array) / sizeof *(array))

extern const char *directory;

_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define MUST(condition, ...) do { if (!(condition)) { fail(__VA_ARGS__); } } while (0)

void path_of(const char *name, char path[512]);
seg *segment_open(const char *name, uint64_t bytes);
void segment_remove(const char *name);
void must_be_sound(seg *segment, const char *when);
void *shared_memory(size_t bytes);
/* fork(2); the child, and the program that it may become, end with their parent. */
pid_t fork_child(void);

/* splitmix64's finish (Steele and others, 2014) */
static inline uint64_t mix(uint64_t hash)
{
	hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);

	return hash ^ hash >> 31;
}

/* xorshift64 (Marsaglia, 2003) */
typedef struct { uint64_t state; } dice;
uint64_t roll(dice *d);
uint32_t any(dice *d, uint32_t below);

/* Values under a number as key: they tell key, version and length, and any byte that is another's is found. */
uint32_t key_of(uint32_t number, char key[24]);
uint64_t hash_of(const char *key, uint32_t length);
seg_status value_set(seg *segment, uint32_t number, uint32_t version, uint32_t length, int64_t expires, seg_mode mode);
seg_item *value_reserve(seg *segment, uint32_t number, uint32_t version, uint32_t length);
/* The version, 0 if it is not what was stored under that number. */
uint32_t value_check(const seg_item *item, uint32_t number);
/* NULL: not there. In place or a copy in memory of malloc(3), which the caller frees. */
const seg_item *value_get(seg *segment, uint32_t number, bool *in_place);
bool value_delete(seg *segment, uint32_t number);

/* How many values of so many bytes fit until the first is evicted. */
unsigned how_many_fit(seg *segment, uint32_t length);

int test_death(void);
int test_stress(void);
int test_sleeper(void);
int test_slots(void);
int test_model(void);
int test_sieve(void);
int test_expiry(void);
int test_threads(void);
int test_fork(void);
int test_presence(void);
int test_room(void);
int test_lost(void);
int test_growth(void);

#endif
