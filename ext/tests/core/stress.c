/*
 * Many processes write, delete, count, flush and read in place what others replace meanwhile, and are killed at random.
 *
 * Readers keep what they have read, and look at it again and again until they leave. No value is ever another's or
 * half one, nobody hangs, the invariants hold, and in the end all memory comes back. LARDER_SECONDS says how long (3).
 *
 * Seen to fail: seg_is_held() never true (a value is overwritten under its reader); no second look in seg_find() (a value
 * is damaged, within five seconds).
 */
#include <signal.h>
#include <sys/wait.h>

#include "core.h"

#define BYTES (6 * 1024 * 1024)
#define PROCESSES 10
#define READERS 5
#define KEYS 1500
#define HELD 48
#define LARGE 40000

typedef struct {
	_Atomic uint64_t steps[PROCESSES];
	_Atomic uint64_t looks, copies, counted, refused, sets;
	_Atomic int end;
} board;

static uint32_t length_of(dice *d)
{
	uint32_t kind = any(d, 1000);

	return kind < 600 ? 16 + any(d, 600) : kind < 930 ? 500 + any(d, 4000) : kind < 999 ? 4000 + any(d, 60000) : any(d, 700000);
}

static void count(seg *s, board *b)
{
	int64_t now;
	seg_item *item;

	if (seg_increment(s, hash_of("counter", 7), "counter", 7, 1, KIND_INTEGER, &now) == SEG_NOT_FOUND
		&& seg_reserve(s, hash_of("counter", 7), "counter", 7, 0, &item) == SEG_OK) {
		item->kind = KIND_INTEGER;
		atomic_store(&item->number, 1);
		seg_publish(s, item, SEG_ADD);
	}
	atomic_fetch_add(&b->counted, 1);
}

static void write_on(seg *s, board *b, int number, dice *d)
{
	while (!b->end) {
		uint32_t key = any(d, KEYS), what = any(d, 1000);
		if (what < 800) {
			seg_status status = value_set(s, key, 1 + any(d, 1000000), length_of(d), any(d, 5) ? 0 : seg_clock() + any(d, 200), what < 700 ? SEG_SET : what < 750 ? SEG_ADD : SEG_REPLACE);
			atomic_fetch_add(&b->refused, status == SEG_FULL);
			atomic_fetch_add(&b->sets, 1);
		} else if (what < 900) {
			value_delete(s, key);
		} else if (what < 950) {
			count(s, b);
		} else if (what < 998) {
			seg_item *item = value_reserve(s, key, 3, length_of(d));
			if (item) {
				seg_give_up(s, item);
			}
		} else if (what == 998) {
			seg_numbers n;
			seg_count(s, &n);
		} else if (any(d, 50) == 0) {
			seg_flush(s);
		}
		atomic_fetch_add(&b->steps[number], 1);
	}
}

static void read_on(seg *s, board *b, int number, dice *d)
{
	const seg_item *held[HELD];
	uint32_t keys[HELD], versions[HELD];

	while (!b->end) {
		unsigned n = 0;
		for (unsigned i = 0; i < 4 * HELD && n < HELD; i++) {
			bool in_place;
			keys[n] = any(d, KEYS);
			held[n] = value_get(s, keys[n], &in_place);
			if (!held[n]) {
				continue;
			}
			versions[n] = value_check(held[n], keys[n]);
			MUST(versions[n], "a value of key %u is damaged (%s)", keys[n], in_place ? "in place" : "copied");
			if (in_place) {
				n++;
			} else {
				free((void *) held[n]);
				atomic_fetch_add(&b->copies, 1);
			}
			atomic_fetch_add(&b->steps[number], 1);
		}
		for (unsigned times = any(d, 30); times; times--) {
			unsigned i = n ? any(d, n) : 0;
			MUST(!n || value_check(held[i], keys[i]) == versions[i], "a value of key %u was overwritten under its reader", keys[i]);
			atomic_fetch_add(&b->looks, 1);
			if (times % 8 == 0) {
				struct timespec moment = {0, 100000};
				nanosleep(&moment, NULL);
			}
		}
		seg_leave(s);
	}
}

static pid_t begin(board *b, int number, uint64_t seed)
{
	pid_t pid = fork_child();

	if (pid == 0) {
		dice d = {mix(seed) | 1};
		seg *s = segment_open("stress", BYTES);
		(number < READERS ? read_on : write_on)(s, b, number, &d);
		seg_close(s);
		_exit(0);
	}

	return pid;
}

int test_stress(void)
{
	const char *seconds = getenv("LARDER_SECONDS"), *seed = getenv("LARDER_SEED");
	board *b = shared_memory(sizeof *b);
	pid_t pids[PROCESSES];
	uint64_t last[PROCESSES] = {0}, start = seed ? strtoull(seed, NULL, 10) : (uint64_t) time(NULL);
	int64_t since[PROCESSES];
	dice d = {mix(start) | 1};
	unsigned kills = 0;
	int status;

	printf("LARDER_SEED=%llu\n", (unsigned long long) start);
	seg *s = segment_open("stress", BYTES);
	unsigned fit = how_many_fit(s, LARGE);
	seg_flush(s);
	int64_t now = seg_clock(), end = now + 1000 * (seconds ? atoi(seconds) : 3);
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = begin(b, i, roll(&d));
		since[i] = now;
	}
	for (unsigned turn = 0; now < end; turn++) {
		struct timespec moment = {0, 2000000 + any(&d, 20) * 1000000};
		nanosleep(&moment, NULL);
		now = seg_clock();
		for (int i = 0; i < PROCESSES; i++) {
			uint64_t steps = atomic_load(&b->steps[i]);
			if (steps != last[i]) {
				last[i] = steps;
				since[i] = now;
			}
			MUST(now - since[i] < 20000, "process %d hangs", i);
			/* Nobody ends but by us. */
			pid_t ended = waitpid(pids[i], &status, WNOHANG);
			MUST(ended == 0, "process %d failed", i);
		}
		int victim = (int) any(&d, PROCESSES);
		MUST(kill(pids[victim], SIGKILL) == 0 && waitpid(pids[victim], &status, 0) == pids[victim], "no victim");
		MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "process %d had ended by itself, with status %x", victim, status);
		kills++;
		pids[victim] = begin(b, victim, roll(&d));
		if (turn % 8 == 0) {
			must_be_sound(s, "under stress");
		}
	}
	b->end = 1;
	for (int i = 0; i < PROCESSES; i++) {
		MUST(waitpid(pids[i], &status, 0) == pids[i] && status == 0, "process %d failed with status %x", i, status);
	}
	must_be_sound(s, "after stress");
	seg_numbers n;
	seg_count(s, &n);
	MUST(n.readers == 0 && n.retired_bytes == 0, "%llu bytes are kept for %llu readers, and nobody reads", (unsigned long long) n.retired_bytes, (unsigned long long) n.readers);
	seg_flush(s);
	unsigned fit_now = how_many_fit(s, LARGE);
	MUST(fit_now == fit, "%u values fit, and %u in a new segment", fit_now, fit);
	seg_flush(s);
	must_be_sound(s, "after a flush");
	MUST(s->header->free_units == s->header->given_units, "memory did not come back");
	MUST(atomic_load(&b->looks) > 100 && kills > 10, "too little was done to tell anything");
	printf("%u kills, %llu recoveries, %llu sets of which %llu were refused, %llu looks in place, %llu copies\n", kills,
		(unsigned long long) n.recoveries, (unsigned long long) b->sets, (unsigned long long) b->refused,
		(unsigned long long) b->looks, (unsigned long long) b->copies);
	seg_close(s);
	segment_remove("stress");

	return 0;
}
