/*
 * A process is killed at each named point (points.h), and others go on: nothing is lost but what it was writing.
 *
 *   in work      it sets values of all sizes, adds, gives up, deletes, counts, reads, expires, evicts, flushes, closes
 *                without a slot, too, where only such a one comes to it
 *   in repair    another one died in a lock before it, somebody reads what was retired, and it dies while it repairs
 *   in opening   it makes the file, attaches to it, or makes anew what nobody has closed
 *
 * The names come from the program itself; a name that no death of these reaches is an error. By turns the dead is
 * buried by its parent before others go on, is a zombie meanwhile, or is no corpse at all: another program runs under its
 * process id by exec(3). So it shows that nothing depends on ids.
 *
 * LARDER_LONG=1: at more of the times that each is reached.
 *
 * Seen to fail: the bit of the first page only (what a reader has of a large value is given away by a repair); a slab of
 * which somebody reads is not set apart; blocks of dead writers are not counted as orphans (units are missing after a
 * flush); a tag is not compared in repair_shard(); the death in a lock is not said (no recovery); free memory is not set
 * apart where somebody reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "core.h"

#define BYTES (5 * 512 * 1024)
#define KEYS 2400
#define PREPARED 640                   /* from this number on: many small values, with which the index grows */
#define BESIDE 400                     /* from this number on: values in the same slabs as the reader's */
#define READ 300                       /* from this number on: values of the reader, nobody else changes them */
#define WRITTEN 350
#define LARGE 50000

/* What is there, by the one who writes: in memory that outlives it. */
typedef struct {
	uint32_t versions[KEYS];           /* 0: nothing */
	uint32_t doing, next;              /* key and version that is being written; next 0: being deleted */
	bool busy, may_be_gone;            /* evicting or flushing: anything may be missing */
	int64_t counted;
} ledger;

static ledger *book;
static const uint32_t lengths[] = {16, 60, 100, 200, 333, 500, 700, 1000, 1500, 1900, 2100, 5000, 17000, 40000, LARGE};

static void change(uint32_t number, uint32_t version)
{
	book->doing = number;
	book->next = version;
	book->busy = true;
}

static void changed(void)
{
	book->versions[book->doing] = book->next;
	book->busy = false;
}

static void put(seg *s, uint32_t number, uint32_t version, uint32_t length, int64_t expires)
{
	change(number, version);
	MUST(value_set(s, number, version, length, expires, SEG_SET) == SEG_OK, "a set of %u bytes was refused", length);
	changed();
}

static void drop(seg *s, uint32_t number)
{
	change(number, 0);
	value_delete(s, number);
	changed();
}

static void hold(seg *s, uint32_t number)
{
	bool in_place;
	const seg_item *item = value_get(s, number, &in_place);

	if (item && !in_place) {
		free((void *) item);
	}
}

static void count(seg *s)
{
	int64_t now;
	seg_item *item;

	book->counted++;
	if (seg_increment(s, hash_of("counter", 7), "counter", 7, 1, KIND_INTEGER, &now) == SEG_NOT_FOUND
		&& seg_reserve(s, hash_of("counter", 7), "counter", 7, 0, &item) == SEG_OK) {
		item->kind = KIND_INTEGER;
		atomic_store(&item->number, 1);
		seg_publish(s, item, SEG_ADD);
	}
}

/* Comes to every point of writing and reading. */
static void work(seg *s)
{
	struct timespec moment = {0, 5000000};

	for (uint32_t i = PREPARED; i < KEYS; i++) {
		put(s, i, 2, 16, 0);
	}
	for (uint32_t i = PREPARED; i < KEYS; i++) {
		drop(s, i);
	}
	for (uint32_t round = 2; round < 4; round++) {
		for (uint32_t i = 0; i < 60; i++) {
			put(s, i, round, lengths[i % COUNT(lengths)], 0);
			count(s);
		}
		for (uint32_t i = 0; i < 60; i += 7) {
			value_set(s, i, 99, 100, 0, SEG_ADD);
			seg_item *item = value_reserve(s, i, 98, 3000);
			MUST(item, "no room to give up");
			seg_give_up(s, item);
		}
		/* Copies with a position, as a near tier has them: the later one stays. */
		for (uint32_t i = 0; i < 6; i++) {
			change(i, round + 20);
			seg_item *item = value_reserve(s, i, round + 20, 300);
			MUST(item && seg_fill(s, item, &(seg_terms) {.position = round}) == SEG_OK, "a fill was refused");
			changed();
			item = value_reserve(s, i, 97, 300);
			MUST(item && seg_fill(s, item, &(seg_terms) {.position = round - 1}) == SEG_EXISTS, "an older fill was stored");
		}
		/* What it holds itself is retired when it is replaced and deleted, and reclaimed afterwards. */
		for (uint32_t i = 0; i < 60; i += 3) {
			hold(s, i);
		}
		for (uint32_t i = 0; i < 60; i += 3) {
			if (i % 2) {
				drop(s, i);
			} else {
				put(s, i, round + 10, lengths[(i + 4) % COUNT(lengths)], 0);
			}
		}
		/* One holds on while what others have held goes. */
		seg_leave(s);
		hold(s, 2);
		drop(s, 2);
		for (uint32_t i = 3; i < 60; i++) {
			drop(s, i);
		}
		seg_leave(s);
	}
	for (uint32_t i = 60; i < 80; i++) {
		change(i, 5);
		MUST(value_set(s, i, 5, 200, seg_clock() + 1, SEG_SET) == SEG_OK, "a set that ends was refused");
		book->versions[i] = 0;
		book->busy = false;
	}
	nanosleep(&moment, NULL);
	nanosleep(&moment, NULL);
	for (uint32_t i = 80; i < 120; i++) {
		put(s, i, 6, 100, 0);
	}
	book->may_be_gone = true;
	for (uint32_t i = 0; i < 2500; i++) {
		put(s, i % READ, 7, i < 1500 ? 700 : lengths[i % COUNT(lengths)], 0);
		if (i % 100 < 3) {
			hold(s, i % READ);
		}
		if (i % 500 == 0) {
			seg_leave(s);
		}
	}
	for (uint32_t i = 0; i < 20; i++) {
		hold(s, i);
	}
	seg_leave(s);
	/* As if others needed some: an eighth of it goes with the next. */
	atomic_store(&s->header->too_large, 1);
	for (uint32_t i = 0; i < 20; i++) {
		put(s, i, 7, 3000, 0);
	}
	seg_give_back(s);
	for (uint32_t i = 0; i < 20; i++) {
		put(s, i, 8, 100, 0);
	}
	seg_flush(s);
	put(s, 0, 8, 100, 0);
	seg_leave(s);
	seg_close(s);
}

/* ---- the dying ---- */

typedef struct {
	pid_t pid;
	int gone;                          /* a pipe that ends when it dies, or becomes another program */
} child;

static child start(void (*run)(void *), void *with, const char *point, int times, const char *how)
{
	int ends[2];
	char where[128];

	MUST(pipe2(ends, O_CLOEXEC) == 0, "no pipe");
	child c = {fork_child(), ends[0]};
	if (c.pid == 0) {
		close(ends[0]);
		if (point) {
			snprintf(where, sizeof where, "%s:%d", point, times);
			setenv("LARDER_POINT", where, 1);
			setenv("LARDER_POINT_HOW", how, 1);
		}
		run(with);
		_exit(0);
	}
	close(ends[1]);

	return c;
}

/* Until its locks are given up; a corpse stays a zombie. Whether it came to its point. */
static bool wait_for_end(const child *c, const char *how)
{
	siginfo_t found = {0};
	char nothing;

	while (read(c->gone, &nothing, 1) != 0) {
	}
	if (strcmp(how, "exec") == 0) {
		/* It has ended itself, or it sleeps as another program: then it is alive. */
		struct timespec moment = {0, 2000000};
		nanosleep(&moment, NULL);
		MUST(waitid(P_PID, (id_t) c->pid, &found, WEXITED | WNOWAIT | WNOHANG) == 0, "no child to wait for");
		if (found.si_pid == 0) {
			return true;
		}
	} else {
		MUST(waitid(P_PID, (id_t) c->pid, &found, WEXITED | WNOWAIT) == 0, "no child to wait for");
	}
	MUST(found.si_code != CLD_EXITED || found.si_status == 0, "the child failed");
	MUST(found.si_code == CLD_EXITED || found.si_status == SIGKILL, "the child ended by signal %d", found.si_status);

	return found.si_code != CLD_EXITED;
}

static void bury(child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->gone);
}

/* glibc and Linux: the kernel has marked a lock whose holder died (FUTEX_OWNER_DIED). */
static bool died_in_a_lock(const seg *s)
{
	bool died = atomic_load(&s->header->broken);

	for (uint32_t i = 0; i < s->header->n_shards; i++) {
		died = died || (s->shards[i].lock.__data.__lock & 0x40000000);
	}

	return died || (s->header->units_lock.__data.__lock & 0x40000000);
}

/* ---- what must be true afterwards ---- */

static void must_be_whole(seg *s, const char *where)
{
	int64_t now;

	for (uint32_t i = 0; i < KEYS; i++) {
		bool in_place, doing = book->busy && book->doing == i;
		const seg_item *item = value_get(s, i, &in_place);
		/* Of 60 to 79 the version 5 ends after a millisecond: it may be there or not. */
		uint32_t expected = book->versions[i], version = item ? value_check(item, i) : 0;
		MUST(!item || version, "%s: the value of key %u is damaged", where, i);
		if (item && !in_place) {
			free((void *) item);
		}
		MUST(version == expected || (doing && version == book->next) || (!version && book->may_be_gone)
			|| (version == 5 && i >= 60 && i < 80 && !book->may_be_gone),
			"%s: key %u has version %u in place of %u%s", where, i, version, expected, doing ? ", which was being changed" : "");
	}
	seg_leave(s);
	/* Counted once, or not at all if it died before. */
	if (!book->may_be_gone && seg_increment(s, hash_of("counter", 7), "counter", 7, 0, KIND_INTEGER, &now) == SEG_OK) {
		MUST(now == book->counted || now == book->counted - 1, "%s: %lld were counted as %lld", where, (long long) book->counted, (long long) now);
	}
}

static void must_come_back(seg *s, unsigned fit, const char *where)
{
	seg_numbers n;

	seg_flush(s);
	must_be_sound(s, where);
	unsigned now = how_many_fit(s, LARGE);
	/* One fewer where what had memory was in two parts, and what lies between was got later. */
	MUST(now == fit || now + 1 == fit, "%s: %u values of %d bytes fit, and %u in a new segment", where, now, LARGE, fit);
	seg_flush(s);
	must_be_sound(s, where);
	MUST(s->header->free_units == s->header->given_units, "%s: %llu units of %llu are free after a flush", where,
		(unsigned long long) s->header->free_units, (unsigned long long) s->header->given_units);
	seg_count(s, &n);
	MUST(n.retired_bytes == 0 && n.entries == 0, "%s: something is left after a flush", where);
}

static void prepare(seg *s)
{
	memset(book, 0, sizeof *book);
	for (uint32_t i = 0; i < PREPARED; i += 5) {
		put(s, i, 1, lengths[i / 5 % 12], 0);
	}
	for (uint32_t i = 0; i < 8; i++) {
		put(s, READ + i, 1, lengths[4 * i % COUNT(lengths)], 0);
	}
	for (uint32_t i = 0; i < PREPARED - BESIDE; i++) {
		uint32_t length = lengths[4 * (i % 8) % COUNT(lengths)];
		if (length < 2000) {
			put(s, BESIDE + i, 1, length, 0);
		}
	}
}

/* ---- in work ---- */

/* Dies with a value reserved that nobody will publish. */
static void reserve_and_die(void *name)
{
	value_reserve(segment_open(name, BYTES), 200, 3, 6000);
	kill(getpid(), SIGKILL);
}

static void open_and_work(void *name)
{
	work(segment_open(name, BYTES));
}

static bool die_in_work(const char *point, int times, const char *how, bool bury_first, unsigned fit, bool is_crowded)
{
	seg *others[1024];
	unsigned n_others = 0;
	char where[128];

	snprintf(where, sizeof where, "killed at %s:%d (%s)", point, times, how);
	seg *s = segment_open("work", BYTES);
	prepare(s);
	/* Left over for the child to settle. */
	child writer = start(reserve_and_die, "work", NULL, 1, "kill");
	wait_for_end(&writer, "kill");
	bury(&writer);
	/* Until one has no slot; so the child will have none. */
	while (is_crowded && n_others < COUNT(others)) {
		others[n_others++] = segment_open("work", BYTES);
		if (others[n_others - 1]->slot < 0) {
			break;
		}
	}
	/* Between two requests, so that the index can become smaller. */
	seg_leave(s);
	child c = start(open_and_work, "work", point, times, how);
	bool died = wait_for_end(&c, how);
	if (died) {
		bool in_a_lock = died_in_a_lock(s);
		seg_enter(s);
		if (bury_first) {
			bury(&c);
		}
		must_be_sound(s, where);
		MUST(atomic_load(&s->header->recoveries) == in_a_lock, "%s: %d recoveries", where, (int) atomic_load(&s->header->recoveries));
		must_be_whole(s, where);
		must_come_back(s, fit, where);
		MUST(atomic_load(&s->header->recoveries) == in_a_lock, "%s: a recovery too many", where);
		if (!bury_first) {
			MUST(kill(c.pid, 0) == 0, "%s: its process id was free meanwhile", where);
			bury(&c);
		}
	} else {
		bury(&c);
	}
	while (n_others > 0) {
		seg_close(others[--n_others]);
	}
	seg_close(s);
	segment_remove("work");

	return died;
}

/* ---- in repair ---- */

typedef struct {
	int told, tell;
	uint32_t length;                   /* of what it writes */
} talk;

/* Holds values in place until it is told to look at them, and then again until it is told to end. */
static void read_and_sleep(void *with)
{
	talk *t = with;
	seg *s = segment_open("repair", BYTES);
	const seg_item *held[8];
	bool in_place;
	char word = 0;

	for (uint32_t i = 0; i < 8; i++) {
		held[i] = value_get(s, READ + i, &in_place);
		MUST(held[i] && in_place, "value %u cannot be read in place", i);
	}
	/* And it is writing something itself, that nobody sees. */
	seg_item *item = value_reserve(s, WRITTEN, 2, t->length);
	MUST(item, "there is no room");
	for (;;) {
		for (uint32_t i = 0; i < 8; i++) {
			MUST(value_check(held[i], READ + i) == 1, "value %u was overwritten under its reader", i);
		}
		MUST(value_check(item, WRITTEN) == 2, "what it writes was overwritten by another");
		MUST(write(t->tell, &word, 1) == 1, "nobody to tell");
		if (read(t->told, &word, 1) != 1) {
			MUST(seg_publish(s, item, SEG_SET) == SEG_OK, "what it wrote cannot be published");
			const seg_item *published = value_get(s, WRITTEN, &in_place);
			MUST(published && value_check(published, WRITTEN) == 2, "what it published is not there");
			_exit(0);
		}
	}
}

static void set_one(void *name)
{
	seg *s = segment_open(name, BYTES);

	/* So that there is something to bury. */
	for (uint32_t i = 0; i < 100; i++) {
		hold(s, i);
	}
	value_set(s, book->doing, book->next, 200, 0, SEG_SET);
}

static void check(void *name)
{
	seg_check(segment_open(name, BYTES));
}

static bool die_in_repair(const char *point, int times, const char *how, bool bury_first, unsigned fit, bool is_new)
{
	char where[128], word = 0;
	int down[2], up[2], status;

	snprintf(where, sizeof where, "killed at %s:%d while repairing (%s)", point, times, how);
	seg *s = segment_open("repair", BYTES);
	prepare(s);
	MUST(pipe2(down, O_CLOEXEC) == 0 && pipe2(up, O_CLOEXEC) == 0, "no pipe");
	talk t = {down[0], up[1], is_new ? 700 : 9000};
	pid_t reader = fork_child();
	if (reader == 0) {
		close(down[1]);
		close(up[0]);
		read_and_sleep(&t);
	}
	close(down[0]);
	close(up[1]);
	MUST(read(up[0], &word, 1) == 1, "%s: the reader failed", where);
	/* From here on nothing but the reader knows of them. */
	for (uint32_t i = 0; i < 8; i++) {
		drop(s, READ + i);
	}
	child writer = start(reserve_and_die, "repair", NULL, 1, "kill");
	wait_for_end(&writer, "kill");
	change(is_new ? 201 : 0, 9);
	child first = start(set_one, "repair", is_new ? "insert-entry" : "replace-entry", 1, "kill");
	MUST(wait_for_end(&first, "kill"), "the first did not die");
	child second = start(check, "repair", point, times, how);
	bool died = wait_for_end(&second, how);
	if (died && bury_first) {
		bury(&second);
	}
	if (died) {
		must_be_sound(s, where);
		MUST(atomic_load(&s->header->recoveries) >= 1, "%s: no recovery", where);
		must_be_whole(s, where);
		seg_flush(s);
		/* All that is free is written to: it must not be what the reader has. */
		for (uint32_t i = 0; i < 400; i++) {
			value_set(s, 2000 + i, 1, lengths[i % COUNT(lengths)], 0, SEG_SET);
		}
		must_be_sound(s, where);
		MUST(write(down[1], &word, 1) == 1 && read(up[0], &word, 1) == 1, "%s: the reader lost its values", where);
	}
	close(down[1]);
	close(up[0]);
	MUST(waitpid(reader, &status, 0) == reader && status == 0, "%s: the reader failed", where);
	if (died) {
		must_come_back(s, fit, where);
	}
	if (!died || !bury_first) {
		bury(&second);
	}
	bury(&first);
	bury(&writer);
	seg_close(s);
	segment_remove("repair");

	return died;
}

/* ---- in opening ---- */

static void make_and_die(void *name)
{
	seg *s = segment_open(name, BYTES);

	put(s, 1, 1, 100, 0);
	put(s, 2, 1, LARGE, 0);
	change(1, 2);
	value_reserve(s, 1, 2, 200);
	kill(getpid(), SIGKILL);
}

static void open_and_close(void *name)
{
	seg_close(segment_open(name, BYTES));
}

static bool die_in_opening(const char *point, const char *how, bool bury_first, unsigned fit, bool is_there)
{
	char where[128];

	snprintf(where, sizeof where, "killed at %s while opening (%s)", point, how);
	memset(book, 0, sizeof *book);
	if (is_there) {
		child maker = start(make_and_die, "opening", NULL, 1, "kill");
		wait_for_end(&maker, "kill");
		bury(&maker);
	}
	child c = start(open_and_close, "opening", point, 1, how);
	bool died = wait_for_end(&c, how);
	if (bury_first) {
		bury(&c);
	}
	if (died) {
		seg *s = segment_open("opening", BYTES);
		must_be_sound(s, where);
		must_be_whole(s, where);
		must_come_back(s, fit, where);
		seg_close(s);
	}
	if (!bury_first) {
		bury(&c);
	}
	segment_remove("opening");

	return died;
}

/* ---- stopped ---- */

/* One that is stopped while it writes its value has no lock: others go on, and so does it, later. */
static void stop_while_writing(void)
{
	int status;

	seg *s = segment_open("stopped", BYTES);
	prepare(s);
	change(0, 9);
	child c = start(set_one, "stopped", "reserve-unlocked", 1, "stop");
	MUST(waitpid(c.pid, &status, WUNTRACED) == c.pid && WIFSTOPPED(status), "it was not stopped");
	must_be_whole(s, "while one is stopped");
	for (uint32_t i = 0; i < 3000; i++) {
		MUST(value_set(s, 500 + i, 1, 1000, 0, SEG_SET) == SEG_OK, "a set was refused because one is stopped");
	}
	seg_flush(s);
	must_be_sound(s, "while one is stopped");
	kill(c.pid, SIGCONT);
	MUST(waitpid(c.pid, &status, 0) == c.pid && status == 0, "it did not go on");
	close(c.gone);
	memset(book->versions, 0, sizeof book->versions);
	changed();
	must_be_whole(s, "after one was stopped");
	seg_close(s);
	segment_remove("stopped");
}

static int by_name(const void *one, const void *other)
{
	return strcmp(*(const char *const *) one, *(const char *const *) other);
}

int test_death(void)
{
	static const char *const ways[] = {"kill", "kill", "exec"};
	static const int times[] = {1, 20, 3, 150};
	size_t n_times = getenv("LARDER_LONG") ? COUNT(times) : 2;
	size_t n, deaths = 0;
	const char *const *table = seg_point_names(&n);
	const char **names = malloc(n * sizeof *names);
	unsigned turn = 0, named = 0;

	memcpy(names, table, n * sizeof *names);
	qsort(names, n, sizeof *names, by_name);
	book = shared_memory(sizeof *book);
	seg *s = segment_open("new", BYTES);
	unsigned fit = how_many_fit(s, LARGE);
	seg_close(s);
	segment_remove("new");
	MUST(fit > 30, "only %u values of %d bytes fit into a new segment", fit, LARGE);

	for (size_t i = 0; i < n; i++) {
		unsigned reached = 0;
		if (i && strcmp(names[i], names[i - 1]) == 0) {
			continue;
		}
		named++;
		for (size_t j = 0; j < n_times; j++, turn++) {
			bool work = die_in_work(names[i], times[j], ways[turn % 3], turn % 3 == 0, fit, false);
			unsigned repair = 0;
			for (int is_new = 0; is_new < 2; is_new++) {
				repair += die_in_repair(names[i], times[j], ways[turn % 3], turn % 3 == 0, fit, is_new);
			}
			reached += work + repair;
			if (!work && !repair) {
				break;
			}
		}
		for (int there = 0; there < 2; there++, turn++) {
			reached += die_in_opening(names[i], ways[turn % 3], turn % 3 == 0, fit, there);
		}
		/* What only a process without a slot comes to. */
		for (size_t j = 0; !reached && j < COUNT(times); j++, turn++) {
			reached += die_in_work(names[i], times[j], ways[turn % 3], turn % 3 == 0, fit, true);
		}
		MUST(reached, "no death at %s: it is never reached", names[i]);
		deaths += reached;
	}
	MUST(named > 100, "only %u points have a name", named);
	printf("%zu deaths at %u points\n", deaths, named);
	free(names);
	stop_while_writing();

	return 0;
}
