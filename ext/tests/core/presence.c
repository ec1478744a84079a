/*
 * Keys that are always there, replaced without end by writers: a reader never misses one.
 *
 * Writers give and take the same few blocks, so that a reader often stands where a block has just been filled with
 * another key, and where the index names the same block again as a moment ago. LARDER_LONG makes it ten million reads.
 *
 * And while the index grows, which moves them from bucket to bucket.
 *
 * Seen to fail: an index that is larger only after the old places are empty, or a reader that does not look whether it has
 * become larger (a key is missed); seek() (pins.c) that believes what it compared before it had the bits (get, has and peek, each a few in
 * a million), or that does not look again at the entry after setting them (a value is damaged).
 */
#include <sys/wait.h>

#include "core.h"

#define BYTES (8 * 1024 * 1024)
#define WRITERS 2
#define READERS 2
#define KEYS 24
#define OTHERS 24
#define GUARD "guard"

typedef struct {
	_Atomic uint64_t gets, missed, checks, not_there, peeks, not_seen, written;
	_Atomic int end;
} board;

static uint32_t length_of(dice *d)
{
	static const uint32_t lengths[] = {24, 24, 24, 100, 900, 3000, 20000};

	return lengths[any(d, COUNT(lengths))];
}

static void write_on(seg *s, board *b, dice *d)
{
	while (!b->end) {
		for (int i = 0; i < 500; i++) {
			uint32_t what = any(d, 8), other = KEYS + any(d, OTHERS);
			if (what < 5) {
				MUST(value_set(s, any(d, KEYS), 1 + any(d, 1000), length_of(d), 0, SEG_SET) == SEG_OK, "no room");
			} else if (what < 7) {
				MUST(value_set(s, other, 1 + any(d, 1000), length_of(d), any(d, 2) ? 0 : 1, SEG_SET) == SEG_OK, "no room");
			} else {
				value_delete(s, other);
			}
		}
		atomic_fetch_add(&b->written, 500);
	}
}

static void read_on(seg *s, board *b, dice *d, uint64_t steps)
{
	uint64_t missed = 0, not_there = 0, not_seen = 0;

	for (uint64_t i = 0; i < steps; i++) {
		char key[24];
		uint32_t number = any(d, KEYS), length = key_of(number, key);
		bool in_place;
		int64_t integer;
		not_there += !seg_has(s, hash_of(key, length), key, length);
		const seg_item *item = value_get(s, number, &in_place);
		missed += !item;
		if (item) {
			MUST(value_check(item, number), "a value is damaged");
			if (!in_place) {
				free((void *) item);
			}
		}
		not_seen += !seg_peek(s, hash_of(GUARD, sizeof GUARD - 1), GUARD, sizeof GUARD - 1, KIND_INTEGER, &integer) || integer != 5;
		if (any(d, 3) == 0) {
			seg_leave(s);
		}
	}
	atomic_fetch_add(&b->gets, steps);
	atomic_fetch_add(&b->missed, missed);
	atomic_fetch_add(&b->checks, steps);
	atomic_fetch_add(&b->not_there, not_there);
	atomic_fetch_add(&b->peeks, steps);
	atomic_fetch_add(&b->not_seen, not_seen);
}

static void put_guard(seg *s)
{
	seg_item *item;

	MUST(seg_reserve(s, hash_of(GUARD, sizeof GUARD - 1), GUARD, sizeof GUARD - 1, 0, &item) == SEG_OK, "no room");
	item->kind = KIND_INTEGER;
	atomic_store(&item->number, 5);
	MUST(seg_publish(s, item, SEG_SET) == SEG_OK, "not stored");
}

#define FIXED 500
#define GROWING 24000

/* One writes keys, by which the index grows from its smallest to a hundred times as many buckets; another reads those that were there before. */
static uint64_t while_it_grows(unsigned rounds, board *b)
{
	uint64_t reads = 0;
	int status;

	for (unsigned round = 0; round < rounds; round++) {
		seg *s = segment_open("growing", BYTES);
		uint64_t before = seg_index_size(s, 0);
		for (uint32_t i = 0; i < FIXED; i++) {
			MUST(value_set(s, i, 1, 24, 0, SEG_SET) == SEG_OK, "no room");
		}
		b->end = 0;
		b->gets = 0;
		pid_t reader = fork_child();
		if (reader == 0) {
			dice d = {round + 1};
			seg *mine = segment_open("growing", BYTES);
			while (!b->end) {
				char key[24];
				uint32_t number = any(&d, FIXED), length = key_of(number, key);
				MUST(seg_has(mine, hash_of(key, length), key, length), "key %u is not there while the index grows", number);
				atomic_fetch_add(&b->gets, 1);
			}
			_exit(0);
		}
		while (!b->gets) {
		}
		for (uint32_t i = FIXED; i < GROWING; i++) {
			MUST(value_set(s, i, 1, 24, 0, SEG_SET) == SEG_OK, "no room");
		}
		b->end = 1;
		MUST(waitpid(reader, &status, 0) == reader && status == 0, "a reader failed");
		MUST(seg_size_buckets(seg_index_size(s, 0)) > 10 * seg_size_buckets(before), "the index has not grown");
		reads += b->gets;
		must_be_sound(s, "when it has grown");
		seg_close(s);
		segment_remove("growing");
	}
	b->end = 0;
	b->gets = 0;

	return reads;
}

int test_presence(void)
{
	uint64_t steps = getenv("LARDER_LONG") ? 10000000 : 400000;
	board *b = shared_memory(sizeof *b);
	pid_t pids[WRITERS + READERS];
	int status;

	uint64_t grown = while_it_grows(getenv("LARDER_LONG") ? 400 : 10, b);
	seg *s = segment_open("presence", BYTES);
	put_guard(s);
	for (uint32_t i = 0; i < KEYS; i++) {
		MUST(value_set(s, i, 1, 24, 0, SEG_SET) == SEG_OK, "no room");
	}
	for (int i = 0; i < WRITERS + READERS; i++) {
		pids[i] = fork_child();
		if (pids[i] == 0) {
			dice d = {(uint64_t) (i + 1) * 7919};
			seg *mine = segment_open("presence", BYTES);
			if (i < WRITERS) {
				write_on(mine, b, &d);
			} else {
				read_on(mine, b, &d, steps / READERS);
			}
			seg_close(mine);
			_exit(0);
		}
	}
	/* The guard is replaced as well, by itself. */
	while (waitpid(pids[WRITERS], &status, WNOHANG) == 0) {
		for (int i = 0; i < 200; i++) {
			put_guard(s);
		}
	}
	MUST(status == 0, "a reader failed");
	for (int i = WRITERS + 1; i < WRITERS + READERS; i++) {
		MUST(waitpid(pids[i], &status, 0) == pids[i] && status == 0, "a reader failed");
	}
	b->end = 1;
	for (int i = 0; i < WRITERS; i++) {
		MUST(waitpid(pids[i], &status, 0) == pids[i] && status == 0, "a writer failed");
	}
	seg_numbers n;
	seg_count(s, &n);
	MUST(n.evictions == 0, "%llu evictions: something was not there", (unsigned long long) n.evictions);
	must_be_sound(s, "in the end");
	seg_close(s);
	segment_remove("presence");
	MUST(b->missed == 0 && b->not_there == 0 && b->not_seen == 0, "of %llu reads each, beside %llu writes, get missed %llu, has %llu and peek %llu, and all were there",
		(unsigned long long) b->gets, (unsigned long long) b->written, (unsigned long long) b->missed, (unsigned long long) b->not_there, (unsigned long long) b->not_seen);
	printf("%llu reads of what is there, beside %llu writes\n", (unsigned long long) (b->gets + b->checks + b->peeks), (unsigned long long) b->written);
	printf("%llu while the index grows\n", (unsigned long long) grown);

	return 0;
}
