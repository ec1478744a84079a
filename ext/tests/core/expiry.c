/*
 * What is over is gone at once for readers, and soon from memory, without anybody asking for it.
 *
 * Seen to fail: seg_sweep() does nothing (what is over stays).
 */
#include "core.h"

#define BYTES (4 * 1024 * 1024)

static void sleep_for(int64_t milliseconds)
{
	struct timespec moment = {milliseconds / 1000, milliseconds % 1000 * 1000000};

	nanosleep(&moment, NULL);
}

static bool is_there(seg *s, uint32_t number)
{
	bool in_place;
	const seg_item *item = value_get(s, number, &in_place);

	MUST(!item || value_check(item, number), "value %u is damaged", number);
	if (item && !in_place) {
		free((void *) item);
	}
	seg_leave(s);

	return item != NULL;
}

/* By a clock that nobody can set, not before its time and not after it. */
static void ends_in_time(seg *s)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	int64_t ahead = now.tv_sec * 1000 + now.tv_nsec / 1000000 - seg_clock_ahead - seg_clock();
	MUST(ahead >= 0 && ahead < 1000, "the clock is %lld ms from the machine's monotonic one", (long long) ahead);
	int64_t end = seg_clock() + 150;
	MUST(value_set(s, 1, 1, 100, end, SEG_SET) == SEG_OK, "refused");
	for (int64_t before = seg_clock(), after; before < end + 30; before = seg_clock()) {
		bool there = is_there(s, 1);
		after = seg_clock();
		MUST(there || after >= end, "gone %lld ms too early", (long long) (end - after));
		MUST(!there || before < end, "there %lld ms too late", (long long) (before - end));
		MUST(seg_clock() >= after, "the clock goes back");
		sleep_for(1);
	}
	/* And can be added as if it had never been, but not replaced, deleted or counted. */
	MUST(!value_delete(s, 1), "what was over was deleted");
	end = seg_clock();
	value_set(s, 2, 1, 100, end, SEG_SET);
	MUST(value_set(s, 2, 2, 100, 0, SEG_REPLACE) == SEG_NOT_FOUND, "what was over was replaced");
	value_set(s, 2, 1, 100, end, SEG_SET);
	MUST(value_set(s, 2, 3, 100, 0, SEG_ADD) == SEG_OK && is_there(s, 2), "what was over stood in the way");
}

/* A few writes later nothing is left of them, although nobody asked and there was room enough. */
static void goes_by_itself(seg *s)
{
	seg_numbers n;
	uint64_t left = 0;

	seg_flush(s);
	int64_t end = seg_clock() + 100;
	for (uint32_t i = 0; i < 4000; i++) {
		MUST(value_set(s, i, 1, 100, i % 2 ? end : 0, SEG_SET) == SEG_OK, "refused");
	}
	sleep_for(end - seg_clock() + 20);
	for (uint32_t i = 4000; i < 6500; i++) {
		MUST(value_set(s, i, 1, 100, 0, SEG_SET) == SEG_OK, "refused");
	}
	/* Not by seg_count(), which would sweep. */
	for (uint32_t i = 0; i < s->header->n_shards; i++) {
		left += s->shards[i].queue.count;
	}
	MUST(left == 2000 + 2500, "%llu items are there in place of 4500, with 2000 that were over", (unsigned long long) left);
	seg_count(s, &n);
	MUST(n.expired >= 2000 && n.evictions == 0, "%llu were counted as over, %llu as evicted", (unsigned long long) n.expired, (unsigned long long) n.evictions);
	must_be_sound(s, "after a sweep");
}

/* Where memory is full what is over goes first: hardly anything that lives. */
static void displaces_nothing(seg *s)
{
	seg_numbers before, n;
	uint32_t i = 0;

	seg_flush(s);
	seg_count(s, &before);
	int64_t end = seg_clock() + 1500;
	do {
		MUST(value_set(s, i, 1, 300, i % 2 ? end : 0, SEG_SET) == SEG_OK, "refused");
		seg_count(s, &n);
	} while (n.evictions == before.evictions && ++i);
	MUST(seg_clock() < end - 100, "the machine is too slow for this test");
	/* All are read, so that SIEVE spares them. */
	for (uint32_t j = 0; j < i; j++) {
		is_there(s, j);
	}
	seg_count(s, &before);
	sleep_for(end - seg_clock() + 20);
	for (uint32_t j = 0; j < i / 2 - i / 20; j++) {
		MUST(value_set(s, 100000 + j, 1, 300, 0, SEG_SET) == SEG_OK, "refused");
	}
	uint64_t displaced = 0;
	for (uint32_t j = 0; j < s->header->n_shards; j++) {
		displaced += atomic_load(&s->shards[j].evictions);
	}
	displaced -= before.evictions;
	MUST(displaced <= i / 50, "%llu live values of %u went before what was over", (unsigned long long) displaced, i / 2);
	must_be_sound(s, "after displacing");
	printf("%llu of %u live values went before what was over\n", (unsigned long long) displaced, i / 2);
}

int test_expiry(void)
{
	seg *s = segment_open("expiry", BYTES);

	ends_in_time(s);
	goes_by_itself(s);
	displaces_nothing(s);
	seg_close(s);
	segment_remove("expiry");

	return 0;
}
