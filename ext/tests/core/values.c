/* Values that check themselves, and a segment for each test. */
#include <stdarg.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "core.h"

const char *directory;

void fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "[%d] ", (int) getpid());
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	fflush(NULL);
	_exit(1);
}

void path_of(const char *name, char path[512])
{
	snprintf(path, 512, "%s/%s", directory, name);
}

seg *segment_open(const char *name, uint64_t bytes)
{
	char path[512], why[1024];
	seg *segment;

	path_of(name, path);
	segment = seg_open(path, bytes, "a test of the core", why, sizeof why);
	MUST(segment, "%s cannot be opened: %s", path, why);

	return segment;
}

void segment_remove(const char *name)
{
	static const char *const endings[] = {"", ".lock", ".part"};
	char path[512], one[520];

	path_of(name, path);
	for (size_t i = 0; i < COUNT(endings); i++) {
		snprintf(one, sizeof one, "%s%s", path, endings[i]);
		unlink(one);
	}
}

void must_be_sound(seg *segment, const char *when)
{
	const char *wrong = seg_check(segment);

	MUST(!wrong, "%s: %s", when, wrong);
}

void *shared_memory(size_t bytes)
{
	void *there = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	MUST(there != MAP_FAILED, "no shared memory");

	return there;
}

pid_t fork_child(void)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	MUST(pid >= 0, "no process");
	if (pid == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)) {
		_exit(1);
	}

	return pid;
}

uint64_t roll(dice *d)
{
	d->state ^= d->state << 13;
	d->state ^= d->state >> 7;
	d->state ^= d->state << 17;

	return d->state;
}

uint32_t any(dice *d, uint32_t below)
{
	return (uint32_t) ((roll(d) >> 32) * below >> 32);
}

uint32_t key_of(uint32_t number, char key[24])
{
	return (uint32_t) snprintf(key, 24, "key %u", number);
}

uint64_t hash_of(const char *key, uint32_t length)
{
	uint64_t hash = 5381;

	for (uint32_t i = 0; i < length; i++) {
		hash = hash * 33 + (unsigned char) key[i];
	}

	return mix(hash);
}

/* What its words must be, but for the first. */
static uint64_t word_at(uint32_t number, uint32_t version, uint32_t i)
{
	return mix((uint64_t) number << 32 ^ (uint64_t) version << 12 ^ i) | 1;
}

typedef seg_status reserving(seg *segment, uint64_t hash, const char *key, uint32_t length, uint64_t value_bytes, seg_item **item);

static seg_item *reserve(seg *segment, uint32_t number, uint32_t version, uint32_t length, reserving *how)
{
	char key[24];
	uint32_t key_length = key_of(number, key);
	seg_item *item;

	length = length < 16 ? 16 : length & ~7u;
	if (how(segment, hash_of(key, key_length), key, key_length, length, &item) != SEG_OK) {
		return NULL;
	}
	uint64_t *words = (uint64_t *) ((char *) item + seg_item_head(key_length));
	words[0] = (uint64_t) version << 32 | length;
	for (uint32_t i = 1; i < length / 8; i++) {
		words[i] = word_at(number, version, i);
	}
	item->kind = KIND_VALUE;

	return item;
}

seg_item *value_reserve(seg *segment, uint32_t number, uint32_t version, uint32_t length)
{
	return reserve(segment, number, version, length, seg_reserve);
}

/* In both ways. */
seg_status value_set(seg *segment, uint32_t number, uint32_t version, uint32_t length, int64_t expires, seg_mode mode)
{
	seg_item *item = reserve(segment, number, version, length, number & 1 ? seg_reserve_held : seg_reserve);

	if (!item) {
		return SEG_FULL;
	}
	item->expires = expires;

	return seg_publish(segment, item, mode);
}

uint32_t value_check(const seg_item *item, uint32_t number)
{
	char key[24];
	uint32_t key_length = key_of(number, key);
	const uint64_t *words = (const uint64_t *) ((const char *) item + seg_item_head(key_length));
	uint32_t version = (uint32_t) (words[0] >> 32), length = (uint32_t) words[0];

	if (item->key_length != key_length || memcmp(item->key, key, key_length) != 0 || item->kind != KIND_VALUE
		|| seg_item_head(key_length) + length != seg_item_bytes(item)) {
		return 0;
	}
	for (uint32_t i = 1; i < length / 8; i++) {
		if (words[i] != word_at(number, version, i)) {
			return 0;
		}
	}

	return version;
}

const seg_item *value_get(seg *segment, uint32_t number, bool *in_place)
{
	char key[24];
	uint32_t key_length = key_of(number, key);
	uint64_t hash = hash_of(key, key_length);
	seg_offset where;

	if (segment->slot < 0) {
		*in_place = false;
		seg_item *copy = NULL;
		uint64_t bytes, room = 0;
		while ((bytes = seg_find_copy(segment, hash, key, key_length, copy, room, &where)) > room) {
			copy = realloc(copy, bytes);
			room = bytes;
		}
		if (!bytes) {
			free(copy);
		}
		return bytes ? copy : NULL;
	}
	const seg_item *item = seg_find(segment, hash, key, key_length, in_place);
	if (item && !*in_place) {
		seg_item *copy = calloc(1, seg_item_bytes(item));
		/* What a reader may look at: neighbours and state are the writers', under their lock. */
		copy->size = item->size;
		copy->key_length = item->key_length;
		copy->kind = item->kind;
		memcpy(copy->key, item->key, seg_item_bytes(item) - offsetof(seg_item, key));
		seg_copied(segment);
		return copy;
	}

	return item;
}

bool value_delete(seg *segment, uint32_t number)
{
	char key[24];
	uint32_t key_length = key_of(number, key);

	return seg_delete(segment, hash_of(key, key_length), key, key_length) == SEG_OK;
}

unsigned how_many_fit(seg *segment, uint32_t length)
{
	seg_numbers before, now;
	unsigned fit = 0;

	/* As if the second had passed for which what is left over is not looked at again. */
	atomic_store(&segment->header->settle_at, 0);
	seg_count(segment, &before);
	for (;; fit++) {
		if (value_set(segment, 1000000 + fit, 1, length, 0, SEG_SET) != SEG_OK) {
			return fit;
		}
		seg_count(segment, &now);
		if (now.evictions != before.evictions) {
			return fit;
		}
	}
}
