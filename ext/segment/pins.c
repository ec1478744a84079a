/*
 * Who reads what in place, and when memory is free.
 *
 * Each process has a slot, and with it a row of bits, one for each page (16 KiB) of the file:
 *
 *     values   | page 0 | page 1 | page 2 | page 3 | …
 *     slot 0       0        1        1        0           it may hold values that lie in pages 1 and 2
 *     slot 1       0        0        1        0
 *
 * Before a request takes a value in place it sets the bits of all pages on which the value lies, and it clears all of
 * its bits when it ends. What is taken from the index is freed when no process has the bits of all of its pages. So a
 * process that sleeps for hours holds the pages that it has read and nothing else ("hazard pointers", Michael, 2004,
 * for pages in place of pointers).
 *
 * Reading takes no lock, and writes nothing but, once a request and page, its own bit. Its safety is the order of two
 * stores and two loads, all sequentially consistent:
 *
 *     reader   set the bits;             then look in the index: only what is found now is taken
 *     writer   take it from the index;   then look at the bits
 *
 * Either the reader no longer finds the item, or the writer sees the bits. A value that is found where a bit was not
 * set yet is therefore looked up a second time. Which pages these are the index itself says, in the entry that names
 * the item (seg_entry_of()): what lies where an entry pointed a moment ago may be another's, half written, by now.
 *
 * After a repair (recovery.c) the bits are all that is known of values that were retired, which is why they cover
 * the whole of each.
 *
 * A request that holds more than its share (an eighth of all) copies what it reads from then on: the bit is set for as
 * long as copying takes. So no reader keeps more than that from the others, however long it lives.
 *
 * A slot belongs to whoever holds its robust mutex, which the kernel gives up for the dead: neither process ids nor
 * time-outs decide who is alive.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "segment.h"

#define SHARE(segment) ((segment)->header->n_units * SEG_UNIT / 8)

/* From first to last; nothing if last is before first. */
typedef struct {
	uint64_t first, last;
} pages;

static inline pages pages_of(uint64_t entry)
{
	uint64_t first = seg_entry_offset(entry) / SEG_PAGE;

	return (pages) {first, first + (entry >> SEG_OFFSET_BITS)};
}

/* The bits of these pages that are in the word in which page lies. */
static inline uint64_t mask_of(pages p, uint64_t page)
{
	uint64_t from = p.first > (page & ~UINT64_C(63)) ? p.first & 63 : 0, to = p.last < (page | 63) ? p.last & 63 : 63;

	return ~UINT64_C(0) << from & ~UINT64_C(0) >> (63 - to);
}

static inline _Atomic uint64_t *row_of(const seg *segment, uint32_t slot)
{
	return segment->pins + slot * segment->header->n_words;
}

/* ---- slots ---- */

static void clear_row(seg *segment, uint32_t slot)
{
	_Atomic uint64_t *row = row_of(segment, slot);

	for (uint64_t i = 0; i < segment->header->n_words; i++) {
		if (atomic_load_explicit(&row[i], memory_order_relaxed)) {
			atomic_store_explicit(&row[i], 0, memory_order_release);
			SEG_POINT("bury-word");
		}
	}
	atomic_store(&segment->slots[slot].pinned, 0);
}

/*
 * Of one whose owner is dead, while we hold its lock: it reads nothing, and what it was writing nobody will see.
 * False: it has forked, and the child, which reads the same, has no slot yet.
 */
bool seg_bury(seg *segment, seg_slot *slot)
{
	if (atomic_load(&slot->forking)) {
		return false;
	}
	if (atomic_load(&slot->pinned)) {
		clear_row(segment, (uint32_t) (slot - segment->slots));
	}
	SEG_POINT("bury-row");
	atomic_store(&slot->taken, 0);
	if (atomic_load(&slot->filling)) {
		/* Its shard's slabs are not ours to change here: the next settling finds the block unowned. */
		SEG_POINT("bury-filling");
		atomic_fetch_add(&segment->header->orphans, 1);
		SEG_POINT("bury-counted");
		atomic_store(&slot->filling, 0);
	}
	SEG_POINT("buried");

	return true;
}

/* Buries the slot's owner if it is dead. Whether the slot is in use. */
static bool is_alive(seg *segment, uint32_t number)
{
	seg_slot *slot = &segment->slots[number];

	if ((int) number == segment->slot) {
		return true;
	}
	int error = pthread_mutex_trylock(&slot->life);
	if (error == EBUSY) {
		return true;
	}
	if (error == 0 || error == EOWNERDEAD) {
		/* Also of one that was seen to be dead before, while its child had no slot yet. */
		bool gone = seg_bury(segment, slot);
		if (error) {
			pthread_mutex_consistent(&slot->life);
		}
		pthread_mutex_unlock(&slot->life);
		return !gone;
	}

	/* Not to be told (an unrecoverable lock): what cannot be known to be free is not freed. */
	return true;
}

void seg_bury_the_dead(seg *segment)
{
	uint32_t used = atomic_load(&segment->header->used_slots);

	for (uint32_t i = 0; i < used; i++) {
		is_alive(segment, i);
	}
}

void seg_take_slot(seg *segment)
{
	seg_header *h = segment->header;

	segment->slot = -1;
	segment->pid = (int) getpid();
	segment->thread = pthread_self();
	/* The last is for those who have none. */
	for (uint32_t i = 0; i < h->n_slots - 1; i++) {
		seg_slot *slot = &segment->slots[i];
		int error = pthread_mutex_trylock(&slot->life);
		if (error != 0 && error != EOWNERDEAD) {
			continue;
		}
		bool gone = seg_bury(segment, slot);
		if (error) {
			pthread_mutex_consistent(&slot->life);
		}
		if (!gone) {
			pthread_mutex_unlock(&slot->life);
			continue;
		}
		SEG_POINT("take-slot");
		uint32_t used = atomic_load(&h->used_slots);
		while (used <= i && !atomic_compare_exchange_weak(&h->used_slots, &used, i + 1)) {
		}
		SEG_POINT("take-slot-used");
		atomic_store(&slot->taken, 1);
		SEG_POINT("slot-taken");
		segment->slot = segment->writing = (int) i;
		segment->row = row_of(segment, i);
		return;
	}
}

/*
 * Where there are more processes than slots, those without one write one after the other: each has the last slot as
 * long as it writes one value. It waits for that before it has any lock of a shard.
 */
void seg_borrow_slot(seg *segment)
{
	seg_header *h = segment->header;

	if (LIKELY(segment->slot >= 0)) {
		return;
	}
	seg_slot *slot = &segment->slots[h->n_slots - 1];
	if (pthread_mutex_lock(&slot->life) == EOWNERDEAD) {
		seg_bury(segment, slot);
		pthread_mutex_consistent(&slot->life);
	}
	SEG_POINT("slot-borrowed");
	atomic_store(&h->used_slots, h->n_slots);
	segment->writing = (int) h->n_slots - 1;
}

void seg_return_slot(seg *segment)
{
	if (UNLIKELY(segment->slot < 0)) {
		pthread_mutex_unlock(&segment->slots[segment->writing].life);
		SEG_POINT("slot-returned");
	}
}

/*
 * Whether the slot is ours: a lock belongs to a thread. Of another thread's, which may be alive or dead, nothing is
 * touched; the kernel gives it up.
 */
static bool is_ours(const seg *segment)
{
	return segment->slot >= 0 && segment->pid == (int) getpid() && pthread_equal(segment->thread, pthread_self());
}

bool seg_drop_slot(seg *segment)
{
	bool ours = is_ours(segment), had = segment->slot >= 0;

	if (ours) {
		seg_slot *slot = &segment->slots[segment->slot];
		/* With a child that has no slot yet (seg_before_fork()) the bits stay, and are cleared by whoever sees it later. */
		seg_leave(segment);
		SEG_POINT("drop-slot");
		atomic_store(&slot->taken, 0);
		pthread_mutex_unlock(&slot->life);
		SEG_POINT("slot-dropped");
	}
	segment->slot = -1;

	return ours || !had || segment->pid != (int) getpid();
}

/* A request begins, perhaps in another thread than that which opened. */
void seg_enter(seg *segment)
{
	if (UNLIKELY(segment->slot >= 0 && !is_ours(segment))) {
		seg_take_slot(segment);
	}
}

/* ---- writers: what may be freed ---- */

/* Whether a process that is alive has the bits of these two pages, which may be one. */
static bool are_pinned(seg *segment, uint64_t one, uint64_t other)
{
	uint32_t used = atomic_load(&segment->header->used_slots);

	for (uint32_t i = 0; i < used; i++) {
		_Atomic uint64_t *row = row_of(segment, i);
		if (atomic_load(&segment->slots[i].pinned)
			&& atomic_load(&row[one >> 6]) >> (one & 63) & 1 && atomic_load(&row[other >> 6]) >> (other & 63) & 1
			&& is_alive(segment, i)) {
			return true;
		}
	}

	return false;
}

bool seg_is_pinned(seg *segment, uint64_t page)
{
	return are_pinned(segment, page, page);
}

/*
 * Whether a process that is alive may hold the item. Who holds it has the bits of all its pages; two tell: where there
 * are three or more the second belongs to this item alone, so that others in its first page do not keep it.
 */
bool seg_is_held(seg *segment, const seg_item *item)
{
	pages p = pages_of(seg_entry_of(seg_of(segment, item), seg_item_bytes(item)));

	return are_pinned(segment, p.first, p.last - p.first > 1 ? p.first + 1 : p.last);
}

/* What has just been taken from the index: freed, or, where a reader may hold it, kept until none does. */
void seg_retire(seg *segment, seg_shard *shard, seg_item *item)
{
	SEG_POINT("retire");
	if (!seg_is_held(segment, item)) {
		seg_free(segment, shard, item);
		return;
	}
	item->state = SEG_RETIRED;
	item->newer = 0;
	SEG_POINT("retire-state");
	if (shard->retired.tail) {
		seg_at(segment, shard->retired.tail)->newer = seg_of(segment, item);
	} else {
		shard->retired.head = seg_of(segment, item);
	}
	SEG_POINT("retire-linked");
	shard->retired.tail = seg_of(segment, item);
	SEG_POINT("retire-tail");
	shard->retired.count++;
	shard->retired.bytes += seg_item_bytes(item);
	SEG_POINT("retired");
}

/* Frees what nobody holds any more; looks at so many of the retired, the oldest first. True if it freed anything. */
bool seg_reclaim(seg *segment, seg_shard *shard, uint64_t most)
{
	bool freed = false;
	seg_offset *link = &shard->retired.head, previous = 0;

	for (; *link && most; most--) {
		seg_item *item = seg_at(segment, *link);
		if (seg_is_held(segment, item)) {
			previous = *link;
			link = &item->newer;
			continue;
		}
		SEG_POINT("reclaim");
		*link = item->newer;
		SEG_POINT("reclaim-unlinked");
		if (!*link) {
			shard->retired.tail = previous;
		}
		SEG_POINT("reclaim-tail");
		shard->retired.count--;
		shard->retired.bytes -= seg_item_bytes(item);
		SEG_POINT("reclaim-counted");
		seg_free(segment, shard, item);
		SEG_POINT("reclaimed");
		freed = true;
	}
	/* Those that were looked at in vain go to the end, so that the next time others are. */
	if (previous && *link) {
		seg_at(segment, shard->retired.tail)->newer = shard->retired.head;
		SEG_POINT("reclaim-ring");
		shard->retired.head = *link;
		SEG_POINT("reclaim-head");
		shard->retired.tail = previous;
		seg_at(segment, previous)->newer = 0;
		SEG_POINT("reclaim-turned");
	}

	return freed;
}

/* ---- reading ---- */

static const seg_item *look(const seg *segment, uint64_t hash, const char *key, uint32_t length, seg_bucket **bucket, int *way, uint64_t *entry)
{
	seg_shard *shard = seg_shard_of(segment, hash);
	seg_bucket *pair[2];
	uint8_t tag = seg_tag(hash);

	seg_buckets_of(segment, shard, hash, pair);
	for (int i = 0; i < 2; i++) {
		seg_bucket *b = pair[i];
		for (int w = 0; w < SEG_WAYS; w++) {
			if (atomic_load_explicit(&b->tags[w], memory_order_relaxed) != tag) {
				continue;
			}
			uint64_t found = atomic_load(&b->entries[w]);
			if (!found) {
				continue;
			}
			/* Where no bit guards it this may be another's by now, half written: it is only compared, and looked up again. */
			const seg_item *item = (const seg_item *) (segment->view + seg_entry_offset(found));
			if (item->hash == hash && item->key_length == length
				&& seg_entry_offset(found) + sizeof(seg_item) + length < segment->bytes && memcmp(item->key, key, length) == 0) {
				*bucket = b;
				*way = w;
				*entry = found;
				return item;
			}
		}
	}

	return NULL;
}

/* Whether we have the bits of all of these pages. */
static inline bool have(const seg *segment, pages p)
{
	for (uint64_t page = p.first; page <= p.last; page = (page | 63) + 1) {
		uint64_t mask = mask_of(p, page);
		if ((atomic_load_explicit(&segment->row[page >> 6], memory_order_relaxed) & mask) != mask) {
			return false;
		}
	}

	return true;
}

/* Sets the bits of these pages; which of them are new. Only the first and the last can hold something else already. */
static pages pin(seg *segment, pages p)
{
	seg_slot *slot = &segment->slots[segment->slot];
	pages fresh = p;

	if (!atomic_load_explicit(&slot->pinned, memory_order_relaxed)) {
		/* Before the bits: writers look at it first. */
		atomic_store(&slot->pinned, 1);
		SEG_POINT("pin-first");
	}
	if (p.first >> 6 < segment->first_word) {
		segment->first_word = p.first >> 6;
	}
	if (p.last >> 6 > segment->last_word) {
		segment->last_word = p.last >> 6;
	}
	for (uint64_t page = p.first; page <= p.last; page = (page | 63) + 1) {
		uint64_t before = atomic_fetch_or(&segment->row[page >> 6], mask_of(p, page));
		SEG_POINT("pinned");
		if (page >> 6 == p.first >> 6) {
			fresh.first += before >> (p.first & 63) & 1;
		}
		if (page >> 6 == p.last >> 6) {
			fresh.last -= before >> (p.last & 63) & 1;
		}
	}

	return fresh;
}

static void unpin(seg *segment, pages p)
{
	for (uint64_t page = p.first; page <= p.last; page = (page | 63) + 1) {
		atomic_fetch_and_explicit(&segment->row[page >> 6], ~mask_of(p, page), memory_order_release);
	}
}

/*
 * The item, and whether it may be used in place until the request ends. If not it is to be copied, without calling
 * anything that might come here again, and then seg_copied() to be called. Not for a process without a slot.
 */
const seg_item *seg_find(seg *segment, uint64_t hash, const char *key, uint32_t length, bool *in_place)
{
	seg_bucket *bucket;
	const seg_item *item;
	uint64_t entry, guarded = 0;
	pages ours = {0, 0};
	int way;

	*in_place = false;
	while ((item = look(segment, hash, key, length, &bucket, &way, &entry))) {
		if (UNLIKELY(guarded)) {
			if (entry == guarded) {
				break;
			}
			/* It has moved meanwhile. */
			unpin(segment, ours);
			guarded = 0;
		}
		if (LIKELY(have(segment, pages_of(entry)))) {
			break;
		}
		/* Found before the bits were there: only what is found again now is safe. */
		ours = pin(segment, pages_of(entry));
		guarded = entry;
	}
	if (UNLIKELY(!item || seg_is_over(item))) {
		if (guarded) {
			unpin(segment, ours);
		}
		segment->misses++;
		return NULL;
	}
	if (!(atomic_load_explicit(&bucket->visited, memory_order_relaxed) >> way & 1)) {
		atomic_fetch_or_explicit(&bucket->visited, (uint8_t) (1 << way), memory_order_relaxed);
	}
	segment->hits++;
	if (UNLIKELY(guarded)) {
		uint64_t bytes = (ours.last + 1 - ours.first) * SEG_PAGE;
		_Atomic uint64_t *pinned = &segment->slots[segment->slot].pinned;
		if (!segment->ro || atomic_load_explicit(pinned, memory_order_relaxed) + bytes > SHARE(segment)) {
			segment->passing = ours.first;
			segment->passing_last = ours.last;
			return item;
		}
		atomic_fetch_add_explicit(pinned, bytes, memory_order_relaxed);
	}
	*in_place = segment->ro != NULL;

	return item;
}

/* What seg_find() gave to be copied has been copied. */
void seg_copied(seg *segment)
{
	if (segment->passing != SEG_NONE) {
		unpin(segment, (pages) {segment->passing, segment->passing_last});
		segment->passing = SEG_NONE;
	}
}

/* Without holding it: nothing of the item is given out. */
bool seg_has(seg *segment, uint64_t hash, const char *key, uint32_t length)
{
	seg_bucket *bucket;
	const seg_item *item;
	uint64_t entry;
	int way;

	while ((item = look(segment, hash, key, length, &bucket, &way, &entry))) {
		bool over = seg_is_over(item);
		/* What was read of it counts if it was still there afterwards. */
		if (atomic_load(&bucket->entries[way]) == entry) {
			return !over;
		}
	}

	return false;
}

/*
 * The number of an integer, without holding it, as seg_has(). False: there is none. Whoever takes it out and puts
 * another into the same block and under the same key while this looks may show a number that was neither's: not for keys
 * that come back.
 */
bool seg_peek(seg *segment, uint64_t hash, const char *key, uint32_t length, uint16_t integer, int64_t *number)
{
	seg_bucket *bucket;
	const seg_item *item;
	uint64_t entry;
	int way;

	while ((item = look(segment, hash, key, length, &bucket, &way, &entry))) {
		bool good = item->kind == integer && !seg_is_over(item);
		*number = atomic_load(&((seg_item *) item)->number);
		if (atomic_load(&bucket->entries[way]) != entry) {
			continue;
		}
		if (!(atomic_load_explicit(&bucket->visited, memory_order_relaxed) >> way & 1)) {
			atomic_fetch_or_explicit(&bucket->visited, (uint8_t) (1 << way), memory_order_relaxed);
		}
		return good;
	}

	return false;
}

/* The request has ended: it holds nothing any more. */
void seg_leave(seg *segment)
{
	/* Counted in one go: readers share no counter. */
	if (segment->hits || segment->misses) {
		atomic_fetch_add_explicit(&segment->header->hits, segment->hits, memory_order_relaxed);
		atomic_fetch_add_explicit(&segment->header->misses, segment->misses, memory_order_relaxed);
		segment->hits = segment->misses = 0;
	}
	if (segment->slot < 0) {
		/* Somebody may have ended. */
		seg_take_slot(segment);
		return;
	}
	seg_slot *slot = &segment->slots[segment->slot];
	/* A child that has just been forked holds the same, and has not said so yet: the next time. */
	if (!atomic_load_explicit(&slot->pinned, memory_order_relaxed) || atomic_load(&slot->forking)) {
		return;
	}
	for (uint64_t i = segment->first_word; i <= segment->last_word; i++) {
		if (atomic_load_explicit(&segment->row[i], memory_order_relaxed)) {
			atomic_store_explicit(&segment->row[i], 0, memory_order_release);
			SEG_POINT("leave-word");
		}
	}
	segment->first_word = UINT64_MAX;
	segment->last_word = 0;
	segment->passing = SEG_NONE;
	atomic_store_explicit(&slot->pinned, 0, memory_order_release);
	SEG_POINT("left");
}

/*
 * For a process that has no slot, because there are more processes than slots: a copy of the item, made under its
 * shard's lock, in memory of malloc(3), and where the item was. NULL: not there.
 */
seg_item *seg_find_copy(seg *segment, uint64_t hash, const char *key, uint32_t length, seg_offset *offset)
{
	seg_shard *shard = seg_shard_of(segment, hash);
	seg_item *copy = NULL;
	seg_bucket *bucket;
	uint64_t entry;
	int way;

	seg_lock(segment, shard);
	const seg_item *item = look(segment, hash, key, length, &bucket, &way, &entry);
	if (item && !seg_is_over(item)) {
		copy = malloc(seg_item_bytes(item));
		if (copy) {
			memcpy(copy, item, seg_item_bytes(item));
			*offset = (seg_offset) ((const char *) item - segment->view);
		}
	}
	seg_unlock(shard);
	if (copy) {
		segment->hits++;
	} else {
		segment->misses++;
	}

	return copy;
}

/* ---- fork(2): the child has the parent's values, and no slot ---- */

/*
 * From here on nobody clears the parent's bits, not even when the parent is dead, until the child has a slot of its
 * own with the same. The parent waits for that: it reads a pipe to its end, which is there when the child has taken
 * over, has died, or was never made.
 */
void seg_before_fork(seg *segment)
{
	segment->handover[0] = segment->handover[1] = -1;
	if (segment->slot >= 0 && atomic_load(&segment->slots[segment->slot].pinned)) {
		if (pipe2(segment->handover, O_CLOEXEC) != 0) {
			/* Then the child alone says so, and until then the parent leaves nothing. */
			segment->handover[0] = segment->handover[1] = -1;
		}
		atomic_store(&segment->slots[segment->slot].forking, 1);
	}
}

void seg_after_fork_parent(seg *segment)
{
	char nothing;

	if (segment->handover[0] >= 0) {
		close(segment->handover[1]);
		while (read(segment->handover[0], &nothing, 1) < 0 && errno == EINTR) {
		}
		close(segment->handover[0]);
		segment->handover[0] = -1;
		atomic_store(&segment->slots[segment->slot].forking, 0);
	}
}

/* What the parent has read is read by the child from memory of its own, at the same address. */
static void keep_privately(seg *segment, _Atomic uint64_t *row)
{
	char *there = (char *) (uintptr_t) segment->ro;

	if (mmap(there, segment->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != there) {
		/* It could not go on with the parent's values, and has no others. */
		_exit(255);
	}
	for (uint64_t page = 0; page < segment->bytes / SEG_PAGE; page++) {
		if (atomic_load(&row[page >> 6]) >> (page & 63) & 1) {
			memcpy(there + page * SEG_PAGE, segment->rw + page * SEG_PAGE, SEG_PAGE);
		}
	}
	mprotect(there, segment->bytes, PROT_READ);
	seg_forget_address(segment);
	segment->ro = NULL;
	segment->view = segment->rw;
}

void seg_after_fork_child(seg *segment)
{
	int parents = segment->slot;

	segment->hits = segment->misses = 0;
	if (!seg_has_address(segment)) {
		/* By another handle of the same file. */
		segment->ro = NULL;
		segment->view = segment->rw;
	}
	seg_take_slot(segment);
	if (parents < 0 || !atomic_load(&segment->slots[parents].forking)) {
		return;
	}
	seg_slot *theirs = &segment->slots[parents];
	_Atomic uint64_t *row = row_of(segment, (uint32_t) parents);
	if (segment->slot >= 0) {
		atomic_store(&segment->slots[segment->slot].pinned, atomic_load(&theirs->pinned));
		for (uint64_t i = segment->first_word; i <= segment->last_word; i++) {
			atomic_store(&segment->row[i], atomic_load(&row[i]));
		}
	} else if (segment->ro) {
		keep_privately(segment, row);
	}
	atomic_store(&theirs->forking, 0);
	for (int end = 0; end < 2; end++) {
		if (segment->handover[end] >= 0) {
			close(segment->handover[end]);
			segment->handover[end] = -1;
		}
	}
}
