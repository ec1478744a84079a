/*
 * What stays: hit ratios beside a plain SIEVE's (Zhang and others, NSDI 2024) that is given the same bytes.
 *
 * The simulation has one queue, no shards and no memory to cut: it evicts until the new value fits. It has as many bytes
 * as the whole file, and a value takes as many as it has, with its key and its header. So the index, the map, what is
 * lost by rounding up to blocks, blocks that are free, and runs that are too short are the segment's loss, and must cost
 * less than two points: for values of many sizes, with keys that are asked for once and never again, and where other
 * keys become the ones that are asked for.
 *
 * Then sizes change on purpose: small values, large ones, small ones again. Memory must not stay in pieces, and no set
 * may evict many times its own bytes.
 *
 * Seen to fail: the visited bit is not looked at (10 points below); slabs of 16 KiB (up to 11 points below); a large value
 * evicts 32 others by age before a stretch is cleared (8 times its bytes); no stretch is cleared (a set is refused).
 */
#include <math.h>

#include "core.h"

#define MIB (UINT64_C(1024) * 1024)
#define KEYS 40000
#define GETS 400000
#define ONCE (GETS / 2)                /* keys that are asked for once, at most */

/* Lengths of values, of the key alone, so that both see the same ones. */
typedef uint32_t sizing(uint32_t number);

static double share_of(uint32_t number)
{
	return (double) (mix(number + 12345) >> 11) / 9007199254740992.0;
}

/* Most are a few hundred bytes, one in a hundred is 20 to 60 KiB. */
static uint32_t mostly_small(uint32_t number)
{
	double u = share_of(number);

	return u < 0.01 ? 20000 + (uint32_t) (u * 4000000) : (uint32_t) (100 * exp(4.2 * (u - 0.01)));
}

static uint32_t of_many_magnitudes(uint32_t number)
{
	return (uint32_t) (32 * exp(5.5 * share_of(number)));
}

static uint32_t middling(uint32_t number)
{
	return 100 + (uint32_t) (share_of(number) * 5800);
}

static uint64_t bytes_of(uint32_t number, sizing *length_of)
{
	char key[24];

	return (seg_item_head(key_of(number, key)) + length_of(number) + 7) & ~UINT64_C(7);
}

/* ---- the trace: keys by Zipf's law, shuffled ---- */

static double *sums;
static uint32_t *shuffled;

static void make_trace(double exponent, dice *d)
{
	double sum = 0;

	sums = realloc(sums, KEYS * sizeof *sums);
	shuffled = realloc(shuffled, KEYS * sizeof *shuffled);
	MUST(sums && shuffled, "no memory");
	for (uint32_t i = 0; i < KEYS; i++) {
		sum += 1 / pow(i + 1, exponent);
		sums[i] = sum;
		shuffled[i] = i;
	}
	for (uint32_t i = KEYS - 1; i > 0; i--) {
		uint32_t j = any(d, i + 1), one = shuffled[i];
		shuffled[i] = shuffled[j];
		shuffled[j] = one;
	}
}

/* Of the keys by how often they are asked for. */
static uint32_t next_rank(dice *d)
{
	double u = (double) (roll(d) >> 11) / 9007199254740992.0 * sums[KEYS - 1];
	uint32_t low = 0, high = KEYS - 1;

	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (sums[middle] < u) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}

	return low;
}

/* ---- the plain one ---- */

typedef struct {
	uint32_t newer, older;
	bool there, visited;
} plain_item;

typedef struct {
	plain_item items[KEYS + ONCE + 1]; /* from 1 on; 0: none */
	uint32_t head, tail, hand;
	uint64_t bytes, room;
	sizing *length_of;
} plain;

static void plain_evict(plain *p)
{
	uint32_t at = p->hand ? p->hand : p->tail;

	while (p->items[at].visited) {
		p->items[at].visited = false;
		at = p->items[at].newer ? p->items[at].newer : p->tail;
	}
	plain_item *item = &p->items[at];
	p->hand = item->newer;
	*(item->newer ? &p->items[item->newer].older : &p->head) = item->older;
	*(item->older ? &p->items[item->older].newer : &p->tail) = item->newer;
	item->there = false;
	p->bytes -= bytes_of(at - 1, p->length_of);
}

static bool plain_get(plain *p, uint32_t number)
{
	plain_item *item = &p->items[number + 1];
	uint64_t bytes = bytes_of(number, p->length_of);

	if (item->there) {
		item->visited = true;
		return true;
	}
	while (p->bytes + bytes > p->room) {
		plain_evict(p);
	}
	*item = (plain_item) {0, p->head, true, false};
	*(p->head ? &p->items[p->head].newer : &p->tail) = number + 1;
	p->head = number + 1;
	p->bytes += bytes;

	return false;
}

/* ---- both ---- */

static bool get(seg *s, uint32_t number)
{
	bool in_place;
	const seg_item *item = value_get(s, number, &in_place);

	if (item && !in_place) {
		free((void *) item);
	}
	/* Each get is a request of its own. */
	seg_leave(s);

	return item != NULL;
}

typedef struct {
	const char *name;
	sizing *length_of;
	uint64_t bytes;
	double exponent;
	uint32_t once;                     /* of a hundred gets: of keys that are asked for once */
	uint32_t moves;                    /* of a thousand gets: after so many of them the most frequent key is another */
} trace;

static void compare(const trace *t)
{
	dice d = {99};
	plain *p = calloc(1, sizeof *p);
	unsigned hits = 0, plain_hits = 0;
	uint32_t once = KEYS;

	MUST(p, "no memory");
	seg *s = segment_open("sieve", t->bytes);
	p->room = t->bytes;
	p->length_of = t->length_of;
	make_trace(t->exponent, &d);
	for (uint32_t i = 0; i < GETS; i++) {
		uint32_t number = t->once && any(&d, 100) < t->once ? once++ : shuffled[(next_rank(&d) + i / 1000 * t->moves) % KEYS];
		MUST(number < KEYS + ONCE, "too many keys");
		bool hit = get(s, number), plain_hit = plain_get(p, number);
		if (!hit) {
			MUST(value_set(s, number, 1, t->length_of(number), 0, SEG_SET) == SEG_OK, "a set was refused");
		}
		/* The first half fills both. */
		if (i >= GETS / 2) {
			hits += hit;
			plain_hits += plain_hit;
		}
	}
	must_be_sound(s, "after a trace");
	double ratio = 100.0 * hits / (GETS / 2), plain_ratio = 100.0 * plain_hits / (GETS / 2);
	seg_numbers n;
	seg_count(s, &n);
	printf("%-48s %2u MiB, Zipf %.1f: %.2f %% hits, a plain SIEVE %.2f %%; %.1f %% of the bytes in use\n", t->name, (unsigned) (t->bytes / MIB), t->exponent,
		ratio, plain_ratio, 100.0 * (double) n.bytes_used / (double) (s->header->n_units * SEG_UNIT));
	MUST(plain_ratio < 97, "everything fits: this tells nothing");
	MUST(ratio > plain_ratio - 2, "%.2f points below a plain SIEVE", plain_ratio - ratio);
	free(p);
	seg_close(s);
	segment_remove("sieve");
}

/* ---- sizes that change ---- */

/* The longest value that may still be there from before. */
static uint32_t longest_before = 0;

/*
 * Sets until nothing of before is left; the most that one set has evicted, in times its own bytes; and what is in use
 * in the second half of them, on average: where a few are a segment, a moment says little.
 */
static void phase(seg *s, const char *name, uint32_t from, uint32_t sets, uint32_t shortest, uint32_t longest)
{
	dice d = {from + 1};
	seg_numbers before, n;
	double worst = 0, in_use = 0;

	seg_count(s, &before);
	for (uint32_t i = 0; i < sets; i++) {
		uint32_t length = shortest + any(&d, longest - shortest + 1);
		MUST(value_set(s, from + i, 1, length, 0, SEG_SET) == SEG_OK, "%s: a set of %u bytes was refused", name, length);
		seg_count(s, &n);
		double lost = (double) before.bytes_used + length - (double) n.bytes_used;
		/* The oldest may be a long one; and of another size in a segment full of others, a slab or two go whole. */
		double times = (lost - 4 * SEG_PAGE - longest_before) / length;
		worst = times > worst ? times : worst;
		before = n;
		in_use += i >= sets / 2 ? (double) n.bytes_used / (sets - sets / 2) : 0;
	}
	longest_before = longest;
	must_be_sound(s, name);
	uint64_t room = s->header->n_units * SEG_UNIT;
	printf("%-28s %5.1f %% of the bytes in use, at most %.1f times a value's bytes evicted for it\n", name, 100.0 * in_use / (double) room, worst);
	MUST(in_use > 0.75 * (double) room, "%s: only %.1f %% of the bytes are in use", name, 100.0 * in_use / (double) room);
	MUST(worst < 4, "%s: a set has evicted %.1f times its bytes", name, worst);
}

int test_sieve(void)
{
	static const trace traces[] = {
		{"mostly small values", mostly_small, 16 * MIB, 0.8, 0, 0},
		{"mostly small values", mostly_small, 16 * MIB, 1.0, 0, 0},
		{"mostly small values", mostly_small, 34 * MIB, 0.8, 0, 0},
		{"mostly small values", mostly_small, 34 * MIB, 1.0, 0, 0},
		{"values of many magnitudes", of_many_magnitudes, 16 * MIB, 0.8, 0, 0},
		{"values of many magnitudes", of_many_magnitudes, 16 * MIB, 1.0, 0, 0},
		{"values of many magnitudes", of_many_magnitudes, 34 * MIB, 0.8, 0, 0},
		{"middling values", middling, 16 * MIB, 0.8, 0, 0},
		{"middling values", middling, 16 * MIB, 1.0, 0, 0},
		{"middling values", middling, 34 * MIB, 0.8, 0, 0},
		{"middling values", middling, 34 * MIB, 1.0, 0, 0},
		{"a third of the gets of keys that never come again", mostly_small, 16 * MIB, 0.8, 33, 0},
		{"a third of the gets of keys that never come again", middling, 16 * MIB, 1.0, 33, 0},
		{"other keys every thousand gets", mostly_small, 16 * MIB, 0.8, 0, 20},
		{"other keys every thousand gets", mostly_small, 16 * MIB, 1.0, 0, 20},
	};

	for (size_t i = 0; i < COUNT(traces); i++) {
		compare(&traces[i]);
	}
	seg *s = segment_open("sieve", 16 * MIB);
	phase(s, "small values", 0, 60000, 100, 400);
	phase(s, "large values after small", 100000, 1200, 30000, 120000);
	phase(s, "small values after large", 200000, 60000, 100, 400);
	phase(s, "middling values after small", 300000, 12000, 1000, 6000);
	phase(s, "of all sizes", 400000, 12000, 50, 20000);
	phase(s, "a few very large", 500000, 60, 800000, 2000000);
	phase(s, "small values after those", 600000, 60000, 60, 200);
	seg_close(s);
	segment_remove("sieve");

	return 0;
}
