/*
 * The publish race, in every interleaving.
 *
 * A model of ../../segment/pins.c, step by step as that is: one reader, one writer, two keys, three pages of two cells
 * each, in which values lie that are a cell long, or two (across a page's end), or four (a whole page in the middle).
 * Between any two steps of the one the other may go on. Each step reads or writes one word that they share, and all are
 * sequentially consistent, as the atomic operations there are.
 *
 *   reader   twice: look; have the bits? else set them, one after the other, and look again; use what was found,
 *            to the request's end; then clear the bits
 *   writer   take cells that are free; fill them, in two steps; name them in the index; look at the bits of what was
 *            there; free it, or retire it; look at what is retired again; and once a death is repaired: what was
 *            retired is forgotten, and what neither the index names nor a bit covers becomes free
 *
 * What must never be seen: that a cell which the reader uses is another value's, or only half filled.
 *
 * Each of the broken variants leaves one thing out; the same search must find what is wrong with each.
 */
#include "core.h"

#define PAGES 3
#define CELLS (2 * PAGES)
#define KEYS 2

typedef enum { SOUND, NO_SECOND_LOOK, BITS_FIRST, BIT_AFTER_LOOK, FIRST_PAGE_ONLY, PAGES_BY_ITEM, VARIANTS } variant;

static const char *const variants[VARIANTS] = {
	"as it is",
	"no second look",
	"the bits are looked at before it is taken from the index",
	"the bit is set after the second look",
	"only the first page is held, and a repair frees the others",
	"the pages are read from the item, not from the index",
};

/* Where a value may lie: cells from … to …. */
typedef struct { uint8_t first, last; } extent;
static const extent extents[] = {{0, 0}, {0, 0}, {1, 1}, {2, 2}, {1, 2}, {1, 4}};
#define EXTENTS 6                      /* 0: none */

static inline uint8_t pages_of(uint8_t e)
{
	uint8_t bits = 0;

	for (int page = extents[e].first / 2; page <= extents[e].last / 2; page++) {
		bits |= (uint8_t) (1 << page);
	}

	return bits;
}

/* Whether it can be held by whoever has these bits: as seg_is_held(). */
static inline bool is_held(uint8_t e, uint8_t bits, variant v)
{
	int first = extents[e].first / 2, last = extents[e].last / 2;
	int other = v == FIRST_PAGE_ONLY ? first : last - first > 1 ? first + 1 : last;

	return bits >> first & 1 && bits >> other & 1;
}

/* Generations tell values apart; a cell is free (0), or has part of a value, half or wholly filled. */
typedef struct {
	uint8_t generation[CELLS];
	uint8_t extent_in[CELLS];          /* what the header of a value that begins here says */
	uint8_t filled;                    /* a bit a cell */
	uint8_t index[KEYS];               /* extents; a value's generation is that of its first cell */
	uint8_t retired[4];                /* extents */
	uint8_t bits;
	/* the writer */
	uint8_t w_step, w_key, w_extent, w_old, w_left, w_generation, w_saw, died;
	/* the reader */
	uint8_t r_step, r_key, r_found, r_guarded, r_fresh, r_pages, r_kept[KEYS], r_generation[KEYS];
} state;

/* ---- a set of all states that were seen ---- */

static state *table, *stack;
static uint64_t room, depth, seen;
static uint8_t *is_used;

static bool add(const state *s)
{
	uint64_t hash = 0;
	const uint8_t *byte = (const uint8_t *) s;

	for (size_t i = 0; i < sizeof *s; i++) {
		hash = (hash ^ byte[i]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	uint64_t at = hash & (room - 1);
	for (; is_used[at]; at = (at + 1) & (room - 1)) {
		if (memcmp(&table[at], s, sizeof *s) == 0) {
			return false;
		}
	}
	is_used[at] = 1;
	table[at] = *s;
	MUST(++seen < room - room / 8, "more states than there is room for");

	return true;
}

static void visit(const state *s)
{
	if (add(s)) {
		stack[depth++] = *s;
	}
}

/* ---- the writer ---- */

static void give(state *s, uint8_t e)
{
	for (int cell = extents[e].first; cell <= extents[e].last; cell++) {
		s->generation[cell] = 0;
		s->filled &= (uint8_t) ~(1 << cell);
	}
}

static bool is_free(const state *s, uint8_t e)
{
	for (int cell = extents[e].first; cell <= extents[e].last; cell++) {
		if (s->generation[cell]) {
			return false;
		}
	}

	return true;
}

static void retire(state *s, uint8_t e)
{
	for (int i = 0; i < 4; i++) {
		if (!s->retired[i]) {
			s->retired[i] = e;
			return;
		}
	}
	fail("more is retired than there is room for");
}

static void write_steps(const state *from, variant v)
{
	state s = *from;

	switch (s.w_step) {
		case 0:
			if (s.w_left == 0) {
				return;
			}
			for (uint8_t key = 0; key < KEYS; key++) {
				for (uint8_t e = 1; e < EXTENTS; e++) {
					if (is_free(from, e)) {
						s = *from;
						s.w_key = key;
						s.w_extent = e;
						s.w_generation++;
						s.w_left--;
						for (int cell = extents[e].first; cell <= extents[e].last; cell++) {
							s.generation[cell] = s.w_generation;
						}
						s.w_step = 1;
						visit(&s);
					}
				}
			}
			/* A death in a lock, and its repair, instead: all locks are held, so that only readers go on meanwhile. */
			if (!from->died) {
				s = *from;
				s.died = 1;
				memset(s.retired, 0, sizeof s.retired);
				s.w_step = 8;
				s.w_saw = 0;
				visit(&s);
			}
			return;
		case 1:
			s.extent_in[extents[s.w_extent].first] = s.w_extent;
			s.w_step = 2;
			break;
		case 2:
			for (int cell = extents[s.w_extent].first; cell <= extents[s.w_extent].last; cell++) {
				s.filled |= (uint8_t) (1 << cell);
			}
			s.w_step = 3;
			break;
		case 3:
			s.w_old = s.index[s.w_key];
			if (v == BITS_FIRST && s.w_old) {
				s.w_saw = is_held(s.w_old, s.bits, v);
			}
			s.w_step = 4;
			break;
		case 4:
			s.index[s.w_key] = s.w_extent;
			s.w_step = s.w_old ? 5 : 7;
			break;
		case 5:
			if (v != BITS_FIRST) {
				s.w_saw = is_held(s.w_old, s.bits, v);
			}
			s.w_step = 6;
			break;
		case 6:
			if (s.w_saw) {
				retire(&s, s.w_old);
			} else {
				give(&s, s.w_old);
			}
			s.w_old = s.w_saw = 0;
			s.w_step = 7;
			break;
		case 7:
			/* seg_reclaim(), of all at one look: each is looked at in vain, or goes. */
			for (int i = 0; i < 4; i++) {
				if (s.retired[i] && !is_held(s.retired[i], s.bits, v)) {
					give(&s, s.retired[i]);
					s.retired[i] = 0;
				}
			}
			s.w_step = 0;
			s.w_key = s.w_extent = 0;
			break;
		default: {
			/* The repair goes over the pages, one a step. */
			int page = s.w_step - 8;
			for (int cell = 2 * page; cell < 2 * page + 2; cell++) {
				bool named = false;
				for (int key = 0; key < KEYS; key++) {
					named = named || (s.index[key] && extents[s.index[key]].first <= cell && cell <= extents[s.index[key]].last);
				}
				if (!named && !(s.bits >> page & 1)) {
					s.generation[cell] = 0;
					s.filled &= (uint8_t) ~(1 << cell);
				}
			}
			s.w_step = page + 1 < PAGES ? s.w_step + 1 : 0;
		}
	}
	visit(&s);
}

/* ---- the reader ---- */

static uint8_t bits_for(const state *s, uint8_t e, variant v)
{
	if (v == FIRST_PAGE_ONLY) {
		return (uint8_t) (1 << extents[e].first / 2);
	}
	if (v == PAGES_BY_ITEM) {
		/* Whatever lies there by now, if it is a value at all. */
		uint8_t there = s->extent_in[extents[e].first];
		return pages_of(there ? there : e);
	}

	return pages_of(e);
}

/* Whether an entry is the one that was found before: where the pages are read from the item, by its place alone. */
static bool is_same(uint8_t one, uint8_t other, variant v)
{
	return v == PAGES_BY_ITEM ? extents[one].first == extents[other].first : one == other;
}

static void keep(state *s)
{
	s->r_kept[s->r_key] = s->r_found;
	s->r_generation[s->r_key] = s->generation[extents[s->r_found].first];
	s->r_found = s->r_guarded = s->r_fresh = s->r_pages = 0;
	s->r_step = 0;
	s->r_key++;
}

static void unpin(state *s)
{
	s->bits &= (uint8_t) ~s->r_fresh;
	s->r_guarded = s->r_fresh = s->r_pages = 0;
}

/* Ends in *miss: it is not there. */
static void read_steps(const state *from, variant v)
{
	state s = *from;

	if (s.r_key == KEYS) {
		/* The request ends; one that comes after it begins with nothing, as this one did. */
		s.r_step = s.r_key = 0;
		s.bits = 0;
		memset(s.r_kept, 0, sizeof s.r_kept);
		memset(s.r_generation, 0, sizeof s.r_generation);
		visit(&s);
		return;
	}
	switch (s.r_step) {
		case 0:
			/* seek(), the entry */
			s.r_found = s.index[s.r_key];
			s.r_step = 1;
			break;
		case 1:
			if (!s.r_found) {
				unpin(&s);
				s.r_step = 0;
				s.r_key++;
				break;
			}
			if (s.r_guarded) {
				if (is_same(s.r_found, s.r_guarded, v)) {
					keep(&s);
					break;
				}
				unpin(&s);
			}
			s.r_pages = bits_for(&s, s.r_found, v);
			if ((s.bits & s.r_pages) == s.r_pages) {
				keep(&s);
				break;
			}
			s.r_guarded = s.r_found;
			s.r_step = v == BIT_AFTER_LOOK ? 3 : 2;
			break;
		case 2: {
			/* One word after the other. */
			uint8_t bit = (uint8_t) (s.r_pages & -s.r_pages);
			s.r_fresh |= (uint8_t) (bit & ~s.bits);
			s.bits |= bit;
			s.r_pages &= (uint8_t) ~bit;
			if (!s.r_pages) {
				if (v == NO_SECOND_LOOK || v == BIT_AFTER_LOOK) {
					keep(&s);
				} else {
					s.r_step = 0;
				}
			}
			break;
		}
		default: {
			/* BIT_AFTER_LOOK: looked at a second time before the bit is there. */
			s.r_found = s.index[s.r_key];
			if (s.r_found != s.r_guarded) {
				s.r_guarded = 0;
				s.r_step = 1;
			} else {
				s.r_step = 2;
			}
		}
	}
	visit(&s);
}

/* What is used is still what it was, and whole. */
static bool is_right(const state *s)
{
	for (int key = 0; key < KEYS; key++) {
		uint8_t e = s->r_kept[key];
		for (int cell = extents[e].first; e && cell <= extents[e].last; cell++) {
			if (!s->r_generation[key] || s->generation[cell] != s->r_generation[key] || !(s->filled >> cell & 1)) {
				return false;
			}
		}
	}

	return true;
}

/* Whether any interleaving of so many sets goes wrong. */
static bool explore(variant v, uint8_t sets)
{
	state first;

	memset(is_used, 0, room);
	depth = seen = 0;
	memset(&first, 0, sizeof first);
	first.w_left = sets;
	visit(&first);
	while (depth) {
		state s = stack[--depth];
		if (!is_right(&s)) {
			return true;
		}
		write_steps(&s, v);
		read_steps(&s, v);
	}

	return false;
}

int test_model(void)
{
	room = UINT64_C(1) << 23;
	table = malloc(room * sizeof *table);
	stack = malloc(room * sizeof *stack);
	is_used = malloc(room);
	MUST(table && stack && is_used, "no memory");
	for (variant v = 0; v < VARIANTS; v++) {
		bool wrong = explore(v, 4);
		printf("%-60s %s in %llu states\n", variants[v], wrong ? "goes wrong" : "is right", (unsigned long long) seen);
		MUST(wrong == (v != SOUND), v == SOUND ? "a value was freed under its reader" : "nothing goes wrong where it must: the model does not see it");
		MUST(v != SOUND || seen > 100000, "only %llu states: the model does nothing", (unsigned long long) seen);
	}

	return 0;
}
