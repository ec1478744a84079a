/*
 * Memory that a segment has: little when it is new, more as it is used, and little again when it was given back.
 *
 * Seen to fail: an index that becomes smaller while somebody may read it (a process gets memory for what it looks at); a
 * chunk whose memory goes while a value in it is held (the value is zeros); blocks that are counted after the memory was
 * given back (somebody takes that for a hole).
 */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core.h"

#define BYTES (32 * 1024 * 1024)
#define SMALL 262144
#define HELD 4

static uint64_t has(const char *name)
{
	char path[512];
	struct stat found;

	path_of(name, path);
	MUST(stat(path, &found) == 0, "it is not there");

	return (uint64_t) found.st_blocks * 512;
}

static void fill(seg *s, uint32_t version)
{
	dice d = {version};

	for (uint32_t i = 0; i < 60000; i++) {
		MUST(value_set(s, 100 + i, version, i % 500 ? 20 + any(&d, 900) : 200000, 0, SEG_SET) == SEG_OK, "no room");
	}
}

static void grows_and_shrinks(void)
{
	seg *s = segment_open("growth", BYTES);
	bool in_place;

	MUST(has("growth") <= SMALL, "a new one takes %llu bytes", (unsigned long long) has("growth"));
	for (uint32_t round = 1; round < 4; round++) {
		value_set(s, 1, round, 10, 0, SEG_SET);
		MUST(has("growth") <= SMALL, "with one value it takes %llu bytes", (unsigned long long) has("growth"));
		fill(s, round);
		MUST(has("growth") > BYTES / 10 * 9 && has("growth") <= BYTES, "when full it takes %llu bytes", (unsigned long long) has("growth"));
		must_be_sound(s, "when full");
		MUST(value_get(s, 100 + 59999, &in_place), "the last one is not there");
		seg_leave(s);
		seg_enter(s);
		seg_give_back(s);
		must_be_sound(s, "given back");
		MUST(!value_get(s, 100 + 59999, &in_place), "it is there");
		MUST(seg_is_there(s), "it is lost: %s", s->lost);
	}
	seg_close(s);
	segment_remove("growth");
}

/* Tells that it has begun, and goes on when it is told. */
static pid_t beside(void (*run)(int, int), int *told, int *tell)
{
	int to[2], from[2];
	char word;

	MUST(pipe(to) == 0 && pipe(from) == 0, "no pipe");
	pid_t pid = fork_child();
	if (pid == 0) {
		close(to[1]);
		run(to[0], from[1]);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	*tell = to[1];
	*told = from[0];
	MUST(read(*told, &word, 1) == 1, "the other one failed");

	return pid;
}

static void hold(int told, int tell)
{
	seg *s = segment_open("growth", BYTES);
	const seg_item *held[HELD];
	bool in_place;
	char word = 0;

	for (uint32_t i = 0; i < HELD; i++) {
		held[i] = value_get(s, i, &in_place);
		MUST(held[i] && in_place, "value %u cannot be read in place", i);
	}
	MUST(write(tell, &word, 1) == 1 && read(told, &word, 1) == 1, "nobody there");
	for (uint32_t i = 0; i < HELD; i++) {
		MUST(value_check(held[i], i) == 7, "value %u is another", i);
	}
	seg_leave(s);
	/* Between two requests it has it open. */
	MUST(write(tell, &word, 1) == 1 && read(told, &word, 1) == 1, "nobody there");
	seg_enter(s);
	MUST(!value_get(s, 0, &in_place) && value_set(s, 0, 8, 3000, 0, SEG_SET) == SEG_OK && value_get(s, 0, &in_place), "it does not go on");
	seg_leave(s);
}

static void leaves_what_is_held(void)
{
	seg *s = segment_open("growth", BYTES);
	int told, tell, status;
	char word = 0;

	for (uint32_t i = 0; i < 3000; i++) {
		MUST(value_set(s, 1000 + i, 1, 3000, 0, SEG_SET) == SEG_OK, "no room");
		if (i % 500 == 0 && i / 500 < HELD) {
			MUST(value_set(s, i / 500, 7, i == 500 ? 300000 : 100, 0, SEG_SET) == SEG_OK, "no room");
		}
	}
	pid_t pid = beside(hold, &told, &tell);
	seg_give_back(s);
	must_be_sound(s, "while some is held");
	uint64_t index = seg_size_buckets(seg_index_size(s, 0));
	MUST(index > s->base_buckets, "the index has become smaller under a reader");
	for (uint32_t i = 0; i < 3000; i++) {
		MUST(value_set(s, 1000 + i, 2, 1000, 0, SEG_SET) == SEG_OK, "no room");
	}
	MUST(write(tell, &word, 1) == 1 && read(told, &word, 1) == 1, "the one who holds failed");
	seg_give_back(s);
	must_be_sound(s, "when nothing is held");
	MUST(has("growth") <= SMALL, "with an idle process it takes %llu bytes", (unsigned long long) has("growth"));
	MUST(write(tell, &word, 1) == 1 && waitpid(pid, &status, 0) == pid && status == 0, "the one who has it open failed");
	must_be_sound(s, "after it went on");
	seg_close(s);
	segment_remove("growth");
}

static void use(seg *s, dice *d, const _Atomic int *end)
{
	while (!*end) {
		seg_enter(s);
		for (int i = 0; i < 50; i++) {
			uint32_t number = any(d, 3000);
			bool in_place;
			if (any(d, 3) == 0) {
				MUST(value_set(s, number, 1 + any(d, 9), any(d, 60) ? 20 + any(d, 2000) : 100000, 0, SEG_SET) == SEG_OK, "no room");
			} else {
				const seg_item *item = value_get(s, number, &in_place);
				MUST(!item || value_check(item, number), "a value is damaged");
				if (item && !in_place) {
					free((void *) item);
				}
			}
		}
		seg_leave(s);
		MUST(seg_is_there(s), "it is lost: %s", s->lost ? s->lost : "not there");
	}
}

/* One gives back all the time, and is killed at times, while others use it. */
static void under_use(void)
{
	_Atomic int *end = shared_memory(sizeof *end);
	seg *s = segment_open("growth", BYTES);
	pid_t pids[3], killed;
	unsigned small = 0;
	int status;

	for (int i = 0; i < 3; i++) {
		pids[i] = fork_child();
		if (pids[i] == 0) {
			dice d = {(uint64_t) i + 5};
			use(segment_open("growth", BYTES), &d, end);
			_exit(0);
		}
	}
	for (unsigned round = 0; round < (getenv("LARDER_LONG") ? 2000 : 100); round++) {
		killed = fork_child();
		if (killed == 0) {
			seg *mine = segment_open("growth", BYTES);
			for (uint32_t i = 0;; i++) {
				if ((i + round) % 2) {
					seg_give_back(mine);
				} else {
					/* As if others needed some. */
					atomic_store(&mine->header->too_large, 1);
					MUST(value_set(mine, 5000, 1, 1000, 0, SEG_SET) == SEG_OK, "no room");
				}
			}
		}
		struct timespec moment = {0, 3000000 + (long) (round % 10) * 200000};
		nanosleep(&moment, NULL);
		kill(killed, SIGKILL);
		waitpid(killed, &status, 0);
		seg_give_back(s);
		small += has("growth") <= BYTES / 4;
	}
	*end = 1;
	for (int i = 0; i < 3; i++) {
		MUST(waitpid(pids[i], &status, 0) == pids[i] && status == 0, "one of the users failed");
	}
	must_be_sound(s, "in the end");
	seg_give_back(s);
	must_be_sound(s, "when it was given back");
	MUST(has("growth") <= SMALL, "in the end it takes %llu bytes", (unsigned long long) has("growth"));
	MUST(small, "nothing was ever given back");
	seg_close(s);
	segment_remove("growth");
}

int test_growth(void)
{
	grows_and_shrinks();
	leaves_what_is_held();
	under_use();

	return 0;
}
