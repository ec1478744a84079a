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
 * Either the reader no longer finds the item, or the writer sees the bits. So a reader sets the bits of whatever an
 * entry of the right tag names, looks at the entry again, and only then at the item: nothing that it has not got is
 * ever compared, neither to be taken nor to be passed over. (What lies where an entry pointed a moment ago may be
 * another's by now, half written; and a block that was given up and taken again under the same key is named by the
 * same entry as before, so that looking again without the bits would not tell.) Which pages these are the entry itself
 * says (seg_entry_of()).
 *
 * After a repair (recovery.c) the bits are all that is known of values that were retired, which is why they cover
 * the whole of each.
 *
 * The lower half of the values' pages may be held by any request, all of it. Of the upper half a request may hold its share
 * (an eighth of all), and what it reads beyond that it copies: the bit is set for as long as copying takes. So writers find
 * room in the upper half, in long stretches, however long a reader lives and however its pages are scattered.
 *
 * A slot belongs to the process that holds its robust mutex, which the kernel gives up for the dead: neither process ids nor
 * time-outs decide who is alive.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "segment.h"

/* Bytes of all values that may be, or, where no more memory is to be had, of what has some. */
static inline uint64_t all_of(const seg *segment)
{
	const seg_header *h = segment->header;

	return (UNLIKELY(atomic_load_explicit(&h->ask_again, memory_order_relaxed) > 0) ? h->given_units : h->n_units) * SEG_UNIT;
}

/* In less than that half of all is too little for writers. */
#define WITH_HALVES (64 * SEG_PAGE)

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
 * Of one whose owner is dead, while we hold its lock: it reads nothing, and what it was writing no process will see.
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
	atomic_fetch_add_explicit(&segment->header->ended, 1, memory_order_release);
	atomic_store(&slot->inside, 0);
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

/*
 * From here on the index does not become smaller (seg_give_back()): a process that wants that says so, and then looks which are
 * inside; one that goes in says so, and then looks.
 */
static void go_in(seg *segment, int number)
{
	seg_slot *slot = &segment->slots[number];

	atomic_store(&slot->inside, 1);
	SEG_POINT("go-in");
	while (UNLIKELY(atomic_load(&segment->header->shrinking)) && !segment->lost) {
		atomic_store(&slot->inside, 0);
		/* Until it has ended, or has been repaired. */
		if (seg_lock(segment, &segment->shards[0])) {
			seg_unlock(&segment->shards[0]);
		}
		atomic_store(&slot->inside, 1);
	}
}

static void go_out(seg *segment, int number)
{
	atomic_store_explicit(&segment->slots[number].inside, 0, memory_order_release);
}

/* Whether a request of another process, that is alive, may be reading the index. */
bool seg_is_anybody_inside(seg *segment)
{
	uint32_t used = atomic_load(&segment->header->used_slots);

	for (uint32_t i = 0; i < used; i++) {
		if ((int) i != segment->slot && atomic_load(&segment->slots[i].inside) && is_alive(segment, i)) {
			return true;
		}
	}

	return false;
}

/* Memory for a slot's row of bits. */
static bool get_row(seg *segment, uint32_t slot)
{
	if (!seg_lock_units(segment)) {
		return false;
	}
	bool got = seg_get_memory(segment, seg_of(segment, row_of(segment, slot)), segment->header->n_words * sizeof *segment->pins);
	seg_unlock_units(segment);

	return got;
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
		if (!get_row(segment, i)) {
			pthread_mutex_unlock(&slot->life);
			return;
		}
		uint32_t used = atomic_load(&h->used_slots);
		while (used <= i && !atomic_compare_exchange_weak(&h->used_slots, &used, i + 1)) {
		}
		SEG_POINT("take-slot-used");
		SEG_POINT("slot-taken");
		segment->slot = segment->writing = (int) i;
		segment->row = row_of(segment, i);
		return;
	}
}

/*
 * Where there are more processes than slots, those without one write one after the other: each has the last slot as
 * long as it writes one value, or looks at one. It waits for that before it has any lock of a shard.
 */
bool seg_borrow_slot(seg *segment)
{
	seg_header *h = segment->header;

	if (LIKELY(segment->slot >= 0)) {
		return true;
	}
	if (segment->lost) {
		return false;
	}
	seg_slot *slot = &segment->slots[h->n_slots - 1];
	int error = pthread_mutex_lock(&slot->life);
	if (error == EOWNERDEAD) {
		seg_bury(segment, slot);
		pthread_mutex_consistent(&slot->life);
	} else if (UNLIKELY(error)) {
		seg_lose(segment, "its locks are damaged");
		return false;
	}
	SEG_POINT("slot-borrowed");
	atomic_store(&h->used_slots, h->n_slots);
	segment->writing = (int) h->n_slots - 1;
	segment->row = row_of(segment, h->n_slots - 1);
	go_in(segment, segment->writing);

	return true;
}

void seg_return_slot(seg *segment)
{
	if (UNLIKELY(segment->slot < 0)) {
		/* It has looked at a guard, perhaps, and holds nothing any more. */
		atomic_store_explicit(&segment->slots[segment->writing].pinned, 0, memory_order_release);
		segment->first_word = UINT64_MAX;
		segment->last_word = 0;
		go_out(segment, segment->writing);
		SEG_POINT("slot-given-up");
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
		/* With a child that has no slot yet (seg_before_fork()) the bits stay, and are cleared by the process that sees it later. */
		seg_leave(segment);
		SEG_POINT("drop-slot");
		pthread_mutex_unlock(&slot->life);
		SEG_POINT("slot-dropped");
	}
	segment->slot = -1;

	return ours || !had || segment->pid != (int) getpid();
}

/* A request begins, perhaps in another thread than that which opened. */
void seg_enter(seg *segment)
{
	if (UNLIKELY(segment->lost)) {
		return;
	}
	if (UNLIKELY(segment->slot >= 0 && !is_ours(segment))) {
		seg_take_slot(segment);
	}
	if (LIKELY(segment->slot >= 0)) {
		go_in(segment, segment->slot);
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
	shard->retired.bytes += seg_block_bytes(item);
	SEG_POINT("retired");
}

/* Frees what no process holds any more; looks at so many of the retired, the oldest first. True if it freed anything. */
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
		shard->retired.bytes -= seg_block_bytes(item);
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

/* So many of the retired are looked at with each write. */
#define SOME 4

/*
 * A few, with each write: each once after a process has let go of what it held. Until then it would be in vain, for
 * who writes into what he has read himself as well. (Bits that were set for a moment only tell nobody; what waits for
 * them is found after the next who does, or when memory is short.)
 */
void seg_reclaim_some(seg *segment, seg_shard *shard)
{
	if (LIKELY(!shard->retired.head)) {
		return;
	}
	uint64_t ended = atomic_load_explicit(&segment->header->ended, memory_order_acquire);
	if (shard->ended != ended) {
		shard->ended = ended;
		shard->to_look_at = shard->retired.count;
	}
	uint64_t some = shard->to_look_at < SOME ? shard->to_look_at : SOME;
	shard->to_look_at -= some;
	seg_reclaim(segment, shard, some);
}

/* ---- reading ---- */

/* Many at once: readers share no counter. */
static void tell_counts(seg *segment)
{
	if (segment->hits || segment->misses) {
		atomic_fetch_add_explicit(&segment->header->hits, segment->hits, memory_order_relaxed);
		atomic_fetch_add_explicit(&segment->header->misses, segment->misses, memory_order_relaxed);
		if (UNLIKELY(segment->copied)) {
			atomic_fetch_add_explicit(&segment->header->copied, segment->copied, memory_order_relaxed);
		}
		segment->hits = segment->misses = segment->copied = 0;
	}
}

/* A process whose request does not end tells these so often: the segment is seen to be in use. */
#define COUNTED 64

static inline void count(seg *segment, uint64_t *what)
{
	if (UNLIKELY(!(++*what % COUNTED) && !segment->lost)) {
		tell_counts(segment);
	}
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
	seg_slot *slot = &segment->slots[segment->writing];
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

/* Where an item was found, and the bits that were set for it. */
typedef struct {
	seg_bucket *bucket;
	int way;
	pages fresh;                       /* none, if last is before first */
} finding;

static inline bool is_fresh(const finding *f)
{
	return f->fresh.first <= f->fresh.last;
}

/* The item, whose pages' bits we have; NULL: at some moment since this began there was none. */
static inline const seg_item *seek_in(seg *segment, uint64_t size, uint64_t hash, const char *key, uint32_t length, finding *f)
{
	uint8_t tag = seg_tag(hash);

	for (int i = 0; i < 2; i++) {
		seg_bucket *b = seg_bucket_of(segment, size, hash, i);
		for (int way = 0; way < SEG_WAYS; way++) {
			if (atomic_load_explicit(&b->tags[way], memory_order_relaxed) != tag) {
				continue;
			}
			uint64_t found = atomic_load(&b->entries[way]), again;
			/* On its way while the bits are set, which all that follows has to wait for. */
			__builtin_prefetch(segment->view + seg_entry_offset(found));
			f->fresh = (pages) {1, 0};
			while (found && UNLIKELY(!have(segment, pages_of(found)))) {
				f->fresh = pin(segment, pages_of(found));
				again = atomic_load(&b->entries[way]);
				if (again == found) {
					break;
				}
				/* Replaced meanwhile. */
				unpin(segment, f->fresh);
				f->fresh = (pages) {1, 0};
				found = again;
			}
			if (!found) {
				continue;
			}
			const seg_item *item = (const seg_item *) (segment->view + seg_entry_offset(found));
			if (LIKELY(item->hash == hash && item->key_length == length && memcmp(item->key, key, length) == 0)) {
				f->bucket = b;
				f->way = way;
				return item;
			}
			unpin(segment, f->fresh);
		}
	}

	return NULL;
}

/* An item that is not found may have been moved, by an index that grew meanwhile (index.c): its size was changed before the item went from its old place. */
static inline const seg_item *seek(seg *segment, uint64_t hash, const char *key, uint32_t length, finding *f)
{
	uint32_t shard = seg_shard_number(hash);

	for (;;) {
		uint64_t size = seg_index_size(segment, shard);
		const seg_item *item = seek_in(segment, size, hash, key, length, f);
		if (LIKELY(item != NULL)) {
			return item;
		}
		atomic_thread_fence(memory_order_acquire);
		if (LIKELY(seg_index_size(segment, shard) == size)) {
			return NULL;
		}
	}
}

/* It was read since SIEVE's hand passed. */
static inline void visit(const finding *f)
{
	if (!(atomic_load_explicit(&f->bucket->visited, memory_order_relaxed) >> f->way & 1)) {
		atomic_fetch_or_explicit(&f->bucket->visited, (uint8_t) (1 << f->way), memory_order_relaxed);
	}
}

/*
 * The item, and whether it may be used in place until the request ends. If not it is to be copied, without calling
 * anything that might come here again, and then seg_copied() to be called. Not for a process without a slot.
 */
const seg_item *seg_find(seg *segment, uint64_t hash, const char *key, uint32_t length, bool *in_place)
{
	finding f;
	const seg_item *item = seek(segment, hash, key, length, &f);

	*in_place = false;
	if (UNLIKELY(!item || seg_is_over(item))) {
		if (item) {
			unpin(segment, f.fresh);
		}
		count(segment, &segment->misses);
		return NULL;
	}
	visit(&f);
	count(segment, &segment->hits);
	if (UNLIKELY(is_fresh(&f))) {
		uint64_t bytes = (f.fresh.last + 1 - f.fresh.first) * SEG_PAGE;
		_Atomic uint64_t *pinned = &segment->slots[segment->slot].pinned;
		uint64_t all = all_of(segment);
		bool is_shared = all >= WITH_HALVES && f.fresh.last < (segment->header->values + all / 2) / SEG_PAGE;
		if (!segment->ro || (!is_shared && atomic_load_explicit(pinned, memory_order_relaxed) + bytes > all / 8)) {
			segment->passing = f.fresh.first;
			segment->passing_last = f.fresh.last;
			segment->copied += segment->ro != NULL;
			return item;
		}
		if (!is_shared) {
			atomic_fetch_add_explicit(pinned, bytes, memory_order_relaxed);
		}
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

/* Nothing of the item is given out, so that its pages are held no longer than this looks at it. */
bool seg_has(seg *segment, uint64_t hash, const char *key, uint32_t length)
{
	finding f;

	if (!seg_borrow_slot(segment)) {
		return false;
	}
	const seg_item *item = seek(segment, hash, key, length, &f);
	bool there = item && !seg_is_over(item);
	if (item) {
		unpin(segment, f.fresh);
	}
	seg_return_slot(segment);

	return there;
}

/* The number of an integer; false: there is none. For who has a slot, or has borrowed one. */
bool seg_peek(seg *segment, uint64_t hash, const char *key, uint32_t length, uint16_t integer, int64_t *number)
{
	finding f;
	const seg_item *item = seek(segment, hash, key, length, &f);

	if (!item) {
		return false;
	}
	bool good = item->kind == integer && !seg_is_over(item);
	*number = atomic_load(&((seg_item *) item)->number);
	visit(&f);
	unpin(segment, f.fresh);

	return good;
}

/* The request has ended: it holds nothing any more. */
void seg_leave(seg *segment)
{
	/* Nothing is read in place from there any more, and no process will take what we hold for in use: the file is made anew. */
	if (UNLIKELY(segment->lost)) {
		return;
	}
	tell_counts(segment);
	if (segment->slot < 0) {
		/* A process may have ended. */
		seg_take_slot(segment);
		return;
	}
	seg_slot *slot = &segment->slots[segment->slot];
	go_out(segment, segment->slot);
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
	/* After the bits: who sees this sees that they are clear. */
	atomic_fetch_add_explicit(&segment->header->ended, 1, memory_order_release);
}

/*
 * For a process that has no slot, because there are more processes than slots: a copy of the item, made under its
 * shard's lock, and where the item was. Gives the bytes of the item, which is not copied if there are more than there is
 * room for; 0: not there. The caller has the memory, since its allocator may leave by longjmp().
 */
uint64_t seg_find_copy(seg *segment, uint64_t hash, const char *key, uint32_t length, seg_item *copy, uint64_t room, seg_offset *offset)
{
	seg_shard *shard = seg_shard_of(segment, hash);
	uint64_t bytes = 0;
	seg_bucket *bucket;
	int way;

	if (!seg_lock(segment, shard)) {
		return 0;
	}
	const seg_item *item = seg_in_shard(segment, hash, key, length, &bucket, &way);
	if (item && !seg_is_over(item)) {
		bytes = seg_item_bytes(item);
		if (bytes <= room) {
			memcpy(copy, item, bytes);
			*offset = seg_of(segment, item);
		}
	}
	seg_unlock(shard);
	if (bytes && bytes <= room) {
		segment->hits++;
	} else if (!bytes) {
		segment->misses++;
	}

	return bytes;
}

/* ---- fork(2): the child has the parent's values, and no slot ---- */

/* Of what has been read in place so far, a copy at the same address, which no process can change. */
static bool keep_privately(seg *segment, _Atomic uint64_t *row)
{
	char *there = (char *) (uintptr_t) segment->ro;

	if (mmap(there, segment->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != there) {
		return false;
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

	return true;
}

/*
 * From here on no process clears the parent's bits, not even when the parent is dead, until the child has a slot of its
 * own with the same. The parent waits for that: it reads a pipe to its end, which is there when the child has taken
 * over, has died, or was never made.
 */
void seg_before_fork(seg *segment)
{
	segment->handover[0] = segment->handover[1] = -1;
	if (segment->slot < 0 || segment->lost || !segment->ro || !atomic_load(&segment->slots[segment->slot].pinned)) {
		return;
	}
	if (pipe2(segment->handover, O_CLOEXEC) != 0) {
		segment->handover[0] = segment->handover[1] = -1;
		/* The parent could not be told that its child has died: so both have from here on what was read in memory of their own. */
		if (seg_is_alone(segment) && keep_privately(segment, segment->row)) {
			seg_leave(segment);
			return;
		}
		/* Other threads read in place here. Then the child alone says so, and until then the parent leaves nothing. */
	}
	atomic_store(&segment->slots[segment->slot].forking, 1);
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

void seg_after_fork_child(seg *segment)
{
	int parents = segment->slot;

	segment->hits = segment->misses = segment->copied = 0;
	if (!seg_has_address(segment)) {
		/* By another handle of the same file. */
		segment->ro = NULL;
		segment->view = segment->rw;
	}
	if (segment->lost) {
		segment->slot = -1;
		return;
	}
	seg_take_slot(segment);
	seg_enter(segment);
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
	} else if (segment->ro && !keep_privately(segment, row)) {
		/* It could not go on with the parent's values, and has no others. */
		_exit(255);
	}
	atomic_store(&theirs->forking, 0);
	for (int end = 0; end < 2; end++) {
		if (segment->handover[end] >= 0) {
			close(segment->handover[end]);
			segment->handover[end] = -1;
		}
	}
}
