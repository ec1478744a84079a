/*
 * A child of fork(2) holds what its parent held, whatever becomes of the parent; and a fork that fails leaves no trace.
 *
 * Seen to fail: seg_bury() without its look at `forking` (children without bits, and values overwritten under them);
 * seg_after_fork_parent() that does nothing (bits that nobody clears).
 *
 * Without a pipe: seg_before_fork() that only says that it forks (a child that dies at once leaves its parent's bits).
 *
 * And what the dead left is settled without taking bytes that were never used for somebody's.
 *
 * Seen to fail: seg_settle_begin() that believes those bytes (memory that does not come back).
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "core.h"

#define BYTES (4 * 1024 * 1024)
#define LENGTH 30000
#define TIMES 200

static seg *forking;
static bool dies, quits;

static void before(void)
{
	if (forking) {
		seg_before_fork(forking);
	}
}

static void after_parent(void)
{
	if (dies) {
		kill(getpid(), SIGKILL);
	}
	if (forking) {
		seg_after_fork_parent(forking);
	}
}

static void after_child(void)
{
	if (forking) {
		if (quits) {
			_exit(3);
		}
		/* Long enough for others to see that the parent is dead. */
		usleep(dies ? 2000 : 0);
		seg_after_fork_child(forking);
	}
}

/* The grandchild of each has the value, though its parent is killed as soon as it is there. */
static void parent_is_killed(void)
{
	seg *s = segment_open("fork", BYTES);
	int tell[2], status;

	MUST(value_set(s, 1, 1, LENGTH, 0, SEG_SET) == SEG_OK, "no room");
	MUST(pipe(tell) == 0, "no pipe");
	pid_t burier = fork_child();
	if (burier == 0) {
		for (seg *other = segment_open("fork", BYTES);;) {
			seg_bury_the_dead(other);
		}
	}
	for (uint32_t i = 0; i < TIMES; i++) {
		pid_t parent = fork_child();
		if (parent == 0) {
			seg *mine = segment_open("fork", BYTES);
			bool in_place;
			const seg_item *item = value_get(mine, 1, &in_place);
			MUST(item && in_place, "not read in place");
			forking = mine;
			dies = true;
			if (fork() == 0) {
				bool good = seg_is_held(mine, seg_at(mine, (seg_offset) ((const char *) item - mine->view)));
				/* Whoever replaces it now must leave it alone. */
				value_set(mine, 1, 2 + i, LENGTH, 0, SEG_SET);
				value_set(mine, 2, 2 + i, LENGTH, 0, SEG_SET);
				char word = good && value_check(item, 1) ? 'g' : 'b';
				_exit(write(tell[1], &word, 1) != 1);
			}
			_exit(1);
		}
		char word;
		MUST(waitpid(parent, &status, 0) == parent && read(tell[0], &word, 1) == 1, "the child is gone");
		MUST(word == 'g', "a child lost what its parent had read");
	}
	kill(burier, SIGKILL);
	waitpid(burier, &status, 0);
	close(tell[0]);
	close(tell[1]);
	must_be_sound(s, "after forks");
	seg_close(s);
	segment_remove("fork");
}

/* As fork(2) does when it fails: the handlers of the parent run, and there is no child. */
static void fork_fails(void)
{
	seg *s = segment_open("fork", BYTES);
	bool in_place;

	value_set(s, 1, 1, LENGTH, 0, SEG_SET);
	MUST(value_get(s, 1, &in_place) && in_place, "not read in place");
	seg_before_fork(s);
	seg_after_fork_parent(s);
	seg_leave(s);
	seg_numbers n;
	seg_count(s, &n);
	MUST(n.readers == 0, "a fork that failed holds what was read");
	seg_close(s);
	segment_remove("fork");
}

/*
 * Where the process may open nothing more there is no pipe, by which the parent would hear that its child has died
 * before it had a slot.
 */
static void no_pipe(bool child_dies)
{
	struct rlimit limit, none;
	seg *s = segment_open("fork", BYTES), *other;
	bool in_place;
	int status;

	value_set(s, 1, 1, LENGTH, 0, SEG_SET);
	pid_t writer = fork_child();
	if (writer == 0) {
		other = segment_open("fork", BYTES);
		for (uint32_t i = 2;; i++) {
			value_set(other, 1, i, LENGTH, 0, SEG_SET);
		}
	}
	const seg_item *item = value_get(s, 1, &in_place);
	MUST(item && in_place, "not read in place");
	uint32_t version = value_check(item, 1);
	MUST(version, "a value is damaged");
	MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0, "no limit");
	none = limit;
	none.rlim_cur = 0;
	MUST(setrlimit(RLIMIT_NOFILE, &none) == 0, "the limit cannot be set");
	forking = s;
	quits = child_dies;
	pid_t child = fork();
	forking = NULL;
	if (child == 0) {
		for (int i = 0; i < 200; i++) {
			usleep(100);
			if (value_check(item, 1) != version) {
				_exit(1);
			}
		}
		_exit(value_get(s, 1, &in_place) ? 0 : 2);
	}
	MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0 && waitpid(child, &status, 0) == child, "no child");
	MUST(status == (child_dies ? 3 << 8 : 0), "the child ended with %x", status);
	MUST(value_check(item, 1) == version, "a value was overwritten under its reader");
	kill(writer, SIGKILL);
	waitpid(writer, &status, 0);
	seg_leave(s);
	seg_numbers n;
	seg_count(s, &n);
	MUST(n.readers == 0 && n.retired_bytes == 0, "a fork without a pipe holds what was read");
	const seg_item *copy = value_get(s, 1, &in_place);
	MUST(copy && value_check(copy, 1), "nothing is read any more");
	if (!in_place) {
		free((void *) copy);
	}
	must_be_sound(s, "after a fork without a pipe");
	seg_close(s);
	segment_remove("fork");
}

static void what_the_dead_left(void)
{
	seg *s = segment_open("fork", BYTES);
	seg_item *item;
	int status;

	/* Bytes that would be states, all over the file: of what is retired, lost, live and being filled. */
	for (uint32_t state = 1; state <= 4; state++) {
		for (uint32_t i = 0; i < 3; i++) {
			uint32_t length = key_of(i, (char[24]) {0});
			char key[24];
			key_of(i, key);
			MUST(seg_reserve(s, hash_of(key, length), key, length, 900000, &item) == SEG_OK, "no room");
			memset((char *) item + seg_item_head(length), (int) state, 900000);
			MUST(seg_publish(s, item, SEG_SET) == SEG_OK, "no room");
		}
		seg_flush(s);
		for (uint32_t i = 0; i < 40; i++) {
			value_set(s, i, 1, 20, 0, SEG_SET);
		}
		pid_t dead = fork_child();
		if (dead == 0) {
			value_reserve(segment_open("fork", BYTES), 99, 1, 3000);
			kill(getpid(), SIGKILL);
		}
		waitpid(dead, &status, 0);
		seg_bury_the_dead(s);
		MUST(atomic_load(&s->header->orphans), "the dead left nothing");
		seg_settle(s, true);
		must_be_sound(s, "after settling");
		seg_flush(s);
		MUST(s->header->free_units == s->header->given_units, "%d units did not come back, state %u", (int) (s->header->given_units - s->header->free_units), state);
	}
	seg_close(s);
	segment_remove("fork");
}

int test_fork(void)
{
	pthread_atfork(before, after_parent, after_child);
	parent_is_killed();
	fork_fails();
	no_pipe(true);
	no_pipe(false);
	what_the_dead_left();
	printf("%d children of the dead\n", TIMES);

	return 0;
}
