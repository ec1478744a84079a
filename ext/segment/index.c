/*
 * The index: which item a key has; and SIEVE, which decides what goes when room is needed.
 *
 *     hash  ──▶ shard (8) ──▶ two buckets of it, each a cache line:
 *
 *               | tag 1 … tag 7 | visited bits | item 1 … item 7 |
 *
 * A key lies in one of fourteen places. If all are taken the least used of them is evicted. Items never move, and their
 * places only when the index grows, which a reader without a lock notices: so it never misses a key that is there. Only the store of an item's offset makes it visible, and
 * only after it is whole; everything else that describes it (tag, queue, slab) can be made anew from the items that
 * the buckets name (recovery.c).
 *
 * SIEVE (Zhang and others, NSDI 2024): items queue in the order in which they came. A hand goes from the oldest to the
 * newest, spares those that were read since it last passed, and evicts the first that was not. A hit only sets a bit,
 * and only where it is not set.
 *
 *     head (newest) ─ … ─ ▲ hand ─ … ─ tail (oldest)
 */
#include <string.h>

#include "segment.h"

static inline uint64_t word_at(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof word);

	return word;
}

static inline uint32_t half_at(const char *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof word);

	return word;
}

static inline uint64_t fold(uint64_t one, uint64_t other)
{
	unsigned __int128 product = (unsigned __int128) one * other;

	return (uint64_t) product ^ (uint64_t) (product >> 64);
}

/*
 * Sixteen bytes a multiplication, as in wyhash (Wang Yi), but with numbers that were drawn for this segment in the
 * place of constants: who does not know them cannot choose keys that share a bucket, by which he would evict a key of
 * others. PHP's own hash of a string is the same everywhere, and keys that have the same are made at will.
 */
uint64_t seg_hash(const seg *segment, const char *key, uint32_t length)
{
	const uint64_t *secret = segment->secret;
	uint64_t one, other, hash = secret[0];
	const char *end = key + length;

	if (length > 16) {
		for (; end - key > 16; key += 16) {
			hash = fold(word_at(key) ^ secret[1], word_at(key + 8) ^ hash);
		}
		one = word_at(end - 16);
		other = word_at(end - 8);
	} else if (length >= 8) {
		one = word_at(key);
		other = word_at(end - 8);
	} else if (length >= 4) {
		one = half_at(key);
		other = half_at(end - 4);
	} else {
		one = length ? (uint64_t) (unsigned char) key[0] << 16 | (uint64_t) (unsigned char) key[length / 2] << 8 | (unsigned char) end[-1] : 0;
		other = 0;
	}

	return fold(secret[3] ^ length, fold(one ^ secret[2], other ^ hash));
}

/* The item that an entry names; 0: none. */
static inline seg_offset named(_Atomic uint64_t *entry)
{
	return seg_entry_offset(atomic_load_explicit(entry, memory_order_relaxed));
}

/* Under the shard's lock. */
seg_item *seg_in_shard(seg *segment, uint64_t hash, const char *key, uint32_t length, seg_bucket **bucket, int *way)
{
	uint64_t size = seg_index_size(segment, seg_shard_number(hash));
	uint8_t tag = seg_tag(hash);

	for (int i = 0; i < 2; i++) {
		seg_bucket *b = seg_bucket_of(segment, size, hash, i);
		for (int w = 0; w < SEG_WAYS; w++) {
			/* By the tag alone: each item that is looked at in vain is a line of memory that must come. */
			if (LIKELY(atomic_load_explicit(&b->tags[w], memory_order_relaxed) != tag)) {
				continue;
			}
			seg_item *item = seg_at(segment, named(&b->entries[w]));
			if (item->hash == hash && item->key_length == length && memcmp(item->key, key, length) == 0) {
				*bucket = b;
				*way = w;
				return item;
			}
		}
	}

	return NULL;
}

/* Where the index names this very item; NULL if it does not. */
_Atomic uint64_t *seg_entry(seg *segment, const seg_item *item)
{
	uint64_t size = seg_index_size(segment, seg_shard_number(item->hash));
	seg_offset self = seg_of(segment, item);

	for (int i = 0; i < 2; i++) {
		seg_bucket *b = seg_bucket_of(segment, size, item->hash, i);
		for (int way = 0; way < SEG_WAYS; way++) {
			if (named(&b->entries[way]) == self) {
				return &b->entries[way];
			}
		}
	}

	return NULL;
}

static inline seg_bucket *bucket_of(_Atomic uint64_t *entry)
{
	return (seg_bucket *) ((uintptr_t) entry & ~(uintptr_t) 63);
}

static inline uint64_t entry_of(seg *segment, const seg_item *item)
{
	return seg_entry_of(seg_of(segment, item), seg_item_bytes(item));
}

/* Of what only changes under the shard's lock, and is read without it. */
static inline void count(_Atomic uint64_t *number)
{
	atomic_store_explicit(number, atomic_load_explicit(number, memory_order_relaxed) + 1, memory_order_relaxed);
}

static inline void clear_visited(seg_bucket *b, int way)
{
	/* A store that all others wait for is dear: mostly there is nothing to clear. */
	if (atomic_load_explicit(&b->visited, memory_order_relaxed) >> way & 1) {
		atomic_fetch_and_explicit(&b->visited, (uint8_t) ~(1 << way), memory_order_relaxed);
	}
}

/* As SIEVE's hand does to what it spares. */
void seg_forget_visit(seg *segment, const seg_item *item)
{
	_Atomic uint64_t *entry = seg_entry(segment, item);

	if (entry) {
		clear_visited(bucket_of(entry), (int) (entry - bucket_of(entry)->entries));
	}
}

/* ---- the queue ---- */

void seg_queue_add(seg *segment, seg_shard *shard, seg_item *item)
{
	seg_offset self = seg_of(segment, item);

	SEG_POINT("queue-add");
	item->newer = 0;
	item->older = shard->queue.head;
	SEG_POINT("queue-add-linked");
	if (item->older) {
		seg_at(segment, item->older)->newer = self;
	} else {
		shard->queue.tail = self;
	}
	SEG_POINT("queue-add-linked-back");
	shard->queue.head = self;
	SEG_POINT("queue-add-head");
	shard->queue.count++;
	shard->queue.bytes += seg_block_bytes(item);
	if (item->expires && (!shard->soonest || item->expires < shard->soonest)) {
		shard->soonest = item->expires;
	}
	SEG_POINT("queue-added");
}

static void queue_remove(seg *segment, seg_shard *shard, seg_item *item)
{
	seg_offset self = seg_of(segment, item);

	SEG_POINT("queue-remove");
	if (shard->hand == self) {
		shard->hand = item->newer;
	}
	if (shard->sweep == self) {
		shard->sweep = item->newer;
	}
	SEG_POINT("queue-remove-hands");
	if (item->newer) {
		seg_at(segment, item->newer)->older = item->older;
	} else {
		shard->queue.head = item->older;
	}
	SEG_POINT("queue-remove-newer");
	if (item->older) {
		seg_at(segment, item->older)->newer = item->newer;
	} else {
		shard->queue.tail = item->newer;
	}
	SEG_POINT("queue-remove-older");
	shard->queue.count--;
	SEG_POINT("queue-remove-counted");
	shard->queue.bytes -= seg_block_bytes(item);
	SEG_POINT("queue-removed");
}

/* Out of the index and the queue; its memory goes when no process reads it. */
static void take_out(seg *segment, seg_shard *shard, seg_item *item, _Atomic uint64_t *entry)
{
	seg_bucket *b = bucket_of(entry);
	int way = (int) (entry - b->entries);

	SEG_POINT("take-out");
	atomic_store_explicit(&b->tags[way], 0, memory_order_relaxed);
	SEG_POINT("take-out-tag");
	atomic_store(entry, 0);
	SEG_POINT("take-out-entry");
	clear_visited(b, way);
	SEG_POINT("take-out-visited");
	queue_remove(segment, shard, item);
	seg_retire(segment, shard, item);
	SEG_POINT("taken-out");
}

/* Under the lock an item of the queue, or of a slab in use, is in the index, but in a file that is damaged. */
static void lose_index(seg *segment)
{
	seg_lose(segment, "its index is damaged");
}

void seg_evict_item(seg *segment, seg_shard *shard, seg_item *item)
{
	_Atomic uint64_t *entry = seg_entry(segment, item);

	if (UNLIKELY(!entry)) {
		lose_index(segment);
		return;
	}
	count(seg_is_over(item) ? &shard->expired : &shard->evictions);
	SEG_POINT("evict");
	take_out(segment, shard, item, entry);
}

/*
 * Items whose time is over, also if no process asks for them: a second hand goes round the queue, a few steps each time
 * that something is written, and only while the shard has something that is over. It also finds out when that will be
 * the next time. True if it freed anything.
 */
bool seg_sweep(seg *segment, seg_shard *shard, uint64_t most)
{
	bool freed = false;

	if (LIKELY(!shard->soonest || shard->soonest > seg_clock())) {
		return false;
	}
	if (!shard->sweep) {
		shard->next_soonest = 0;
		shard->sweep = shard->queue.tail;
	}
	for (; shard->sweep && most; most--) {
		seg_item *item = seg_at(segment, shard->sweep);
		if (seg_is_over(item)) {
			SEG_POINT("sweep");
			seg_evict_item(segment, shard, item);
			if (UNLIKELY(segment->lost)) {
				return false;
			}
			freed = true;
			continue;
		}
		if (item->expires && (!shard->next_soonest || item->expires < shard->next_soonest)) {
			shard->next_soonest = item->expires;
		}
		shard->sweep = item->newer;
	}
	if (!shard->sweep) {
		shard->soonest = shard->next_soonest;
	}
	SEG_POINT("swept");

	return freed;
}

/* So many items that are held are passed over at most: when all are, evicting would free nothing. */
#define SPARED 4096

bool seg_evict(seg *segment, seg_shard *shard)
{
	unsigned spared = 0;

	/* Twice round at most: the first time all may have been read, the second time no bit is left. */
	for (uint64_t steps = 2 * shard->queue.count + 1; steps > 0 && shard->queue.tail; steps--) {
		seg_item *item = seg_at(segment, shard->hand ? shard->hand : shard->queue.tail);
		_Atomic uint64_t *entry = seg_entry(segment, item);
		if (UNLIKELY(!entry)) {
			lose_index(segment);
			return false;
		}
		seg_bucket *b = bucket_of(entry);
		int way = (int) (entry - b->entries);
		if (atomic_load_explicit(&b->visited, memory_order_relaxed) >> way & 1 && !seg_is_over(item)) {
			clear_visited(b, way);
			shard->hand = item->newer;
			continue;
		}
		/* A request holds it: out of the index it would be as large, and of no use. */
		if (seg_is_held(segment, item) && ++spared < SPARED) {
			shard->hand = item->newer;
			continue;
		}
		seg_evict_item(segment, shard, item);
		return true;
	}

	return false;
}

/* ---- giving memory back ---- */

/* Whether anything was set apart, or left by the dead, that may be free by now. */
static bool has_left_over(const seg *segment)
{
	return UNLIKELY(atomic_load_explicit(&segment->header->orphans, memory_order_relaxed)
		|| atomic_load_explicit(&segment->header->quarantine, memory_order_relaxed));
}

/* Under all locks, and nothing is in the index. Not while a process may be reading it: it would be given memory again. */
static void drop_index(seg *segment)
{
	seg_header *h = segment->header;

	atomic_store(&h->shrinking, 1);
	SEG_POINT("shrinking");
	if (!seg_is_anybody_inside(segment)) {
		for (uint32_t i = 0; i < SEG_SHARDS; i++) {
			seg_bucket *first = segment->buckets + (uint64_t) i * segment->n_buckets;
			atomic_store(&h->index[i], seg_size_of(segment->base_buckets, 0));
			SEG_POINT("index-small");
			seg_drop_memory(segment, seg_of(segment, first + segment->base_buckets), (segment->n_buckets - segment->base_buckets) * sizeof *first);
		}
	}
	SEG_POINT("shrunk");
	atomic_store(&h->shrinking, 0);
}

/* Under all shards' locks. */
static void drop_what_is_free(seg *segment, bool index)
{
	SEG_POINT("give-back");
	if (!seg_lock_units(segment)) {
		return;
	}
	if (!seg_is_broken(segment)) {
		/* A program that counts the file's blocks meanwhile is to miss none. */
		atomic_store(&segment->header->given, 0);
		SEG_POINT("give-back-uncounted");
		seg_drop_chunks(segment);
		if (index) {
			drop_index(segment);
			atomic_store(&segment->header->ask_again, 0);
		}
		seg_count_memory(segment);
	}
	SEG_POINT("given-back");
	seg_unlock_units(segment);
}

/*
 * Evicts everything, and gives the memory back to the machine: all but what a new segment has, and what requests hold. The
 * index keeps its memory where a request of another process is going on.
 */
void seg_give_back(seg *segment)
{
	if (has_left_over(segment)) {
		seg_settle(segment, true);
	}
	if (!atomic_load(&segment->header->grows) || !seg_lock_shards(segment)) {
		return;
	}
	for (uint32_t i = 0; i < SEG_SHARDS && !segment->lost; i++) {
		while (segment->shards[i].queue.tail && !segment->lost) {
			seg_evict_item(segment, &segment->shards[i], seg_at(segment, segment->shards[i].queue.tail));
		}
		seg_reclaim(segment, &segment->shards[i], UINT64_MAX);
	}
	drop_what_is_free(segment, true);
	seg_unlock_shards(segment);
}

/* A part, an eighth of it, with what was read least of a few: where others need it. */
static void shrink(seg *segment)
{
	seg_header *h = segment->header;
	uint64_t units = 2 * h->chunk_units, cleared = 0;

	if (!seg_lock_shards(segment)) {
		return;
	}
	if (atomic_exchange(&h->too_large, 0)) {
		/* In so many units there is a whole chunk, wherever they begin. */
		while (cleared < h->given_units / 8 && !seg_is_broken(segment) && seg_clear_stretch(segment, units * SEG_UNIT, true)) {
			cleared += units;
		}
		drop_what_is_free(segment, false);
	}
	seg_unlock_shards(segment);
}

/* ---- writing ---- */

/* So many are evicted by age, in the hope that a block of the right size becomes free. */
#define TRIES 32

/* Room of the shard's own: what is over or was retired, then by age, then a slab whole: memory may be cut for other sizes. */
static seg_offset alloc_here(seg *segment, seg_shard *shard, uint64_t bytes, uint32_t *home)
{
	seg_offset block = seg_alloc(segment, shard, bytes, home);
	bool is_small = seg_class(bytes) >= 0;
	uint64_t evicted = 0;

	if (!block && seg_reclaim(segment, shard, UINT64_MAX)) {
		block = seg_alloc(segment, shard, bytes, home);
	}
	/* No more than two slabs, or a large value's own bytes: others by age leave no long run. */
	for (int i = 0; !block && i < TRIES && evicted < (is_small ? 2 * SEG_PAGE : bytes) && !seg_is_broken(segment); i++) {
		uint64_t before = shard->queue.bytes;
		if (!seg_sweep(segment, shard, 64) && !seg_evict(segment, shard)) {
			break;
		}
		evicted += before - shard->queue.bytes;
		block = seg_alloc(segment, shard, bytes, home);
	}
	for (int i = 0; !block && is_small && i < TRIES && !seg_is_broken(segment); i++) {
		if (!seg_clear_a_slab(segment, shard)) {
			break;
		}
		block = seg_alloc(segment, shard, bytes, home);
	}

	return block;
}

/* A block that no other process sees, and that is ours even if we die. */
static seg_item *begin(seg *segment, seg_offset block, uint32_t home, uint64_t bytes, uint64_t hash, const char *key, uint32_t length)
{
	seg_item *item = seg_at(segment, block);

	SEG_POINT("reserve-allocated");
	item->hash = hash;
	item->home = home;
	item->size = (uint32_t) (bytes >> 3);
	item->newer = item->older = 0;
	item->position = 0;
	item->expires = 0;
	atomic_store_explicit(&item->number, 0, memory_order_relaxed);
	item->key_length = length;
	item->kind = 0;
	item->spare = 0;
	SEG_POINT("reserve-head");
	item->state = SEG_FILLING;
	memcpy(item->key, key, length);
	item->key[length] = 0;
	SEG_POINT("reserve-key");
	atomic_store_explicit(&segment->slots[segment->writing].filling, block, memory_order_release);
	SEG_POINT("reserve-filling");

	return item;
}

/* Stretches of memory that are cleared for one value, at most. */
#define STRETCHES 4

static seg_status reserve(seg *segment, uint64_t hash, const char *key, uint32_t length, uint64_t value_bytes, seg_item **out, bool hold)
{
	uint64_t bytes = (seg_item_head(length) + value_bytes + 7) & ~UINT64_C(7);
	seg_shard *shard = seg_shard_of(segment, hash);
	uint32_t home = 0;
	bool forced = false;

	/* What takes more than a quarter of all would empty the segment for one key. */
	if (value_bytes > segment->header->n_units * SEG_UNIT || bytes > segment->header->n_units * SEG_UNIT / 4) {
		atomic_fetch_add_explicit(&seg_shard_of(segment, hash)->refused, 1, memory_order_relaxed);
		return SEG_FULL;
	}
	if (!seg_borrow_slot(segment)) {
		return SEG_CLOSED;
	}
	if (has_left_over(segment) && segment->header->settle_at <= seg_clock()) {
		seg_settle(segment, false);
	}
	if (UNLIKELY(segment->sets++ % 32 == 0)) {
		seg_may_grow(segment, 0);
	}
	if (UNLIKELY(atomic_load_explicit(&segment->header->too_large, memory_order_relaxed))) {
		shrink(segment);
	}
	while (seg_lock(segment, shard)) {
		seg_sweep(segment, shard, 2);
		seg_reclaim_some(segment, shard);
		seg_offset block = alloc_here(segment, shard, bytes, &home);
		if (block && LIKELY(!segment->lost)) {
			*out = begin(segment, block, home, bytes, hash, key, length);
			if (hold && seg_class(bytes) >= 0) {
				segment->holding = true;
				return SEG_OK;
			}
			seg_unlock(shard);
			SEG_POINT("reserve-unlocked");
			return SEG_OK;
		}
		bool again = seg_is_broken(segment);
		seg_unlock(shard);
		if (again) {
			continue;
		}
		/* Whatever lies in one stretch of memory, of whatever owner; so that no process takes it before us, all wait. */
		if (!seg_lock_shards(segment)) {
			break;
		}
		SEG_POINT("reserve-all-locked");
		/* A reader may take something of the stretch while it is cleared: then there may be another. */
		for (int i = 0; i < STRETCHES && !block && !seg_is_broken(segment) && seg_clear_stretch(segment, bytes, false); i++) {
			block = seg_alloc(segment, shard, bytes, &home);
		}
		if (UNLIKELY(segment->lost)) {
			block = 0;
		}
		if (block) {
			*out = begin(segment, block, home, bytes, hash, key, length);
		}
		again = !block && seg_is_broken(segment);
		seg_unlock_shards(segment);
		if (block) {
			SEG_POINT("reserve-all-unlocked");
			return SEG_OK;
		}
		if (!again && !forced && has_left_over(segment)) {
			seg_settle(segment, true);
			forced = again = true;
		}
		if (!again) {
			atomic_fetch_add_explicit(&shard->refused, 1, memory_order_relaxed);
			seg_return_slot(segment);
			return SEG_FULL;
		}
	}
	seg_return_slot(segment);

	return SEG_CLOSED;
}

seg_status seg_reserve(seg *segment, uint64_t hash, const char *key, uint32_t length, uint64_t value_bytes, seg_item **item)
{
	return reserve(segment, hash, key, length, value_bytes, item, false);
}

seg_status seg_reserve_held(seg *segment, uint64_t hash, const char *key, uint32_t length, uint64_t value_bytes, seg_item **item)
{
	return reserve(segment, hash, key, length, value_bytes, item, true);
}

void seg_give_up(seg *segment, seg_item *item)
{
	seg_shard *shard = seg_shard_of(segment, item->hash);

	if (seg_lock(segment, shard)) {
		SEG_POINT("give-up");
		atomic_store_explicit(&segment->slots[segment->writing].filling, 0, memory_order_release);
		SEG_POINT("give-up-filling");
		seg_free(segment, shard, item);
		SEG_POINT("given-up");
		seg_unlock(shard);
		SEG_POINT("give-up-unlocked");
	}
	seg_return_slot(segment);
}

/* A free way of the two buckets; else that of an item that is over or unread is emptied. */
static _Atomic uint64_t *make_place(seg *segment, seg_shard *shard, uint64_t hash)
{
	uint64_t size = seg_index_size(segment, seg_shard_number(hash));
	seg_bucket *pair[2] = {seg_bucket_of(segment, size, hash, false), seg_bucket_of(segment, size, hash, true)}, *worst = NULL;
	int worst_way = 0, worst_rank = 3;

	/* The emptier of the two, so that both fill alike. */
	int free[2] = {0, 0};
	for (int i = 0; i < 2; i++) {
		for (int way = 0; way < SEG_WAYS; way++) {
			free[i] += !atomic_load_explicit(&pair[i]->entries[way], memory_order_relaxed);
		}
	}
	if (free[0] || free[1]) {
		seg_bucket *b = pair[free[1] > free[0]];
		for (int way = 0; way < SEG_WAYS; way++) {
			if (!atomic_load_explicit(&b->entries[way], memory_order_relaxed)) {
				return &b->entries[way];
			}
		}
	}
	for (int i = 0; i < 2; i++) {
		for (int way = 0; way < SEG_WAYS; way++) {
			seg_item *item = seg_at(segment, named(&pair[i]->entries[way]));
			int rank = seg_is_over(item) ? 0 : 1 + (atomic_load_explicit(&pair[i]->visited, memory_order_relaxed) >> way & 1);
			if (rank < worst_rank) {
				worst_rank = rank;
				worst = pair[i];
				worst_way = way;
			}
		}
	}
	seg_evict_item(segment, shard, seg_at(segment, named(&worst->entries[worst_way])));

	return &worst->entries[worst_way];
}

static bool get_page(seg *segment, const seg_bucket *bucket)
{
	if (!seg_lock_units(segment)) {
		return false;
	}
	bool got = !seg_is_broken(segment) && seg_may_grow(segment, 4096) && seg_get_memory(segment, seg_of(segment, bucket), 4096);
	seg_unlock_units(segment);

	return got;
}

/*
 * One bucket more, which takes its items from one that is there: first it has them, then the index is larger, then the
 * other has them no more. A reader who finds nothing looks whether the size is still the same.
 */
static void grow(seg *segment, uint32_t number)
{
	seg_bucket *first = segment->buckets + number * segment->n_buckets;
	uint64_t size = seg_index_size(segment, number), n = seg_size_buckets(size), rows = seg_size_rows(size), base = segment->base_buckets;

	/* All rows are there: from now on twice as many are told apart. */
	rows = n == base * (rows + 1) ? 2 * rows + 1 : rows;
	seg_bucket *old = first + n - base * ((rows + 1) / 2), *fresh = first + n;
	/* Whole pages, of which this bucket is the first. */
	if (n == segment->n_buckets || (seg_of(segment, fresh) % 4096 == 0 && !get_page(segment, fresh))) {
		return;
	}
	size = seg_size_of(n + 1, rows);
	SEG_POINT("grow");
	memset((void *) fresh, 0, sizeof *fresh);
	for (int way = 0; way < SEG_WAYS; way++) {
		uint64_t entry = atomic_load_explicit(&old->entries[way], memory_order_relaxed);
		if (entry) {
			uint64_t hash = seg_at(segment, seg_entry_offset(entry))->hash;
			if (seg_bucket_of(segment, size, hash, false) == fresh || seg_bucket_of(segment, size, hash, true) == fresh) {
				atomic_store_explicit(&fresh->entries[way], entry, memory_order_relaxed);
				atomic_store_explicit(&fresh->tags[way], atomic_load_explicit(&old->tags[way], memory_order_relaxed), memory_order_relaxed);
				SEG_POINT("grow-copied");
			}
		}
	}
	atomic_store_explicit(&fresh->visited, atomic_load_explicit(&old->visited, memory_order_relaxed), memory_order_relaxed);
	SEG_POINT("grow-whole");
	atomic_store(&segment->header->index[number], size);
	SEG_POINT("grow-larger");
	for (int way = 0; way < SEG_WAYS; way++) {
		if (atomic_load_explicit(&fresh->entries[way], memory_order_relaxed)) {
			atomic_store_explicit(&old->tags[way], 0, memory_order_release);
			SEG_POINT("grow-tag");
			atomic_store(&old->entries[way], 0);
			SEG_POINT("grow-entry");
			clear_visited(old, way);
		} else {
			clear_visited(fresh, way);
		}
	}
	SEG_POINT("grown");
}

static void insert(seg *segment, seg_shard *shard, seg_item *item)
{
	/*
	 * Three eighths full on average; and buckets that have not been split yet half as full again. Half full, one of some
	 * thousand items found both of its buckets taken, and another was evicted for it while there was memory enough.
	 */
	if (UNLIKELY(shard->queue.count * 8 > seg_size_buckets(seg_index_size(segment, seg_shard_number(item->hash))) * SEG_WAYS * 3)) {
		grow(segment, seg_shard_number(item->hash));
	}
	_Atomic uint64_t *entry = make_place(segment, shard, item->hash);
	seg_bucket *b = bucket_of(entry);
	int way = (int) (entry - b->entries);

	SEG_POINT("insert");
	clear_visited(b, way);
	item->state = SEG_LIVE;
	SEG_POINT("insert-alive");
	/* No process had anything here that would have to be looked for: whole before it is seen is enough. */
	atomic_store_explicit(entry, entry_of(segment, item), memory_order_release);
	SEG_POINT("insert-entry");
	atomic_store_explicit(&b->tags[way], seg_tag(item->hash), memory_order_release);
	SEG_POINT("insert-tag");
	seg_queue_add(segment, shard, item);
}

/* In the place of what is there under the same key, or in one of its own. */
static void put_in(seg *segment, seg_shard *shard, seg_item *item, seg_item *old, seg_bucket *b, int way)
{
	if (old) {
		if (seg_is_over(old)) {
			count(&shard->expired);
		}
		item->state = SEG_LIVE;
		SEG_POINT("replace-alive");
		atomic_store(&b->entries[way], entry_of(segment, item));
		SEG_POINT("replace-entry");
		clear_visited(b, way);
		SEG_POINT("replace-visited");
		queue_remove(segment, shard, old);
		seg_retire(segment, shard, old);
		SEG_POINT("replace-retired");
		seg_queue_add(segment, shard, item);
	} else {
		insert(segment, shard, item);
	}
	SEG_POINT("put-in");
	count(&shard->sets);
}

seg_status seg_publish(seg *segment, seg_item *item, seg_mode mode)
{
	seg_shard *shard = seg_shard_of(segment, item->hash);
	seg_bucket *b;
	int way;
	seg_status status = SEG_OK;

	if (segment->holding) {
		segment->holding = false;
	} else if (!seg_lock(segment, shard)) {
		seg_return_slot(segment);
		return SEG_CLOSED;
	}
	seg_item *old = seg_in_shard(segment, item->hash, item->key, item->key_length, &b, &way);
	bool there = old && !seg_is_over(old);
	if (mode == SEG_ADD ? there : mode == SEG_REPLACE && !there) {
		status = there ? SEG_EXISTS : SEG_NOT_FOUND;
		SEG_POINT("publish-not");
		seg_free(segment, shard, item);
	} else {
		SEG_POINT("publish");
		put_in(segment, shard, item, old, b, way);
	}
	SEG_POINT("published");
	atomic_store_explicit(&segment->slots[segment->writing].filling, 0, memory_order_release);
	SEG_POINT("publish-filling");
	seg_unlock(shard);
	SEG_POINT("publish-unlocked");
	seg_return_slot(segment);

	return status;
}

seg_status seg_delete(seg *segment, uint64_t hash, const char *key, uint32_t length)
{
	seg_shard *shard = seg_shard_of(segment, hash);
	seg_bucket *b;
	int way;
	seg_status status = SEG_NOT_FOUND;

	if (!seg_lock(segment, shard)) {
		return SEG_CLOSED;
	}
	seg_item *item = seg_in_shard(segment, hash, key, length, &b, &way);
	if (item) {
		status = seg_is_over(item) ? SEG_NOT_FOUND : SEG_OK;
		if (status == SEG_NOT_FOUND) {
			count(&shard->expired);
		}
		take_out(segment, shard, item, &b->entries[way]);
		seg_reclaim_some(segment, shard);
	}
	seg_unlock(shard);

	return status;
}

/* In place: a reader sees the number before or after. Missing: SEG_NOT_FOUND, and the caller publishes the first. */
seg_status seg_increment(seg *segment, uint64_t hash, const char *key, uint32_t length, int64_t by, uint16_t integer, int64_t *result)
{
	seg_shard *shard = seg_shard_of(segment, hash);
	seg_bucket *b;
	int way;
	seg_status status = SEG_OK;

	if (!seg_lock(segment, shard)) {
		return SEG_CLOSED;
	}
	seg_item *item = seg_in_shard(segment, hash, key, length, &b, &way);
	if (!item || seg_is_over(item)) {
		status = SEG_NOT_FOUND;
	} else if (item->kind != integer) {
		status = SEG_NO_INTEGER;
	} else if (__builtin_add_overflow(atomic_load_explicit(&item->number, memory_order_relaxed), by, result)) {
		status = SEG_OVERFLOW;
	} else {
		SEG_POINT("increment");
		atomic_store(&item->number, *result);
		/* Used, though not read. */
		atomic_fetch_or_explicit(&b->visited, (uint8_t) (1 << way), memory_order_relaxed);
		SEG_POINT("incremented");
	}
	seg_unlock(shard);

	return status;
}

/*
 * Copies of what is elsewhere, as a near tier has them.
 *
 * A process that follows a journal must drop what has changed, while others still store what they read before. So each copy
 * has a position in the journal, and a guard: an integer under another key, up to which the journal was followed.
 *
 *     who follows    raise the guard;        then drop the key, in the lock of its shard
 *     who fills      in that same lock: look at the guard, then store
 *
 * Either the copy is stored before it is dropped, or the guard is seen as it was raised. A guard that is gone allows
 * nothing, and must not come back under the same key.
 */
static bool is_allowed(seg *segment, const seg_terms *terms)
{
	int64_t number;

	return !terms->guard_length
		|| (seg_peek(segment, terms->guard_hash, terms->guard, terms->guard_length, terms->integer, &number) && number <= terms->at);
}

/* Before the work: what is refused is mostly so for good. */
bool seg_allowed(seg *segment, const seg_terms *terms)
{
	if (!seg_borrow_slot(segment)) {
		return false;
	}
	bool allowed = is_allowed(segment, terms);
	seg_return_slot(segment);

	return allowed;
}

/* What is not stored is given up; what is older than that goes in both cases. */
seg_status seg_fill(seg *segment, seg_item *item, const seg_terms *terms)
{
	seg_shard *shard = seg_shard_of(segment, item->hash);
	seg_bucket *b;
	int way;
	seg_status status = SEG_OK;

	if (!seg_lock(segment, shard)) {
		seg_return_slot(segment);
		return SEG_CLOSED;
	}
	seg_item *old = seg_in_shard(segment, item->hash, item->key, item->key_length, &b, &way);
	if (old && old->position > terms->position && !seg_is_over(old)) {
		status = SEG_EXISTS;
	} else if (!is_allowed(segment, terms)) {
		status = SEG_CHANGED;
		if (old && old->position < terms->position) {
			take_out(segment, shard, old, &b->entries[way]);
		}
	}
	if (status == SEG_OK) {
		item->position = terms->position;
		put_in(segment, shard, item, old, b, way);
	} else {
		seg_free(segment, shard, item);
	}
	SEG_POINT("fill-done");
	atomic_store_explicit(&segment->slots[segment->writing].filling, 0, memory_order_release);
	SEG_POINT("fill-filling");
	seg_unlock(shard);
	seg_return_slot(segment);

	return status;
}

seg_status seg_raise(seg *segment, uint64_t hash, const char *key, uint32_t length, int64_t to, uint16_t integer)
{
	seg_shard *shard = seg_shard_of(segment, hash);
	seg_bucket *b;
	int way;
	seg_status status = SEG_OK;

	if (!seg_lock(segment, shard)) {
		return SEG_CLOSED;
	}
	seg_item *item = seg_in_shard(segment, hash, key, length, &b, &way);
	if (!item || seg_is_over(item)) {
		status = SEG_NOT_FOUND;
	} else if (item->kind != integer) {
		status = SEG_NO_INTEGER;
	} else if (atomic_load_explicit(&item->number, memory_order_relaxed) < to) {
		atomic_store(&item->number, to);
	}
	seg_unlock(shard);

	return status;
}

/* What has an earlier position goes. */
seg_status seg_drop(seg *segment, uint64_t hash, const char *key, uint32_t length, uint64_t position)
{
	seg_shard *shard = seg_shard_of(segment, hash);
	seg_bucket *b;
	int way;
	seg_status status = SEG_NOT_FOUND;

	if (!seg_lock(segment, shard)) {
		return SEG_CLOSED;
	}
	seg_item *item = seg_in_shard(segment, hash, key, length, &b, &way);
	if (item && item->position < position) {
		status = SEG_OK;
		take_out(segment, shard, item, &b->entries[way]);
		seg_reclaim_some(segment, shard);
	}
	seg_unlock(shard);

	return status;
}

void seg_flush(seg *segment)
{
	for (uint32_t i = 0; i < SEG_SHARDS; i++) {
		seg_shard *shard = &segment->shards[i];
		if (!seg_lock(segment, shard)) {
			return;
		}
		while (shard->queue.tail) {
			seg_item *item = seg_at(segment, shard->queue.tail);
			SEG_POINT("flush");
			take_out(segment, shard, item, seg_entry(segment, item));
		}
		SEG_POINT("flush-reclaim");
		seg_reclaim(segment, shard, UINT64_MAX);
		SEG_POINT("flushed");
		seg_unlock(shard);
	}
}

void seg_count(seg *segment, seg_numbers *n)
{
	seg_header *h = segment->header;

	memset(n, 0, sizeof *n);
	n->bytes_total = segment->bytes;
	n->bytes_taken = atomic_load(&h->given);
	n->recoveries = atomic_load(&h->recoveries);
	n->damaged = h->damaged;
	n->damaged_at = h->damaged_at;
	n->hits = atomic_load(&h->hits) + segment->hits;
	n->misses = atomic_load(&h->misses) + segment->misses;
	n->copied = atomic_load(&h->copied) + segment->copied;
	for (uint32_t i = 0; i < SEG_SHARDS; i++) {
		seg_shard *shard = &segment->shards[i];
		if (!seg_lock(segment, shard)) {
			return;
		}
		/* To the end of the round that it is in, and a whole one. */
		seg_sweep(segment, shard, UINT64_MAX);
		seg_sweep(segment, shard, UINT64_MAX);
		seg_reclaim(segment, shard, UINT64_MAX);
		n->entries += shard->queue.count;
		n->bytes_used += shard->queue.bytes;
		n->retired_bytes += shard->retired.bytes;
		n->sets += atomic_load(&shard->sets);
		n->evictions += atomic_load(&shard->evictions);
		n->expired += atomic_load(&shard->expired);
		n->refused += atomic_load(&shard->refused);
		seg_unlock(shard);
	}
	seg_bury_the_dead(segment);
	uint32_t used = atomic_load(&h->used_slots);
	for (uint32_t i = 0; i < used; i++) {
		n->readers += atomic_load(&segment->slots[i].pinned) != 0;
	}
}
