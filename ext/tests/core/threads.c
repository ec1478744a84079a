/*
 * Threads that write and read in place, each with a handle of its own, as a PHP with threads has them.
 *
 * For ThreadSanitizer, which sees one process only, and only by addresses: so readers look at the mapping that writers
 * write to. Everything must be ordered by locks or by the bits of the pages.
 *
 * Seen to fail: no second look at the entry in seek(); seg_is_held() never true (data races, both).
 */
#include <sys/mman.h>

#include "core.h"

#define BYTES (2 * 1024 * 1024)
#define KEYS 300
#define THREADS 6
#define READERS 3
#define STEPS 4000

/* It does not allow the address at which values are mapped (-Wl,--wrap=mmap). */
void *__real_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
#ifdef __SANITIZE_THREAD__
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return address ? MAP_FAILED : __real_mmap(address, bytes, protection, flags, fd, offset);
}
#endif

static void *run(void *with)
{
	int number = (int) (intptr_t) with;
	seg *s = segment_open("threads", BYTES);
	dice d = {(uint64_t) number * 7919 + 1};
	const seg_item *held[8];
	uint32_t keys[8], versions[8];
	int64_t now;

	s->ro = s->view = s->rw;
	for (uint32_t i = 0; i < STEPS; i++) {
		uint32_t key = any(&d, KEYS), what = any(&d, 100);
		if (number < READERS) {
			unsigned n = 0;
			for (unsigned j = 0; j < 8; j++) {
				bool in_place;
				keys[n] = any(&d, KEYS);
				held[n] = value_get(s, keys[n], &in_place);
				if (!held[n]) {
					continue;
				}
				versions[n] = value_check(held[n], keys[n]);
				MUST(versions[n], "a value is damaged");
				if (in_place) {
					n++;
				} else {
					free((void *) held[n]);
				}
			}
			for (unsigned j = 0; j < n; j++) {
				MUST(value_check(held[j], keys[j]) == versions[j], "a value was overwritten under its reader");
			}
			seg_leave(s);
		} else if (what < 75) {
			value_set(s, key, 1 + i, what < 72 ? any(&d, 3000) : any(&d, 60000), any(&d, 4) ? 0 : seg_clock() + any(&d, 20), SEG_SET);
		} else if (what < 85) {
			value_delete(s, key);
		} else if (what < 95) {
			seg_increment(s, hash_of("n", 1), "n", 1, 1, KIND_INTEGER, &now);
		} else if (what < 99) {
			seg_numbers n;
			seg_count(s, &n);
		} else {
			must_be_sound(s, "among threads");
		}
	}
	seg_close(s);

	return NULL;
}

int test_threads(void)
{
	pthread_t threads[THREADS];

	seg *s = segment_open("threads", BYTES);
	for (int i = 0; i < THREADS; i++) {
		MUST(pthread_create(&threads[i], NULL, run, (void *) (intptr_t) i) == 0, "no thread");
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
	}
	seg_flush(s);
	must_be_sound(s, "after threads");
	MUST(s->header->free_units == s->header->given_units, "memory did not come back");
	seg_close(s);
	segment_remove("threads");

	return 0;
}
