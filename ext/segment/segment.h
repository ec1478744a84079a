/*
 * The segment, without the engine: blobs under keys in a file that processes share.
 *
 * This folder is plain C11 and POSIX: no PHP in it, so that it can be tested, fuzzed and checked by itself. Who calls:
 * ../larder_segment.c, which puts the engine's values into the blobs.
 *
 *   mapping.c   the file: made, checked, attached        pins.c      who reads what, and when memory is free
 *   locks.c     robust locks, and what a death means     index.c     keys to items, SIEVE, publishing
 *   slabs.c     blocks and runs of memory                recovery.c  everything anew from the index
 *   points.c    where tests end a process (not in a build for use)
 *
 * Lock order: shards from low to high, then units_lock. Slots' life locks are only tried, never waited for.
 * Nothing in here calls the engine, allocates by malloc after seg_open(), or can jump out of a lock.
 */
#ifndef LARDER_SEGMENT_H
#define LARDER_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "item.h"
#include "points.h"

typedef struct seg {
	char *rw;                          /* the file, to be written */
	const char *ro;                    /* the file at header.base, to be read in place; NULL: that address is taken */
	const char *view;                  /* by which items are read: ro, or else rw */
	seg_header *header;
	seg_slot *slots;
	_Atomic uint64_t *pins;
	seg_shard *shards;
	seg_bucket *buckets;
	uint64_t n_buckets, base_buckets;  /* of a shard, at most and at least */
	const _Atomic uint64_t *index;     /* how many each has */
	uint64_t secret[4];
	uint64_t *units;
	uint64_t bytes, check;             /* as the header said when it was opened */
	const char *lost;                  /* why it is closed for good to this handle; NULL: it is not (seg_lose()) */
	struct seg_file *file;             /* what the threads of a process have together (mapping.c) */
	bool is_revived;                   /* its last process was killed, perhaps by what is in it (recovery.c) */
	bool is_said;                      /* its user has said that it is lost */
	int fd;
	char *path;                        /* of the file that was opened, which may be one beside that which was named */
	int slot;                          /* ours; -1: none is free, so nothing is read in place */
	bool holding;                      /* the lock of the shard in which something has been reserved */
	int writing;                       /* the slot in which it says what it is writing: ours, or the common one */
	int pid;                           /* that took it */
	pthread_t thread;
	int handover[2];                   /* a pipe, between fork(2) and what the child does first */
	_Atomic uint64_t *row;             /* our slot's pins, and which words of it may have any */
	uint64_t first_word, last_word;
	uint64_t passing, passing_last;    /* pages that are held only as long as something is copied out of them; SEG_NONE */
	uint64_t hits, misses, copied;     /* since the last seg_leave() */
	uint32_t sets;                     /* values for which room was looked for, by this process */
	uint64_t group_room;               /* of seg_group_room(), less what was taken since; */
	int64_t group_until;               /* looked at again from then on, by seg_clock() */
} seg;

typedef enum {
	SEG_OK,
	SEG_NOT_FOUND,
	SEG_EXISTS,
	SEG_FULL,                          /* no room even after evicting: readers hold what is retired, or it is too large */
	SEG_NO_INTEGER,
	SEG_OVERFLOW,
	SEG_CHANGED,                       /* what guards it has been raised, or is gone */
	SEG_CLOSED                         /* what lies below is no segment any more (seg.lost) */
} seg_status;

typedef enum { SEG_SET, SEG_ADD, SEG_REPLACE } seg_mode;

#define SEG_NONE UINT64_MAX

/* mapping.c. NULL and a sentence in why, when it cannot be opened. */
seg *seg_open(const char *path, uint64_t bytes, const char *identity, char *why, size_t room);
void seg_close(seg *segment);
bool seg_is_there(seg *segment);
void seg_lose(seg *segment, const char *why);
/* Bytes that a segment, and all of a file system, may take at most: set before one is opened. */
typedef struct {
	uint64_t segment, total;
} seg_limits;
extern seg_limits seg_most;
/* So begins the sentence in why where the file has something else in it, or where only these limits are the reason. */
#define SEG_SOMETHING_ELSE "!"
#define SEG_NO_ROOM        "#"
extern int64_t seg_clock_ahead;        /* milliseconds by which our monotonic clock is ahead of the machine's */

/* pins.c: reading. An item that seg_find() gave in place is there until seg_leave(), whatever others do. */
const seg_item *seg_find(seg *segment, uint64_t hash, const char *key, uint32_t length, bool *in_place);
bool seg_has(seg *segment, uint64_t hash, const char *key, uint32_t length);
bool seg_peek(seg *segment, uint64_t hash, const char *key, uint32_t length, uint16_t integer, int64_t *number);
uint64_t seg_find_copy(seg *segment, uint64_t hash, const char *key, uint32_t length, seg_item *copy, uint64_t room, seg_offset *offset);
void seg_leave(seg *segment);
void seg_copied(seg *segment);
void seg_enter(seg *segment);
void seg_before_fork(seg *segment);
void seg_after_fork_parent(seg *segment);
void seg_after_fork_child(seg *segment);

/* index.c: writing. seg_reserve() gives a block that no other process sees; it is filled, then published or given up. */
seg_status seg_reserve(seg *segment, uint64_t hash, const char *key, uint32_t length, uint64_t value_bytes, seg_item **item);
/* The same, but of a small block the shard's lock is kept until seg_publish(): nothing else may be called between. */
seg_status seg_reserve_held(seg *segment, uint64_t hash, const char *key, uint32_t length, uint64_t value_bytes, seg_item **item);
seg_status seg_publish(seg *segment, seg_item *item, seg_mode mode);
void seg_give_up(seg *segment, seg_item *item);
seg_status seg_delete(seg *segment, uint64_t hash, const char *key, uint32_t length);
seg_status seg_increment(seg *segment, uint64_t hash, const char *key, uint32_t length, int64_t by, uint16_t integer, int64_t *result);
void seg_flush(seg *segment);
void seg_give_back(seg *segment);

/* What a copy of something that is elsewhere must meet to be stored (index.c). */
typedef struct {
	uint64_t position;                 /* what is there with a later one stays */
	const char *guard;                 /* key of an integer, which must be there and not be above `at` */
	uint64_t guard_hash;
	uint32_t guard_length;             /* 0: there is none */
	uint16_t integer;                  /* its kind */
	int64_t at;
} seg_terms;
bool seg_allowed(seg *segment, const seg_terms *terms);
seg_status seg_fill(seg *segment, seg_item *item, const seg_terms *terms);
seg_status seg_raise(seg *segment, uint64_t hash, const char *key, uint32_t length, int64_t to, uint16_t integer);
seg_status seg_drop(seg *segment, uint64_t hash, const char *key, uint32_t length, uint64_t position);

typedef struct {
	uint64_t entries, bytes_used, bytes_taken, bytes_total, retired_bytes, hits, misses, copied, sets, evictions, expired, refused, recoveries, readers, damaged;
	int64_t damaged_at;
} seg_numbers;
void seg_count(seg *segment, seg_numbers *numbers);

/* recovery.c: NULL, or what is wrong. Takes every lock. */
const char *seg_check(seg *segment);

uint64_t seg_hash(const seg *segment, const char *key, uint32_t length);

/* ---- between the files of this folder ---- */

#define LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

static inline seg_item *seg_at(const seg *segment, seg_offset offset)
{
	return (seg_item *) (segment->rw + offset);
}

static inline seg_offset seg_of(const seg *segment, const void *pointer)
{
	return (seg_offset) ((const char *) pointer - segment->rw);
}

static inline uint32_t seg_shard_number(uint64_t hash)
{
	return (uint32_t) (hash >> 40) % SEG_SHARDS;
}

static inline seg_shard *seg_shard_of(const seg *segment, uint64_t hash)
{
	return &segment->shards[seg_shard_number(hash)];
}

/* Milliseconds by a clock that cannot be set, the same in all containers; the segment does not outlive the machine's start (mapping.c). */
static inline int64_t seg_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);

	return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000 - seg_clock_ahead;
}

/* Only what has an end asks the clock. */
static inline bool seg_is_over(const seg_item *item)
{
	return item->expires && item->expires <= seg_clock();
}

/* Of the hash's upper bits; 0 means an empty place. */
static inline uint8_t seg_tag(uint64_t hash)
{
	uint8_t tag = (uint8_t) (hash >> 56);

	return tag ? tag : 1;
}

/*
 * How large a shard's index is: below, the number of its buckets; above, the bits of a hash that tell a row.
 *
 * It is a table of base_buckets columns, and grows by one bucket at a time (linear hashing, Litwin, 1980): the next one,
 * at column x of row y + half, takes from the one at x of row y what has the bit more. Rows that are not there yet are
 * found half way up.
 */
static inline uint64_t seg_index_size(const seg *segment, uint32_t shard)
{
	return atomic_load_explicit(&segment->index[shard], memory_order_acquire);
}

static inline uint64_t seg_size_of(uint64_t buckets, uint64_t rows)
{
	return buckets | rows << 32;
}

static inline uint64_t seg_size_buckets(uint64_t size)
{
	return (uint32_t) size;
}

static inline uint64_t seg_size_rows(uint64_t size)
{
	return size >> 32;
}

/* One of the two buckets in which a key may lie: of two columns, so that they are never the same, however large the index is. */
static inline seg_bucket *seg_bucket_of(const seg *segment, uint64_t size, uint64_t hash, bool is_second)
{
	uint64_t base = segment->base_buckets, rows = seg_size_rows(size), column = ((hash & 0xffffffff) * base) >> 32;
	seg_bucket *first = segment->buckets + seg_shard_number(hash) * segment->n_buckets;

	if (is_second) {
		hash = (hash * UINT64_C(0xd6e8feb86659fd93)) >> 32;
		column += 1 + ((hash * (base - 1)) >> 32);
		column = column < base ? column : column - base;
	}
	uint64_t at = column + base * (hash & rows);

	return first + (LIKELY(at < seg_size_buckets(size)) ? at : column + base * (hash & rows >> 1));
}

/*
 * What the index says of an item: its offset, and above it how many pages it goes on after the one in which it begins.
 * Both by one load, so that a reader knows which pages to hold before it has looked at the item (pins.c).
 */
#define SEG_OFFSET_BITS 44

static inline seg_offset seg_entry_offset(uint64_t entry)
{
	return entry & ((UINT64_C(1) << SEG_OFFSET_BITS) - 1);
}

static inline uint64_t seg_entry_of(seg_offset offset, uint64_t bytes)
{
	return offset | ((offset + bytes - 1) / SEG_PAGE - offset / SEG_PAGE) << SEG_OFFSET_BITS;
}

/* mapping.c */
bool seg_get_memory(seg *segment, seg_offset from, uint64_t bytes);
bool seg_may_grow(seg *segment, uint64_t bytes);
void seg_drop_memory(seg *segment, seg_offset from, uint64_t bytes);
void seg_count_memory(seg *segment);
bool seg_is_alone(const seg *segment);
void seg_forget_address(seg *segment);
bool seg_has_address(const seg *segment);

/* group.c */
uint64_t seg_group_room(void);

/* locks.c */
void seg_make_lock(pthread_mutex_t *lock);
bool seg_lock(seg *segment, seg_shard *shard);
void seg_unlock(seg_shard *shard);
bool seg_lock_units(seg *segment);
void seg_unlock_units(seg *segment);
bool seg_is_broken(const seg *segment);
bool seg_lock_shards(seg *segment);
void seg_unlock_shards(seg *segment);
bool seg_lock_all(seg *segment);
void seg_unlock_all(seg *segment);

/* slabs.c: under the shard's lock */
void seg_make_classes(void);
void seg_units_init(seg *segment);
seg_offset seg_alloc(seg *segment, seg_shard *shard, uint64_t bytes, uint32_t *home);
void seg_free(seg *segment, seg_shard *shard, seg_item *item);
int seg_class(uint64_t bytes);
uint64_t seg_block_bytes(const seg_item *item);
void seg_drop_chunks(seg *segment);
bool seg_clear_a_slab(seg *segment, seg_shard *shard);
bool seg_clear_stretch(seg *segment, uint64_t bytes, bool give_back);
bool seg_owned(seg *segment, seg_shard *shard, seg_offset offset);
void seg_settle_begin(seg *segment, bool broken);
bool seg_settle_item(seg *segment, seg_shard *shard, seg_item *item);
const char *seg_check_memory(seg *segment, uint64_t items);
bool seg_settle_end(seg *segment, bool (*owned)(seg *, const seg_item *));

/* pins.c */
void seg_take_slot(seg *segment);
bool seg_drop_slot(seg *segment);
bool seg_borrow_slot(seg *segment);
void seg_return_slot(seg *segment);
bool seg_bury(seg *segment, seg_slot *slot);
void seg_bury_the_dead(seg *segment);
bool seg_is_pinned(seg *segment, uint64_t page);
bool seg_is_anybody_inside(seg *segment);
bool seg_is_held(seg *segment, const seg_item *item);
void seg_retire(seg *segment, seg_shard *shard, seg_item *item);
bool seg_reclaim(seg *segment, seg_shard *shard, uint64_t most);
void seg_reclaim_some(seg *segment, seg_shard *shard);

/* index.c */
seg_item *seg_in_shard(seg *segment, uint64_t hash, const char *key, uint32_t length, seg_bucket **bucket, int *way);
bool seg_evict(seg *segment, seg_shard *shard);
bool seg_sweep(seg *segment, seg_shard *shard, uint64_t most);
void seg_evict_item(seg *segment, seg_shard *shard, seg_item *item);
void seg_forget_visit(seg *segment, const seg_item *item);
void seg_queue_add(seg *segment, seg_shard *shard, seg_item *item);
_Atomic uint64_t *seg_entry(seg *segment, const seg_item *item);

/* recovery.c */
void seg_repair(seg *segment);
void seg_settle(seg *segment, bool now);

#endif
