/*
 * What stays: hit ratios beside a plain SIEVE's (Zhang and others, NSDI 2024) that is given the same bytes.
 *
 * The simulation has one queue, no shards and no memory to cut: it evicts until the new value fits. Its bytes are those
 * of the segment's values, units of 1 KiB and how many there are; a value counts there as the block that the segment
 * gives it: of a class, or whole units. So heads of slabs, blocks that are free, and runs that are too short are the
 * segment's loss, and must cost less than two points.
 *
 * Then sizes change on purpose: small values, large ones, small ones again. Memory must not stay in pieces, and no set
 * may evict many times its own bytes.
 *
 * Seen to fail: the visited bit is not looked at (10 points below); a large value evicts 32 others by age before a stretch
 * is cleared (8 times its bytes); no stretch is cleared (a set is refused).
 */
#include <math.h>

#include "core.h"

#define BYTES (16 * 1024 * 1024)
#define KEYS 40000
#define GETS 400000

/* Of the key alone, so that both see the same values. */
static uint32_t length_of(uint32_t number)
{
	uint64_t h = mix(number + 12345);
	double u = (double) (h >> 11) / 9007199254740992.0;

	/* Most are a few hundred bytes, one in a hundred is 20 to 60 KiB. */
	return u < 0.01 ? 20000 + (uint32_t) (h & 0xffff) * 40000 / 65536 : (uint32_t) (100 * exp(4.2 * (u - 0.01)));
}

static uint64_t block_of(uint32_t number)
{
	char key[24];
	seg_item item = {.size = (uint32_t) ((seg_item_head(key_of(number, key)) + (length_of(number) & ~7u)) >> 3)};

	return seg_block_bytes(&item);
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

static uint32_t next_key(dice *d)
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

	return shuffled[low];
}

/* ---- the plain one ---- */

typedef struct {
	uint32_t newer, older;
	bool there, visited;
} plain_item;

typedef struct {
	plain_item items[KEYS + 1];        /* from 1 on; 0: none */
	uint32_t head, tail, hand;
	uint64_t bytes, room;
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
	p->bytes -= block_of(at - 1);
}

static bool plain_get(plain *p, uint32_t number)
{
	plain_item *item = &p->items[number + 1];
	uint64_t bytes = block_of(number);

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

static void compare(double exponent)
{
	dice d = {99};
	plain *p = calloc(1, sizeof *p);
	unsigned hits = 0, plain_hits = 0;

	MUST(p, "no memory");
	seg *s = segment_open("sieve", BYTES);
	p->room = s->header->n_units * SEG_UNIT;
	make_trace(exponent, &d);
	for (int i = 0; i < GETS; i++) {
		uint32_t number = next_key(&d);
		bool hit = get(s, number), plain_hit = plain_get(p, number);
		if (!hit) {
			MUST(value_set(s, number, 1, length_of(number), 0, SEG_SET) == SEG_OK, "a set was refused");
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
	printf("Zipf %.1f: %.2f %% hits, a plain SIEVE %.2f %%; %.1f %% of the bytes in use\n", exponent, ratio, plain_ratio,
		100.0 * (double) n.bytes_used / (double) p->room);
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
	compare(0.8);
	compare(0.9);
	compare(1.0);
	seg *s = segment_open("sieve", BYTES);
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
