/*
 * A reader reads in place, and sleeps, while others fill the segment many times over.
 *
 * No set may fail, its values stay as they were, what is kept for it is the lower half and an eighth of the segment at
 * most, and comes back when it leaves. Large values lie between the pages that it holds: those of up to 32 KiB always find
 * room, as an eighth of all that is held in the upper half in the worst way still leaves a stretch of three pages between
 * two of its own.
 *
 * Seen to fail: seg_is_held() asks for the first page only (what lies beside a value that was read is kept as well); no
 * share in seg_find() (it copies nothing); seg_is_held() never true (overwritten under its reader); seg_reclaim_some()
 * looks each time (in vain), or seg_leave() does not say that it has let go (what it held stays).
 */
#include <sys/wait.h>

#include "core.h"

#define BYTES (16 * 1024 * 1024)
#define KEYS 6000
#define READ 2000
#define LARGEST 32000
#define HUGE 300000
#define ROUNDS 60000

static uint32_t length_of(dice *d)
{
	uint32_t kind = any(d, 100);

	return kind < 70 ? 16 + any(d, 1200) : kind < 94 ? 1000 + any(d, 6000) : kind < 99 ? 6000 + any(d, LARGEST - 6000) : any(d, HUGE);
}

static void read_and_sleep(int told, int tell)
{
	seg *s = segment_open("sleeper", BYTES);
	static const seg_item *held[READ];
	dice d = {77};
	char word = 0;
	unsigned in = 0, out = 0;

	for (uint32_t i = 0; i < READ; i++) {
		bool in_place;
		/* The first of them among the last that were stored, and large ones too. */
		held[i] = value_get(s, any(&d, KEYS), &in_place);
		if (held[i] && !in_place) {
			free((void *) held[i]);
			held[i] = NULL;
			out++;
		}
		in += held[i] != NULL;
	}
	MUST(in > 50, "only %u values were read in place", in);
	MUST(out > 50, "only %u values were copied: it holds less than it may", out);
	do {
		for (uint32_t i = 0; i < READ; i++) {
			uint32_t number;
			if (held[i]) {
				MUST(sscanf(held[i]->key, "key %u", &number) == 1 && value_check(held[i], number), "a value was overwritten under its reader");
			}
		}
		MUST(write(tell, &word, 1) == 1, "nobody to tell");
	} while (read(told, &word, 1) == 1);
	seg_leave(s);
	seg_close(s);
	_exit(0);
}

/* Both begin on one page, and only the one that was read is kept. */
static void keeps_what_it_reads(void)
{
	seg_numbers n;
	bool in_place;

	seg *s = segment_open("sleeper", BYTES);
	MUST(value_set(s, 1, 1, 3000, 0, SEG_SET) == SEG_OK && value_set(s, 2, 1, HUGE, 0, SEG_SET) == SEG_OK, "a set was refused");
	const seg_item *read = value_get(s, 1, &in_place);
	MUST(read && in_place, "not read in place");
	value_delete(s, 2);
	seg_count(s, &n);
	MUST(n.retired_bytes == 0, "%llu bytes are kept that nobody has read", (unsigned long long) n.retired_bytes);
	MUST(value_set(s, 2, 2, HUGE, 0, SEG_SET) == SEG_OK && (read = value_get(s, 2, &in_place)) && in_place, "not read in place");
	value_delete(s, 2);
	MUST(value_set(s, 3, 1, HUGE, 0, SEG_SET) == SEG_OK && value_check(read, 2) == 2, "overwritten under its reader");
	seg_count(s, &n);
	MUST(n.retired_bytes > HUGE && n.retired_bytes < HUGE + 2000, "%llu bytes are kept of a value of %d", (unsigned long long) n.retired_bytes, HUGE);
	seg_leave(s);
	seg_close(s);
	segment_remove("sleeper");
}

static uint64_t retired(const seg *s)
{
	uint64_t count = 0;

	for (int i = 0; i < SEG_SHARDS; i++) {
		count += s->shards[i].retired.count;
	}

	return count;
}

/* Each set looks at a few of the retired, and turns the list by that: only when somebody has let go since they were looked at. */
static void looks_when_somebody_has_let_go(void)
{
	seg_offset heads[SEG_SHARDS];
	bool in_place;

	seg *s = segment_open("sleeper", BYTES);
	for (uint32_t i = 0; i < 1000; i++) {
		MUST(value_set(s, i, 1, 100, 0, SEG_SET) == SEG_OK && value_get(s, i, &in_place) && in_place, "not read in place");
	}
	for (uint32_t i = 0; i < 1000; i++) {
		value_set(s, i, 2, 100, 0, SEG_SET);
	}
	uint64_t held = retired(s);
	MUST(held == 1000, "%llu of 1000 values that were read are kept", (unsigned long long) held);
	for (uint32_t i = 0; i < 1000; i++) {
		for (int n = 0; n < SEG_SHARDS; n++) {
			heads[n] = s->shards[n].retired.head;
		}
		value_set(s, i, 3, 100, 0, SEG_SET);
		for (int n = 0; n < SEG_SHARDS; n++) {
			MUST(s->shards[n].retired.head == heads[n], "set %d looked at what its own process holds", (int) i);
		}
	}
	seg_leave(s);
	for (uint32_t i = 0; i < 1000; i++) {
		value_set(s, i, 4, 100, 0, SEG_SET);
	}
	MUST(retired(s) == 0, "%llu values that nobody holds were not looked at by 1000 sets", (unsigned long long) retired(s));
	seg_close(s);
	segment_remove("sleeper");
}

int test_sleeper(void)
{
	keeps_what_it_reads();
	looks_when_somebody_has_let_go();
	int down[2], up[2], status;
	char word = 0;
	dice d = {4711};
	seg_numbers n;
	uint64_t most = 0;
	unsigned refused = 0;

	seg *s = segment_open("sleeper", BYTES);
	uint64_t share = s->header->n_units * SEG_UNIT / 8 * 5;
	for (uint32_t i = 0; i < 3 * KEYS; i++) {
		MUST(value_set(s, any(&d, KEYS), 1, length_of(&d), 0, SEG_SET) == SEG_OK, "a set was refused before anybody slept");
	}
	MUST(pipe(down) == 0 && pipe(up) == 0, "no pipe");
	pid_t reader = fork_child();
	if (reader == 0) {
		close(down[1]);
		close(up[0]);
		read_and_sleep(down[0], up[1]);
	}
	close(down[0]);
	close(up[1]);
	MUST(read(up[0], &word, 1) == 1, "the reader failed");
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t number = any(&d, KEYS);
		if (any(&d, 20) == 0) {
			value_delete(s, number);
		}
		uint32_t length = length_of(&d);
		refused += value_set(s, number, 2 + i, length, 0, SEG_SET) != SEG_OK && length <= LARGEST;
		if (i % 500 == 0) {
			seg_count(s, &n);
			most = n.retired_bytes > most ? n.retired_bytes : most;
			MUST(n.readers == 1, "%d readers in place of one", (int) n.readers);
		}
		if (i % 20000 == 0) {
			must_be_sound(s, "while one sleeps");
			MUST(write(down[1], &word, 1) == 1 && read(up[0], &word, 1) == 1, "the reader lost its values");
		}
	}
	MUST(refused == 0, "%u of %d sets were refused because of one sleeping reader", refused, ROUNDS);
	/* Whole pages, and so what lies on them and nowhere else. */
	MUST(most <= share, "%llu bytes were kept for one reader, and its share is %llu", (unsigned long long) most, (unsigned long long) share);
	MUST(most > share / 4, "only %llu bytes were ever kept: it did not hold much", (unsigned long long) most);
	MUST(write(down[1], &word, 1) == 1 && read(up[0], &word, 1) == 1, "the reader lost its values");
	close(down[1]);
	MUST(waitpid(reader, &status, 0) == reader && status == 0, "the reader failed");
	seg_count(s, &n);
	MUST(n.retired_bytes == 0, "%llu bytes were kept for nobody", (unsigned long long) n.retired_bytes);
	seg_flush(s);
	must_be_sound(s, "after a sleeping reader");
	MUST(s->header->free_units == s->header->given_units, "memory did not come back");
	printf("%llu KiB kept at most, of %llu\n", (unsigned long long) most >> 10, (unsigned long long) share >> 10);
	seg_close(s);
	segment_remove("sleeper");

	return 0;
}
