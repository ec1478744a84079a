/*
 * What lies below a handle is no segment any more: gets miss, sets are refused, nobody dies, and who opens anew has a
 * new one.
 *
 * Seen to fail: seg_is_there() that does not count blocks; seg_evict(), seg_alloc(), seg_free() and seg_clear_stretch() that
 * believe what they find (SIGSEGV, or a loop without an end); take() that aborts; seg_is_there() that looks at the name only (SIGBUS after a truncation, at the first
 * lock of the new one); seg_close() that unlocks and unmaps what is lost.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core.h"

#define BYTES (2 * 1024 * 1024)
/* Of the values, from the beginning. */
#define LEAST 65536

static void must_be_closed(seg *s, const char *how)
{
	seg_numbers n;
	bool in_place;
	int64_t number;

	MUST(s->lost, "%s: it is not seen", how);
	MUST(!value_get(s, 1, &in_place), "%s: something is there", how);
	MUST(value_set(s, 1, 1, 100, 0, SEG_SET) != SEG_OK && value_set(s, 2, 1, 50000, 0, SEG_SET) != SEG_OK, "%s: it stores", how);
	MUST(!value_delete(s, 1) && seg_increment(s, 1, "n", 1, 1, KIND_INTEGER, &number) == SEG_CLOSED, "%s: it changes", how);
	MUST(!seg_has(s, hash_of("key 1", 5), "key 1", 5), "%s: something is there", how);
	seg_flush(s);
	seg_count(s, &n);
	MUST(seg_check(s), "%s: it is said to be sound", how);
	seg_leave(s);
}

/* Everything works in another of the same name, made by this process, which had the one that is lost. */
static void must_go_on(seg *lost, const char *how)
{
	bool in_place;

	seg *s = segment_open("lost", BYTES);
	MUST(s->file != lost->file && s->bytes == BYTES, "%s: it is the same", how);
	for (uint32_t i = 0; i < 200; i++) {
		MUST(value_set(s, i, 1, 300, 0, SEG_SET) == SEG_OK, "%s: no room", how);
		const seg_item *item = value_get(s, i, &in_place);
		MUST(item && in_place && value_check(item, i), "%s: not there", how);
	}
	must_be_sound(s, how);
	seg_close(lost);
	MUST(value_set(s, 1, 2, 300, 0, SEG_SET) == SEG_OK, "%s: no room", how);
	seg_close(s);
}

static seg *one_that_works(void)
{
	bool in_place;
	seg *s = segment_open("lost", BYTES);

	for (uint32_t i = 0; i < 50; i++) {
		MUST(value_set(s, i, 1, 500, 0, SEG_SET) == SEG_OK && value_get(s, i, &in_place), "no room");
	}
	seg_leave(s);
	MUST(seg_is_there(s), "it is not there");

	return s;
}

static void bad_locks(void)
{
	for (int which = 0; which < 3; which++) {
		seg *s = one_that_works();
		char key[24];
		uint32_t length = key_of(1, key);
		/* A kind of lock that there is not (pthread_mutex_lock(3): EINVAL). */
		pthread_mutex_t *lock = which == 0 ? &seg_shard_of(s, hash_of(key, length))->lock : which == 1 ? &s->header->units_lock : &s->shards[SEG_SHARDS - 1].lock;
		lock->__data.__kind = 0x7f;
		const char *how = which == 0 ? "a shard's lock" : which == 1 ? "the map's lock" : "the last shard's lock";
		for (uint32_t i = 0; i < 300 && !s->lost; i++) {
			value_set(s, i, 2, 60000, 0, SEG_SET);
		}
		must_be_closed(s, how);
		must_go_on(s, how);
	}
}

static void truncated(off_t left, const char *how)
{
	char path[512];
	seg *s = one_that_works();

	path_of("lost", path);
	MUST(chmod(path, 0600) == 0 && truncate(path, left) == 0, "it cannot be truncated");
	MUST(!seg_is_there(s), "%s: it is there", how);
	must_be_closed(s, how);
	must_go_on(s, how);
}

/* As others do: renamed over it, so that the name says nothing of what is mapped. */
static void truncated_and_replaced(void)
{
	char path[512], other[520];
	seg *s = one_that_works();

	path_of("lost", path);
	MUST(chmod(path, 0600) == 0 && truncate(path, 0) == 0, "it cannot be truncated");
	snprintf(other, sizeof other, "%s.other", path);
	MUST(rename(path, other) == 0, "it cannot be renamed");
	MUST(!seg_is_there(s), "it is there");
	must_be_closed(s, "truncated and replaced");
	must_go_on(s, "truncated and replaced");
	unlink(other);
}

static void written_over(void)
{
	char path[512], noise[4096];
	dice d = {12345};

	for (int times = 0; times < 3; times++) {
		seg *s = one_that_works();
		path_of("lost", path);
		MUST(chmod(path, 0600) == 0, "no right");
		FILE *file = fopen(path, "r+");
		for (uint64_t at = 0; at < BYTES; at += sizeof noise) {
			for (size_t i = 0; i < sizeof noise; i++) {
				noise[i] = (char) roll(&d);
			}
			fwrite(noise, sizeof noise, 1, file);
		}
		fclose(file);
		MUST(!seg_is_there(s), "it is there");
		must_be_closed(s, "written over");
		must_go_on(s, "written over");
	}
}

/* By another program, between two requests: seen before anything in it is looked at. */
static void punched(int which, const char *how)
{
	char path[512];
	seg *s = one_that_works();
	uint64_t begins[] = {0, s->header->slots, s->header->shards, s->header->buckets, s->header->units, s->header->values, s->header->values + LEAST - 4096};

	path_of("lost", path);
	MUST(chmod(path, 0600) == 0, "no right");
	int fd = open(path, O_RDWR);
	MUST(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) begins[which], 4096) == 0, "it cannot be punched");
	close(fd);
	MUST(!seg_is_there(s), "%s: it is there", how);
	must_be_closed(s, how);
	must_go_on(s, how);
}

/* The same, and somebody has looked into the hole, which is filled by that: whoever writes sees what is wrong, and nobody dies. */
static void zeroed(int which, uint64_t bytes, const char *how)
{
	seg *s = one_that_works();
	seg_header *h = s->header;
	uint64_t begins[] = {h->shards, h->buckets, h->units, h->values, h->values + 16 * 1024};
	uint64_t ends[] = {h->buckets, h->units, h->values, h->bytes, h->bytes};
	dice d = {(uint64_t) which + 77};
	bool in_place;

	/* Full, so that there is something to evict. */
	for (uint32_t i = 0; i < 4000; i++) {
		value_set(s, i, 1, 100 + roll(&d) % 3000, 0, SEG_SET);
	}
	uint64_t room = ends[which] - begins[which];
	memset(s->rw + begins[which], 0, bytes < room ? bytes : room);
	for (uint32_t i = 0; i < 60000 && !s->lost; i++) {
		/* Values themselves may be zeros: they are looked up, and not looked at. */
		value_get(s, roll(&d) % 6000, &in_place);
		value_set(s, roll(&d) % 6000, 1, 100 + roll(&d) % (i % 50 ? 3000 : 60000), 0, SEG_SET);
		seg_leave(s);
	}
	must_be_closed(s, how);
	must_go_on(s, how);
}

int test_lost(void)
{
	bad_locks();
	truncated(0, "truncated to nothing");
	truncated(BYTES / 2, "truncated to a half");
	truncated_and_replaced();
	written_over();
	punched(0, "a hole in the header");
	punched(1, "a hole in the slots");
	punched(2, "a hole in the shards");
	punched(3, "a hole in the index");
	punched(4, "a hole in the map");
	punched(5, "a hole in the values");
	punched(6, "a hole at the end of what has memory");
	for (uint64_t bytes = 4096; bytes <= 64 * 1024; bytes *= 4) {
		zeroed(0, bytes, "zeros in the shards");
		zeroed(1, bytes, "zeros in the index");
		zeroed(2, bytes, "zeros in the map");
		zeroed(3, bytes, "zeros in the values");
		zeroed(4, bytes, "zeros further behind");
	}
	segment_remove("lost");

	return 0;
}
