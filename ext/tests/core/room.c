/*
 * How much room there is: for small values memory is full before the index is, what is said to be used is used, and no
 * value takes much more than it has bytes. And keys cannot be chosen to hash alike.
 *
 * Seen to fail: a bucket a KiB (the first eviction with a sixth of memory free); bytes of items in the place of blocks;
 * runs of whole KiB above 1.5 KiB (2,048 bytes for one of 1,520); a secret of constants.
 */
#include "core.h"

#define BYTES (16 * 1024 * 1024)
#define OF_A_THOUSAND 2

static uint64_t evicted(const seg *s)
{
	uint64_t n = 0;

	for (int shard = 0; shard < SEG_SHARDS; shard++) {
		n += atomic_load(&s->shards[shard].evictions);
	}

	return n;
}

/* Until so many of a thousand have been evicted: what is free then, and what is said to be used, in thousandths. */
static uint64_t free_when_full(seg *s, uint32_t value_bytes, uint64_t *used)
{
	seg_numbers n;
	uint64_t before, least = s->header->free_units;

	seg_flush(s);
	before = evicted(s);
	for (uint32_t i = 0; i < 1000 || (evicted(s) - before) * 1000 <= (uint64_t) i * OF_A_THOUSAND; i++) {
		char key[24];
		uint32_t length = key_of(i, key);
		seg_item *item;
		least = s->header->free_units;
		MUST(seg_reserve(s, seg_hash(s, key, length), key, length, value_bytes, &item) == SEG_OK, "no room");
		item->kind = KIND_INTEGER;
		MUST(seg_publish(s, item, SEG_SET) == SEG_OK, "not stored");
	}
	seg_count(s, &n);
	*used = n.bytes_used * 1000 / (s->header->n_units * SEG_UNIT);

	return least * 1000 / s->header->n_units;
}

static void small_values(void)
{
	seg *s = segment_open("room", BYTES);

	for (uint32_t bytes = 0; bytes < 200; bytes += 24) {
		uint64_t used, left = free_when_full(s, bytes, &used);
		printf("values of %3u bytes: %llu.%llu %% free and %llu.%llu %% used when two of a thousand are evicted\n", bytes,
			(unsigned long long) left / 10, (unsigned long long) left % 10, (unsigned long long) used / 10, (unsigned long long) used % 10);
		MUST(left <= 10, "the index is full before memory");
		MUST(used >= 950, "more is used than is said");
	}
	must_be_sound(s, "when full");
	seg_close(s);
	segment_remove("room");
}

static void just_above(void)
{
	seg *s = segment_open("room", BYTES);
	seg_numbers n;

	for (uint32_t bytes = 1104; bytes < 4000; bytes += 8) {
		seg_flush(s);
		MUST(value_set(s, 1, 1, bytes, 0, SEG_SET) == SEG_OK, "no room");
		seg_count(s, &n);
		uint64_t whole = bytes + seg_item_head(5);
		MUST(n.bytes_used >= whole && n.bytes_used * 3 <= whole * 4, "a value of %u bytes takes %llu", bytes, (unsigned long long) n.bytes_used);
	}
	seg_close(s);
	segment_remove("room");
}

/* Every bit of the hash depends on every byte of the key, on its length, and on the segment. */
static void hashes(void)
{
	seg *one = segment_open("room", BYTES), *other = segment_open("room-2", BYTES);
	char key[80] = {0};

	for (uint32_t length = 0; length <= 70; length++) {
		MUST(seg_hash(one, key, length) != seg_hash(other, key, length), "two segments hash alike");
		MUST(seg_hash(one, key, length) != seg_hash(one, key, length + 1), "the length does not count");
		for (uint32_t at = 0; at < length; at++) {
			uint64_t changed = 0;
			for (int value = 1; value < 256; value++) {
				uint64_t before = seg_hash(one, key, length);
				key[at] = (char) value;
				changed |= before ^ seg_hash(one, key, length);
				MUST(before != seg_hash(one, key, length), "byte %u of %u does not count", at, length);
				key[at] = 0;
			}
			MUST(changed == UINT64_MAX, "byte %u of %u changes %llx only", at, length, (unsigned long long) changed);
		}
	}
	seg_close(one);
	seg_close(other);
	segment_remove("room");
	segment_remove("room-2");
}

int test_room(void)
{
	small_values();
	just_above();
	hashes();

	return 0;
}
