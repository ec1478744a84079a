/*
 * Memory: units of half a KiB, runs of them, and slabs of small blocks.
 *
 * The values' part of the file is cut into units. A map with a word for each says who has it:
 *
 *     FREE 5 | . | . | . | FREE_END 5 | SLAB 9 | INSIDE -1 | INSIDE -2 | … | RUN 3 | INSIDE -1 | INSIDE -2 | …
 *
 * A free run has its length at both ends, so that what becomes free beside it joins it, and its neighbours in the list
 * of runs about as long (bins) inside it. What lies inside a free run in the map means nothing.
 *
 * A value of more than 1.5 KiB has a run of its own. Smaller ones are blocks of a slab: 9 units, cut into blocks of one
 * size (18 sizes, an eighth to a quarter apart), owned by one shard. A slab with no block in use becomes a free run.
 *
 * A slab is small on purpose. Each shard has slabs with free blocks of each size, which wait for a value of that size;
 * and where no block of the right size is free, a slab or a run is emptied whole, with what was read lately in it. With
 * slabs of 16 KiB that cost up to twelve points of hit ratio (../tests/core/sieve.c). Slabs of two lengths are worse
 * than those of either: a short one that is emptied leaves no room for a long one.
 *
 *     slab:  | head (64 bytes) | block | block | block | …
 *
 * Nothing moves. Where no run is long enough, or no slab of a size has a free block, the caller evicts and asks again.
 */
#include <string.h>

#include "segment.h"

#define SLAB_UNITS 9
#define SLAB_BYTES (SLAB_UNITS * SEG_UNIT)
#define LARGEST_BLOCK 1512

enum { INSIDE = 0, FREE = 1, FREE_END = 2, RUN = 3, SLAB = 4, QUARANTINE = 5 };

/* From 280 on what a slab holds of them, 16, 14, 12, 10 and so on, decides: nothing is left at its end. */
static const uint16_t classes[SEG_CLASSES] = {
	128, 144, 160, 176, 200, 224, 248, 280, 320, 376, 448, 504, 568, 648, 752, 904, 1136, LARGEST_BLOCK
};

typedef struct {
	seg_offset next_partial, previous_partial;   /* slabs of this shard and class with free blocks */
	seg_offset next, previous;                   /* all slabs of this shard, in a ring */
	seg_offset free;                             /* blocks that were used and are free, linked by their first word */
	uint32_t fresh;                              /* blocks from here on were never used */
	uint16_t capacity, used;
	uint8_t class, shard, is_partial, spare[5];
} slab;

_Static_assert(sizeof(slab) <= 64, "a slab's head is a cache line");

typedef struct {
	seg_offset next, previous;
} free_run;

/* ---- the map ---- */

static inline uint64_t word(unsigned kind, unsigned shard, uint64_t length)
{
	return (uint64_t) kind | (uint64_t) shard << 8 | length << 24;
}

static inline unsigned kind_of(uint64_t w) { return w & 255; }
static inline unsigned shard_of(uint64_t w) { return w >> 8 & 255; }
static inline uint64_t length_of(uint64_t w) { return w >> 24; }

static inline seg_offset unit_offset(const seg *segment, uint64_t unit)
{
	return segment->header->values + unit * SEG_UNIT;
}

static inline uint64_t unit_at(const seg *segment, seg_offset offset)
{
	return (offset - segment->header->values) / SEG_UNIT;
}

static void mark(seg *segment, uint64_t unit, unsigned kind, unsigned shard, uint64_t length)
{
	SEG_POINT("mark");
	segment->units[unit] = word(kind, shard, length);
	SEG_POINT("mark-first");
	for (uint64_t i = 1; i < length; i++) {
		segment->units[unit + i] = word(INSIDE, 0, i);
	}
	SEG_POINT("marked");
}

/* Four bins to each doubling, as in "TLSF: a new dynamic memory allocator" (Masmano and others, 2004). */
static int bin_of(uint64_t length)
{
	int bits = 63 - __builtin_clzll(length);
	int bin = bits < 2 ? (int) length - 1 : (bits - 2) * 4 + 3 + (int) (length >> (bits - 2) & 3);

	return bin < SEG_BINS ? bin : SEG_BINS - 1;
}

static void bin_add(seg *segment, uint64_t unit, uint64_t length)
{
	seg_offset *bin = &segment->header->bins[bin_of(length)], self = unit_offset(segment, unit);
	free_run *run = (free_run *) (segment->rw + self);

	SEG_POINT("bin-add");
	run->next = *bin;
	run->previous = 0;
	if (*bin) {
		((free_run *) (segment->rw + *bin))->previous = self;
	}
	SEG_POINT("bin-add-linked");
	*bin = self;
	SEG_POINT("bin-add-head");
	/* In this order: of a run of one unit the beginning is what stays. */
	segment->units[unit + length - 1] = word(FREE_END, 0, length);
	SEG_POINT("bin-add-end");
	segment->units[unit] = word(FREE, 0, length);
	SEG_POINT("bin-added");
}

static void bin_remove(seg *segment, uint64_t unit, uint64_t length)
{
	seg_offset self = unit_offset(segment, unit);
	free_run *run = (free_run *) (segment->rw + self);

	SEG_POINT("bin-remove");
	if (run->previous) {
		((free_run *) (segment->rw + run->previous))->next = run->next;
	} else {
		segment->header->bins[bin_of(length)] = run->next;
	}
	SEG_POINT("bin-remove-next");
	if (run->next) {
		((free_run *) (segment->rw + run->next))->previous = run->previous;
	}
	SEG_POINT("bin-removed");
}

/* Whether the chunk in which a unit lies has memory: of others nothing is looked at. */
static inline bool has_memory(const seg *segment, uint64_t unit)
{
	uint64_t chunk = unit / segment->header->chunk_units;

	return segment->header->chunks[chunk / 64] >> (chunk % 64) & 1;
}

/* Whether all of so many units are there, and have. */
static bool have_memory(const seg *segment, uint64_t unit, uint64_t length)
{
	const seg_header *h = segment->header;

	if (unit >= h->n_units || length > h->n_units - unit) {
		return false;
	}
	for (uint64_t chunk = unit / h->chunk_units * h->chunk_units; chunk < unit + length; chunk += h->chunk_units) {
		if (!has_memory(segment, chunk)) {
			return false;
		}
	}

	return true;
}

/* The unit itself, or the first of the next chunk that has memory; n_units: none has. */
static inline uint64_t with_memory(const seg *segment, uint64_t unit)
{
	const seg_header *h = segment->header;

	/* Only where a chunk begins: no run begins in one and ends in another that has none. */
	while (unit < h->n_units && unit % h->chunk_units == 0 && !has_memory(segment, unit)) {
		unit += h->chunk_units;
	}

	return unit;
}

/* The same, from the beginning again behind the last: the first chunk always has memory. */
static inline uint64_t around(const seg *segment, uint64_t unit)
{
	unit = with_memory(segment, unit);

	return unit < segment->header->n_units ? unit : with_memory(segment, 0);
}

/* Whether a free run can begin there: nothing is read, and nothing written, by a damaged link. */
static bool is_free_run(seg *segment, seg_offset at)
{
	const seg_header *h = segment->header;

	if (at < h->values || at >= h->values + h->n_units * SEG_UNIT || (at - h->values) % SEG_UNIT) {
		return false;
	}
	uint64_t unit = unit_at(segment, at), w = has_memory(segment, unit) ? segment->units[unit] : 0;

	return kind_of(w) == FREE && length_of(w) && length_of(w) <= h->n_units - unit;
}

static bool is_linked(seg *segment, seg_offset at)
{
	const free_run *run = (const free_run *) (segment->rw + at);

	return (!run->next || is_free_run(segment, run->next)) && (!run->previous || is_free_run(segment, run->previous));
}

static const char map_damaged[] = "its map of memory is damaged";

/* The first that fits, in the bin of its length; else any of a higher one. Returns the unit, or -1. */
static int64_t run_take(seg *segment, unsigned kind, unsigned shard, uint64_t length)
{
	seg_header *h = segment->header;

	for (int bin = bin_of(length); bin < SEG_BINS; bin++) {
		/* Runs of one bin differ by a quarter: a few are looked at, not all. */
		int looked = 0;
		for (seg_offset at = h->bins[bin]; at && looked < 16; at = ((free_run *) (segment->rw + at))->next, looked++) {
			if (UNLIKELY(!is_free_run(segment, at))) {
				seg_lose(segment, map_damaged);
				return -1;
			}
			uint64_t unit = unit_at(segment, at), there = length_of(segment->units[unit]);
			if (there < length) {
				continue;
			}
			if (UNLIKELY(!is_linked(segment, at))) {
				seg_lose(segment, map_damaged);
				return -1;
			}
			SEG_POINT("run-take");
			bin_remove(segment, unit, there);
			SEG_POINT("run-take-removed");
			if (there > length) {
				bin_add(segment, unit + length, there - length);
			}
			SEG_POINT("run-take-rest");
			mark(segment, unit, kind, shard, length);
			SEG_POINT("run-take-marked");
			h->free_units -= length;
			SEG_POINT("run-taken");
			return (int64_t) unit;
		}
	}

	return -1;
}

static void run_give(seg *segment, uint64_t unit, uint64_t length)
{
	seg_header *h = segment->header;

	SEG_POINT("run-give");
	h->free_units += length;
	SEG_POINT("run-give-counted");
	if (unit > 0 && has_memory(segment, unit - 1)) {
		uint64_t before = segment->units[unit - 1];
		if (kind_of(before) == FREE_END || (kind_of(before) == FREE && length_of(before) == 1)) {
			seg_offset at = unit_offset(segment, unit - length_of(before));
			if (UNLIKELY(length_of(before) > unit || !is_free_run(segment, at) || !is_linked(segment, at))) {
				seg_lose(segment, map_damaged);
				return;
			}
			unit -= length_of(before);
			length += length_of(before);
			bin_remove(segment, unit, length_of(before));
		}
	}
	if (unit + length < h->n_units && has_memory(segment, unit + length)) {
		uint64_t after = segment->units[unit + length];
		if (kind_of(after) == FREE) {
			seg_offset at = unit_offset(segment, unit + length);
			if (UNLIKELY(!is_free_run(segment, at) || !is_linked(segment, at))) {
				seg_lose(segment, map_damaged);
				return;
			}
			bin_remove(segment, unit + length, length_of(after));
			length += length_of(after);
		}
	}
	SEG_POINT("run-give-joined");
	bin_add(segment, unit, length);
	SEG_POINT("run-give-added");
	if (h->window > unit && h->window < unit + length) {
		h->window = unit;
	}
	SEG_POINT("run-given");
}

void seg_units_init(seg *segment)
{
	memset(segment->header->bins, 0, sizeof segment->header->bins);
	segment->header->free_units = segment->header->given_units;
	segment->header->window = 0;
	bin_add(segment, 0, segment->header->given_units);
}

/* Memory for so many chunks more, side by side, that a run of this length fits in. Under the lock of the units. */
static bool get_chunks(seg *segment, uint64_t length)
{
	seg_header *h = segment->header;
	uint64_t needed = (length + h->chunk_units - 1) / h->chunk_units, n = (h->n_units + h->chunk_units - 1) / h->chunk_units, found = 0;

	if (h->given_units == h->n_units || !seg_may_grow(segment, needed * h->chunk_units * SEG_UNIT)) {
		return false;
	}
	for (uint64_t chunk = 0; chunk < n; chunk++) {
		found = has_memory(segment, chunk * h->chunk_units) ? 0 : found + 1;
		if (found < needed) {
			continue;
		}
		uint64_t first = chunk + 1 - needed, unit = first * h->chunk_units;
		uint64_t units = (chunk + 1) * h->chunk_units < h->n_units ? needed * h->chunk_units : h->n_units - unit;
		/* The last one is shorter. */
		if (units < length) {
			return false;
		}
		if (!seg_get_memory(segment, unit_offset(segment, unit), units * SEG_UNIT)
			|| !seg_get_memory(segment, h->units + unit * sizeof *segment->units, units * sizeof *segment->units)) {
			return false;
		}
		for (; first <= chunk; first++) {
			h->chunks[first / 64] |= UINT64_C(1) << (first % 64);
			SEG_POINT("chunk-given");
		}
		h->given_units += units;
		SEG_POINT("chunks-given");
		run_give(segment, unit, units);
		return true;
	}

	return false;
}

/* The whole chunks of a free run, but not the first of all, have no memory any more. */
static void drop_chunks_of(seg *segment, uint64_t unit, uint64_t length)
{
	seg_header *h = segment->header;
	uint64_t end = unit + length, first = (unit + h->chunk_units - 1) / h->chunk_units, last = end == h->n_units ? (end + h->chunk_units - 1) / h->chunk_units : end / h->chunk_units;

	first = first ? first : 1;
	if (first >= last) {
		return;
	}
	uint64_t from = first * h->chunk_units, to = last * h->chunk_units < end ? last * h->chunk_units : end;
	bin_remove(segment, unit, length);
	for (; first < last; first++) {
		h->chunks[first / 64] &= ~(UINT64_C(1) << (first % 64));
		SEG_POINT("chunk-dropped");
	}
	h->given_units -= to - from;
	h->free_units -= to - from;
	if (unit < from) {
		bin_add(segment, unit, from - unit);
	}
	if (to < end) {
		bin_add(segment, to, end - to);
	}
	SEG_POINT("chunks-dropped");
}

/* What is free, whole chunks of it, and the map's pages that are for nothing else; also what a death has left. Under all locks. */
void seg_drop_chunks(seg *segment)
{
	seg_header *h = segment->header;
	uint64_t gone = 0;

	for (uint64_t unit = 0, length; (unit = with_memory(segment, unit)) < h->n_units; unit += length) {
		uint64_t w = segment->units[unit];
		length = length_of(w);
		if (UNLIKELY(!length || length > h->n_units - unit)) {
			seg_lose(segment, map_damaged);
			return;
		}
		if (kind_of(w) == FREE) {
			drop_chunks_of(segment, unit, length);
		}
	}
	for (uint64_t unit = 0; gone < h->n_units; gone = unit + h->chunk_units) {
		/* From one chunk that has memory to the next that has. */
		unit = with_memory(segment, gone);
		unit = unit < h->n_units ? unit : h->n_units;
		seg_drop_memory(segment, unit_offset(segment, gone), (unit - gone) * SEG_UNIT);
		seg_drop_memory(segment, h->units + gone * sizeof *segment->units, (unit - gone) * sizeof *segment->units);
	}
	h->window = 0;
}

/* A run, of memory that is there or is to be had. */
static int64_t run_get(seg *segment, unsigned kind, unsigned shard, uint64_t length)
{
	int64_t unit = run_take(segment, kind, shard, length);

	return unit < 0 && !segment->lost && get_chunks(segment, length) ? run_take(segment, kind, shard, length) : unit;
}

/* ---- slabs ---- */

/* By bytes, in granules of 8. */
static uint8_t class_of[LARGEST_BLOCK / 8 + 1];

/* Once a process, before it opens anything. */
void seg_make_classes(void)
{
	uint8_t class = 0;

	for (unsigned i = 0; i <= LARGEST_BLOCK / 8; i++) {
		class += i * 8 > classes[class];
		class_of[i] = class;
	}
}

int seg_class(uint64_t bytes)
{
	return bytes <= LARGEST_BLOCK ? class_of[(bytes + 7) / 8] : -1;
}

/* What it takes of memory. */
uint64_t seg_block_bytes(const seg_item *item)
{
	uint64_t bytes = seg_item_bytes(item);
	int class = seg_class(bytes);

	return class < 0 ? (bytes + SEG_UNIT - 1) / SEG_UNIT * SEG_UNIT : classes[class];
}

static inline slab *slab_at(const seg *segment, seg_offset offset)
{
	return (slab *) (segment->rw + offset);
}

static void partial_add(seg *segment, seg_shard *shard, slab *s)
{
	seg_offset self = seg_of(segment, s);

	SEG_POINT("partial-add");
	s->previous_partial = 0;
	s->next_partial = shard->partial[s->class];
	if (s->next_partial) {
		slab_at(segment, s->next_partial)->previous_partial = self;
	}
	SEG_POINT("partial-add-linked");
	shard->partial[s->class] = self;
	SEG_POINT("partial-add-head");
	s->is_partial = 1;
	SEG_POINT("partial-added");
}

static void partial_remove(seg *segment, seg_shard *shard, slab *s)
{
	SEG_POINT("partial-remove");
	if (s->previous_partial) {
		slab_at(segment, s->previous_partial)->next_partial = s->next_partial;
	} else {
		shard->partial[s->class] = s->next_partial;
	}
	SEG_POINT("partial-remove-next");
	if (s->next_partial) {
		slab_at(segment, s->next_partial)->previous_partial = s->previous_partial;
	}
	SEG_POINT("partial-remove-previous");
	s->is_partial = 0;
	SEG_POINT("partial-removed");
}

static void ring_add(seg *segment, seg_shard *shard, slab *s)
{
	seg_offset self = seg_of(segment, s);

	if (!shard->slabs) {
		s->next = s->previous = self;
		shard->slabs = self;
		return;
	}
	slab *first = slab_at(segment, shard->slabs), *last = slab_at(segment, first->previous);
	s->next = shard->slabs;
	s->previous = first->previous;
	SEG_POINT("ring-add");
	last->next = self;
	SEG_POINT("ring-add-next");
	first->previous = self;
	SEG_POINT("ring-added");
}

static void ring_remove(seg *segment, seg_shard *shard, slab *s)
{
	seg_offset self = seg_of(segment, s);

	if (s->next == self) {
		shard->slabs = 0;
		return;
	}
	SEG_POINT("ring-remove");
	slab_at(segment, s->previous)->next = s->next;
	SEG_POINT("ring-remove-next");
	slab_at(segment, s->next)->previous = s->previous;
	SEG_POINT("ring-remove-previous");
	if (shard->slabs == self) {
		shard->slabs = s->next;
	}
	SEG_POINT("ring-removed");
}

/* Whether a slab's head can be one. */
static bool is_slab(const slab *s)
{
	return s->class < SEG_CLASSES && s->shard < SEG_SHARDS && s->capacity == (SLAB_BYTES - 64) / classes[s->class] && s->fresh <= s->capacity && s->used <= s->capacity;
}

static const char slab_damaged[] = "a slab of it is damaged";

static slab *slab_make(seg *segment, seg_shard *shard, uint64_t unit, int class)
{
	slab *s = slab_at(segment, unit_offset(segment, unit));

	SEG_POINT("slab-make");
	memset(s, 0, 64);
	s->class = (uint8_t) class;
	s->shard = (uint8_t) (shard - segment->shards);
	s->capacity = (uint16_t) ((SLAB_BYTES - 64) / classes[class]);
	SEG_POINT("slab-make-head");
	ring_add(segment, shard, s);
	SEG_POINT("slab-make-ring");
	partial_add(segment, shard, s);
	SEG_POINT("slab-made");

	return s;
}

static inline seg_item *block(const slab *s, unsigned number)
{
	return (seg_item *) ((char *) s + 64 + (size_t) number * classes[s->class]);
}

seg_offset seg_alloc(seg *segment, seg_shard *shard, uint64_t bytes, uint32_t *home)
{
	int class = seg_class(bytes);
	unsigned number = (unsigned) (shard - segment->shards);
	int64_t unit;

	if (class < 0) {
		uint64_t length = (bytes + SEG_UNIT - 1) / SEG_UNIT;
		if (length > segment->header->n_units) {
			return 0;
		}
		if (!seg_lock_units(segment)) {
			return 0;
		}
		unit = seg_is_broken(segment) ? -1 : run_get(segment, RUN, number, length);
		seg_unlock_units(segment);
		*home = (uint32_t) unit;
		return unit < 0 ? 0 : unit_offset(segment, (uint64_t) unit);
	}

	slab *s;
	if (shard->partial[class]) {
		s = slab_at(segment, shard->partial[class]);
	} else {
		if (!seg_lock_units(segment)) {
			return 0;
		}
		unit = seg_is_broken(segment) ? -1 : run_get(segment, SLAB, number, SLAB_UNITS);
		seg_unlock_units(segment);
		if (unit < 0) {
			return 0;
		}
		SEG_POINT("alloc-slab");
		s = slab_make(segment, shard, (uint64_t) unit, class);
	}
	/* Its line is needed anyway. A block is taken out of it, and never what lies behind. */
	if (UNLIKELY(!is_slab(s) || s->class != class || s->shard != number || s->used == s->capacity
		|| (s->free ? s->free - seg_of(segment, s) - 64 >= SLAB_BYTES - 64 - sizeof(seg_item) : s->fresh == s->capacity))) {
		seg_lose(segment, slab_damaged);
		return 0;
	}
	seg_item *item;
	SEG_POINT("alloc");
	if (s->free) {
		item = (seg_item *) (segment->rw + s->free);
		memcpy(&s->free, item, sizeof s->free);
		SEG_POINT("alloc-used-block");
	} else {
		item = block(s, s->fresh++);
		SEG_POINT("alloc-fresh-block");
	}
	if (++s->used == s->capacity) {
		SEG_POINT("alloc-full");
		partial_remove(segment, shard, s);
	}
	SEG_POINT("allocated");
	*home = (uint32_t) unit_at(segment, seg_of(segment, s));

	return seg_of(segment, item);
}

/* Where the map is broken it is not to be read; the repair that must follow finds that these units have no owner. */
static void give_back(seg *segment, uint64_t unit, uint64_t length)
{
	if (!seg_lock_units(segment)) {
		return;
	}
	if (!seg_is_broken(segment)) {
		run_give(segment, unit, length);
	}
	seg_unlock_units(segment);
}

void seg_free(seg *segment, seg_shard *shard, seg_item *item)
{
	uint64_t bytes = seg_item_bytes(item), unit = item->home;

	SEG_POINT("free");
	item->state = 0;
	SEG_POINT("free-state");
	if (seg_class(bytes) < 0) {
		give_back(segment, unit, (bytes + SEG_UNIT - 1) / SEG_UNIT);
		return;
	}
	slab *s = slab_at(segment, unit_offset(segment, unit));
	if (UNLIKELY(unit + SLAB_UNITS > segment->header->n_units || !is_slab(s) || !s->used || &segment->shards[s->shard] != shard)) {
		seg_lose(segment, slab_damaged);
		return;
	}
	memcpy(item, &s->free, sizeof s->free);
	SEG_POINT("free-linked");
	s->free = seg_of(segment, item);
	SEG_POINT("free-head");
	s->used--;
	SEG_POINT("free-counted");
	if (!s->is_partial) {
		partial_add(segment, shard, s);
	}
	if (s->used == 0) {
		SEG_POINT("free-slab");
		partial_remove(segment, shard, s);
		ring_remove(segment, shard, s);
		SEG_POINT("free-slab-removed");
		give_back(segment, unit, SLAB_UNITS);
	}
	SEG_POINT("freed");
}

/* ---- making room where evicting by age does not ---- */

/* The slab may be gone, and be another's, when the last of its items is: so they are counted before. */
static void evict_all(seg *segment, seg_shard *shard, slab *s)
{
	unsigned live = 0;

	for (unsigned n = 0; n < s->fresh; n++) {
		live += block(s, n)->state == SEG_LIVE;
	}
	for (unsigned n = 0; live; n++) {
		seg_item *item = block(s, n);
		if (item->state == SEG_LIVE) {
			live--;
			seg_evict_item(segment, shard, item);
		}
	}
}

/*
 * Evicts all items of one slab of this shard: of four, that with the fewest items that were read lately. Its blocks
 * are free when no process reads them any more.
 */
bool seg_clear_a_slab(seg *segment, seg_shard *shard)
{
	slab *best = NULL;
	unsigned least = ~0u;

	if (!shard->slabs) {
		return false;
	}
	slab *s = slab_at(segment, shard->slabs);
	for (int i = 0; i < 4; i++, s = slab_at(segment, s->next)) {
		unsigned read = 0, live = 0;
		if (UNLIKELY(!is_slab(s))) {
			seg_lose(segment, slab_damaged);
			return false;
		}
		for (unsigned n = 0; n < s->fresh; n++) {
			seg_item *item = block(s, n);
			if (item->state == SEG_LIVE) {
				live++;
				_Atomic uint64_t *entry = seg_entry(segment, item);
				if (entry) {
					seg_bucket *b = (seg_bucket *) ((uintptr_t) entry & ~(uintptr_t) 63);
					read += atomic_load_explicit(&b->visited, memory_order_relaxed) >> (entry - b->entries) & 1;
				}
			}
		}
		if (live && read * 64 + live < least) {
			least = read * 64 + live;
			best = s;
		}
	}
	/* The next time others are looked at. */
	shard->slabs = seg_of(segment, s);
	if (!best) {
		return false;
	}
	evict_all(segment, shard, best);

	return true;
}

/* What evicting all of a stretch would cost. */
typedef struct {
	uint64_t unit, end;
	uint64_t read, live;               /* items, of which so many were read lately */
} stretch;

/* False: it cannot be had, because a process reads or writes it. */
static bool weigh(seg *segment, const seg_item *item, stretch *s)
{
	_Atomic uint64_t *entry = item->state == SEG_LIVE ? seg_entry(segment, item) : NULL;

	if (!entry || seg_is_held(segment, item)) {
		return false;
	}
	seg_bucket *b = (seg_bucket *) ((uintptr_t) entry & ~(uintptr_t) 63);
	s->live++;
	s->read += atomic_load_explicit(&b->visited, memory_order_relaxed) >> (entry - b->entries) & 1;

	return true;
}

/* Adds what begins at a unit. */
static bool can_be_cleared(seg *segment, uint64_t unit, uint64_t w, stretch *s)
{
	seg_item *item = seg_at(segment, unit_offset(segment, unit));

	switch (kind_of(w)) {
		case FREE:
			return true;
		case RUN:
			return weigh(segment, item, s);
		case SLAB:
			if (UNLIKELY(!is_slab(slab_at(segment, unit_offset(segment, unit))))) {
				seg_lose(segment, slab_damaged);
				return false;
			}
			for (unsigned n = 0; n < slab_at(segment, unit_offset(segment, unit))->fresh; n++) {
				item = block(slab_at(segment, unit_offset(segment, unit)), n);
				if (item->state && !weigh(segment, item, s)) {
					return false;
				}
			}
			return true;
		default:
			return false;
	}
}

/*
 * Where even the cheapest stretch had mostly been read, large values on the way there are as if they had not: else those
 * that were read once, long ago, would stay for ever, and what comes new would go.
 */
static void pass_over(seg *segment, uint64_t unit, uint64_t end)
{
	while (unit != end) {
		uint64_t w = segment->units[unit];
		if (kind_of(w) == RUN) {
			seg_forget_visit(segment, seg_at(segment, unit_offset(segment, unit)));
		}
		unit = around(segment, unit + length_of(w));
	}
}

static uint64_t cost_of(const stretch *s)
{
	return s->read * 64 + s->live;
}

/* All of the chunks that have memory between two that have none, and hold something; the first of all keeps its memory. */
static bool is_island(const seg *segment, const stretch *s)
{
	return s->live && s->unit && s->unit % segment->header->chunk_units == 0 && !has_memory(segment, s->unit - 1) && around(segment, s->end) != s->end;
}

/* So many units are looked at, half a MiB at least, before the cheapest stretch among them is taken. */
#define LOOKED_AT (512 * 1024 / SEG_UNIT)

/*
 * For a value for which there is no run: the cheapest of a few stretches of memory that are long enough, whoever its
 * items belong to, is emptied. Where memory is in pieces, evicting the least used would take very many of them to leave
 * one long run. Under all shards' locks. False: there is no such stretch; then nothing was evicted.
 *
 * To give memory back: chunks that stand alone will do, and what is empty already will not.
 */
bool seg_clear_stretch(seg *segment, uint64_t bytes, bool give_back)
{
	seg_header *h = segment->header;
	uint64_t needed = seg_class(bytes) < 0 ? (bytes + SEG_UNIT - 1) / SEG_UNIT : SLAB_UNITS, looked = 0;
	stretch best = {0, 0, 0, 0}, s = {0, 0, 0, 0};

	for (uint32_t i = 0; i < SEG_SHARDS; i++) {
		seg_reclaim(segment, &segment->shards[i], UINT64_MAX);
	}
	s.unit = s.end = h->window = around(segment, h->window);
	while (looked < h->given_units && (!best.end || looked < LOOKED_AT)) {
		uint64_t next = around(segment, s.end);
		if (next != s.end) {
			s = (stretch) {next, next, 0, 0};
		}
		uint64_t w = segment->units[s.end], length = length_of(w);
		if (UNLIKELY(!length || length > h->n_units - s.end)) {
			seg_lose(segment, map_damaged);
			return false;
		}
		bool can = can_be_cleared(segment, s.end, w, &s);
		s.end += length;
		looked += length;
		if (!can) {
			s = (stretch) {s.end, s.end, 0, 0};
		} else if (s.end - s.unit >= needed || (give_back && is_island(segment, &s))) {
			if ((!best.end || cost_of(&s) < cost_of(&best)) && (s.live || !give_back)) {
				best = s;
			}
			s = (stretch) {s.end, s.end, 0, 0};
		}
	}
	if (!best.end) {
		return false;
	}
	if (2 * best.read >= best.live) {
		pass_over(segment, h->window, best.unit);
	}
	/* The next time others; set before, because what becomes free is joined, and moves it to where that begins. */
	h->window = best.end < h->n_units ? best.end : 0;
	for (uint64_t unit = best.unit, length; unit < best.end; unit += length) {
		uint64_t w = segment->units[unit];
		/* The last unit of a run that has become free and joined its neighbours: it was one long. */
		length = kind_of(w) == FREE_END ? 1 : length_of(w);
		if (UNLIKELY(segment->lost || !length)) {
			seg_lose(segment, map_damaged);
			return false;
		}
		SEG_POINT("clear-stretch");
		if (kind_of(w) == RUN) {
			seg_item *item = seg_at(segment, unit_offset(segment, unit));
			seg_evict_item(segment, seg_shard_of(segment, item->hash), item);
		} else if (kind_of(w) == SLAB) {
			evict_all(segment, &segment->shards[shard_of(w)], slab_at(segment, unit_offset(segment, unit)));
		}
	}
	SEG_POINT("stretch-cleared");

	return true;
}

/* ---- everything anew, under all locks ---- */

/* Whether an item that the index names can be one: nothing in it is believed that is not looked at here. */
bool seg_owned(seg *segment, seg_shard *shard, seg_offset offset)
{
	seg_header *h = segment->header;

	if (offset < h->values || offset + sizeof(seg_item) > h->bytes || offset % 8) {
		return false;
	}
	if (!have_memory(segment, unit_at(segment, offset), 1 + unit_at(segment, offset + sizeof(seg_item) - 1) - unit_at(segment, offset))) {
		return false;
	}
	seg_item *item = seg_at(segment, offset);
	uint64_t bytes = seg_item_bytes(item);
	int class = seg_class(bytes);
	if (bytes < seg_item_head(item->key_length) || item->home >= h->n_units || seg_shard_of(segment, item->hash) != shard) {
		return false;
	}
	seg_offset home = unit_offset(segment, item->home);
	if (class < 0) {
		return home == offset && have_memory(segment, item->home, (bytes + SEG_UNIT - 1) / SEG_UNIT);
	}

	return have_memory(segment, item->home, SLAB_UNITS) && offset >= home + 64
		&& (offset - home - 64) % classes[class] == 0 && (offset - home - 64) / classes[class] < (SLAB_BYTES - 64u) / classes[class];
}

/*
 * The map and the slabs as if only these items existed: begin, then each item, then the end.
 *
 * What has no owner becomes free, except where a process reads: that may be a retired value, of which nothing tells any
 * more. It is set apart (QUARANTINE) until a later settling finds no reader there.
 */
void seg_settle_begin(seg *segment, bool broken)
{
	SEG_POINT("settle-begin");
	for (uint32_t i = 0; !broken && i < SEG_SHARDS; i++) {
		/* From here on a block is judged by its state, also one that was never used. */
		seg_offset first = segment->shards[i].slabs, at = first;
		while (at) {
			slab *s = slab_at(segment, at);
			for (unsigned n = s->fresh; n < s->capacity; n++) {
				block(s, n)->state = 0;
			}
			at = s->next == first ? 0 : s->next;
		}
	}
	uint64_t given = 0, chunk = segment->header->chunk_units;
	for (uint64_t unit = 0; (unit = with_memory(segment, unit)) < segment->header->n_units; unit += chunk) {
		uint64_t length = chunk < segment->header->n_units - unit ? chunk : segment->header->n_units - unit;
		memset(segment->units + unit, 0, length * sizeof *segment->units);
		given += length;
	}
	SEG_POINT("settle-begin-units");
	memset(segment->header->bins, 0, sizeof segment->header->bins);
	segment->header->given_units = given;
	segment->header->free_units = 0;
	segment->header->window = 0;
	SEG_POINT("settle-begin-bins");
	for (uint32_t i = 0; i < SEG_SHARDS; i++) {
		memset(segment->shards[i].partial, 0, sizeof segment->shards[i].partial);
		segment->shards[i].slabs = 0;
	}
}

/* False: another item lies there already, so that one of the two is not what the index says. */
bool seg_settle_item(seg *segment, seg_shard *shard, seg_item *item)
{
	uint64_t bytes = seg_item_bytes(item), length = (bytes + SEG_UNIT - 1) / SEG_UNIT;
	unsigned number = (unsigned) (shard - segment->shards);
	int class = seg_class(bytes);

	if (class >= 0 && kind_of(segment->units[item->home]) == SLAB) {
		slab *s = slab_at(segment, unit_offset(segment, item->home));
		return s->class == class && s->shard == number;
	}
	length = class < 0 ? length : SLAB_UNITS;
	for (uint64_t i = 0; i < length; i++) {
		if (segment->units[item->home + i]) {
			return false;
		}
	}
	SEG_POINT("settle-item");
	mark(segment, item->home, class < 0 ? RUN : SLAB, number, length);
	SEG_POINT("settle-item-marked");
	if (class >= 0) {
		slab *s = slab_make(segment, shard, item->home, class);
		/* Every block counts as used before: which are free is found at the end, by their state. */
		s->fresh = s->capacity;
		SEG_POINT("settle-item-slab");
	}

	return true;
}

/* Whether a process may hold something of what lies in these units. */
static bool is_read(seg *segment, uint64_t unit, uint64_t units)
{
	uint64_t last = (unit_offset(segment, unit + units) - 1) / SEG_PAGE;

	for (uint64_t page = unit_offset(segment, unit) / SEG_PAGE; page <= last; page++) {
		if (seg_is_pinned(segment, page)) {
			return true;
		}
	}

	return false;
}

/* Blocks that no item owns. True: all of them are free; else the slab looks full, and a later settling looks again. */
static bool settle_slab(seg *segment, slab *s, bool (*owned)(seg *, const seg_item *))
{
	bool read = is_read(segment, unit_at(segment, seg_of(segment, s)), SLAB_UNITS);
	unsigned used = 0;

	for (unsigned n = 0; n < s->capacity; n++) {
		seg_item *item = block(s, n);
		if (item->state && owned(segment, item)) {
			used++;
		} else if (!read) {
			item->state = 0;
			memcpy(item, &s->free, sizeof s->free);
			SEG_POINT("settle-block");
			s->free = seg_of(segment, item);
		} else {
			/* A reader of it does not look at this. */
			item->state = SEG_LOST;
			SEG_POINT("settle-lost");
		}
	}
	SEG_POINT("settle-slab");
	s->used = (uint16_t) (read ? s->capacity : used);
	if (s->used == s->capacity) {
		partial_remove(segment, &segment->shards[s->shard], s);
	}

	return !read || used == s->capacity;
}

/* owned(item) says whether a block of a slab is one of those that were settled. True: nothing was set apart. */
bool seg_settle_end(seg *segment, bool (*owned)(seg *, const seg_item *))
{
	seg_header *h = segment->header;
	uint64_t page = SEG_NONE;
	bool all = true, is_page_read = false;

	for (uint64_t unit = 0; (unit = with_memory(segment, unit)) < h->n_units;) {
		uint64_t w = segment->units[unit], end = unit;
		if (kind_of(w) == RUN) {
			unit += length_of(w);
			continue;
		}
		if (kind_of(w) == SLAB) {
			all = settle_slab(segment, slab_at(segment, unit_offset(segment, unit)), owned) && all;
			unit += SLAB_UNITS;
			continue;
		}
		/* Free, or set apart: the next stretch of the one or the other. */
		bool read = is_page_read;
		for (; end < h->n_units && has_memory(segment, end) && !segment->units[end]; end++) {
			uint64_t its = unit_offset(segment, end) / SEG_PAGE;
			/* Asked once a page: the next time it could be otherwise. A unit does not cross one: both begin at multiples of a unit. */
			if (its != page) {
				page = its;
				is_page_read = seg_is_pinned(segment, page);
			}
			if (end == unit) {
				read = is_page_read;
			} else if (is_page_read != read) {
				break;
			}
		}
		SEG_POINT("settle-rest");
		if (read) {
			mark(segment, unit, QUARANTINE, 0, end - unit);
			SEG_POINT("settle-set-apart");
			all = false;
		} else {
			h->free_units += end - unit;
			bin_add(segment, unit, end - unit);
			SEG_POINT("settle-free");
		}
		unit = end;
	}

	return all;
}

/* ---- the invariants ---- */

/* Whether the map says of every unit what is true, and every block in use is one of so many items. Under all locks. */
const char *seg_check_memory(seg *segment, uint64_t items)
{
	seg_header *h = segment->header;
	uint64_t free = 0, binned = 0, used = 0;
	bool was_free = false;

	uint64_t given = 0;
	for (uint64_t unit = 0, next; (next = with_memory(segment, unit)) < h->n_units;) {
		was_free = was_free && next == unit;
		unit = next;
		uint64_t w = segment->units[unit], length = length_of(w);
		given += length;
		if (!length || unit + length > h->n_units) {
			return "a run in the map that has no length, or ends outside";
		}
		switch (kind_of(w)) {
			case FREE:
				if (was_free) {
					return "two free runs side by side";
				}
				if (length > 1 && segment->units[unit + length - 1] != word(FREE_END, 0, length)) {
					return "a free run whose ends differ";
				}
				free += length;
				break;
			case RUN:
			case SLAB:
			case QUARANTINE:
				for (uint64_t i = 1; i < length; i++) {
					if (segment->units[unit + i] != word(INSIDE, 0, i)) {
						return "the inside of a run that is not its own";
					}
				}
				used += kind_of(w) == RUN;
				break;
			default:
				return "an unknown word in the map";
		}
		was_free = kind_of(w) == FREE;
		unit += length;
	}
	if (given != h->given_units) {
		return "units with memory that were miscounted";
	}
	if (free != h->free_units) {
		return "free units that were miscounted";
	}
	for (int bin = 0; bin < SEG_BINS; bin++) {
		for (seg_offset at = h->bins[bin]; at; at = ((free_run *) (segment->rw + at))->next) {
			uint64_t w = segment->units[unit_at(segment, at)];
			if (kind_of(w) != FREE) {
				return "a run among the free ones that is not";
			}
			if (bin_of(length_of(w)) != bin || (binned += length_of(w)) > free) {
				return "a free run in a bin that is not its own, or twice";
			}
		}
	}
	if (binned != free) {
		return "a free run that is in no bin";
	}
	for (uint32_t i = 0; i < SEG_SHARDS; i++) {
		seg_offset first = segment->shards[i].slabs;
		for (seg_offset at = first; at;) {
			slab *s = slab_at(segment, at);
			unsigned busy = 0, loose = 0;
			if (s->shard != i || segment->units[unit_at(segment, at)] != word(SLAB, i, SLAB_UNITS)) {
				return "a slab that the map does not know";
			}
			for (seg_offset block_at = s->free; block_at && loose <= s->capacity; loose++) {
				memcpy(&block_at, segment->rw + block_at, sizeof block_at);
			}
			for (unsigned n = 0; n < s->fresh; n++) {
				busy += block(s, n)->state != 0;
			}
			/* After a repair a slab of which a process reads looks full. */
			if (!atomic_load(&h->quarantine) && (busy != s->used || busy + loose != s->fresh)) {
				return "a slab whose blocks were miscounted";
			}
			if (s->is_partial != (s->used < s->capacity)) {
				return "a slab among the partial ones that is not, or the other way round";
			}
			used += busy;
			at = s->next == first ? 0 : s->next;
		}
	}
	/* Blocks that are being filled are used as well, and one that a dead writer left is until the next repair. */
	if (used < items) {
		return "fewer blocks in use than items";
	}

	return NULL;
}
