/*
 * More processes than slots (built with -DSEG_SLOTS=8): those without one copy what they read, and write one after the
 * other; and they have one as soon as somebody ends, however it ends.
 *
 * Seen to fail: seg_borrow_slot() takes no lock (what two of them write is one's only); seg_leave() looks for no slot.
 */
#include <signal.h>
#include <sys/wait.h>

#include "core.h"

#define BYTES (2 * 1024 * 1024)
#define PROCESSES 14

typedef struct {
	_Atomic int ready, with, without, go, done;
	_Atomic int slot[PROCESSES];
} board;

static void be(board *b, int number)
{
	seg *s = segment_open("slots", BYTES);
	struct timespec moment = {0, 1000000};
	int64_t now;

	for (uint32_t i = 0; i < 200; i++) {
		uint32_t key = (uint32_t) number * 1000 + i % 50;
		bool in_place;
		seg_item *item = value_reserve(s, key, i + 1, 40 + i * 2);
		MUST(item, "process %d with slot %d cannot write", number, s->slot);
		if (i % 16 == 0) {
			nanosleep(&moment, NULL);
		}
		/* By this a repair knows that the block is somebody's. */
		MUST(atomic_load(&s->slots[s->writing].filling) == seg_of(s, item), "what process %d writes is not said, or another's", number);
		MUST(seg_publish(s, item, SEG_SET) == SEG_OK, "process %d cannot publish", number);
		const seg_item *found = value_get(s, key, &in_place);
		MUST(found && value_check(found, key) == i + 1, "process %d with slot %d does not see what it wrote", number, s->slot);
		MUST(in_place == (s->slot >= 0), "process %d with slot %d reads the wrong way", number, s->slot);
		if (!in_place) {
			free((void *) found);
		}
		/* Or it would hold its share, and copy from then on. */
		seg_leave(s);
		MUST(seg_increment(s, hash_of("all", 3), "all", 3, 1, KIND_INTEGER, &now) == SEG_OK, "process %d cannot count", number);
	}
	b->slot[number] = s->slot;
	atomic_fetch_add(s->slot >= 0 ? &b->with : &b->without, 1);
	atomic_fetch_add(&b->ready, 1);
	while (!b->go) {
		nanosleep(&moment, NULL);
	}
	/* Two have ended meanwhile, one of them killed. */
	seg_leave(s);
	b->slot[number] = s->slot;
	atomic_fetch_add(&b->done, 1);
	while (b->go < 2) {
		nanosleep(&moment, NULL);
	}
	seg_close(s);
	_exit(0);
}

static void wait_until(_Atomic int *count, int is)
{
	struct timespec moment = {0, 1000000};

	for (int i = 0; i < 20000 && atomic_load(count) < is; i++) {
		nanosleep(&moment, NULL);
	}
	MUST(atomic_load(count) >= is, "some of the processes have failed, or hang");
}

int test_slots(void)
{
	board *b = shared_memory(sizeof *b);
	pid_t pids[PROCESSES];
	int64_t now;
	int held[SEG_SLOTS] = {0};
	seg_item *item;

	MUST(SEG_SLOTS < PROCESSES, "this test is built with fewer slots than processes: -DSEG_SLOTS=8");
	seg *s = segment_open("slots", BYTES);
	MUST(seg_reserve(s, hash_of("all", 3), "all", 3, 0, &item) == SEG_OK, "no counter");
	item->kind = KIND_INTEGER;
	seg_publish(s, item, SEG_SET);
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork_child();
		if (pids[i] == 0) {
			be(b, i);
		}
	}
	wait_until(&b->ready, PROCESSES);
	MUST(b->with > 0 && b->with < SEG_SLOTS && b->without == PROCESSES - b->with, "%d have a slot, %d have none", b->with, b->without);
	MUST(seg_increment(s, hash_of("all", 3), "all", 3, 0, KIND_INTEGER, &now) == SEG_OK && now == 200 * PROCESSES, "%lld were counted in place of %d", (long long) now, 200 * PROCESSES);
	must_be_sound(s, "with more processes than slots");
	int ended = 0;
	for (int i = 0; i < PROCESSES && ended < 2; i++) {
		if (b->slot[i] >= 0) {
			kill(pids[i], SIGKILL);
			waitpid(pids[i], NULL, 0);
			pids[i] = 0;
			ended++;
		}
	}
	int expected = b->with;
	b->go = 1;
	wait_until(&b->done, PROCESSES - 2);
	int with = 0;
	for (int i = 0; i < PROCESSES; i++) {
		if (pids[i] && b->slot[i] >= 0) {
			with++;
			MUST(held[b->slot[i]]++ == 0, "two have slot %d", b->slot[i]);
		}
	}
	MUST(with == expected, "%d have a slot after two have ended, and %d had one before", with, expected);
	b->go = 2;
	for (int i = 0; i < PROCESSES; i++) {
		int status = 0;
		MUST(!pids[i] || (waitpid(pids[i], &status, 0) == pids[i] && status == 0), "a process failed");
	}
	seg_flush(s);
	atomic_store(&s->header->settle_at, 0);
	value_set(s, 1, 1, 16, 0, SEG_SET);
	seg_flush(s);
	must_be_sound(s, "after more processes than slots");
	MUST(s->header->free_units == s->header->given_units, "memory did not come back");
	printf("%d processes, %d with a slot\n", PROCESSES, expected);
	seg_close(s);
	segment_remove("slots");

	return 0;
}
