/*
 * An item: one key and its value, in one block that never moves.
 *
 *   seg_item | key, its closing zero, up to 8 bytes | what the engine reads
 *
 * Written by one process while no other can see it (seg_slot.filling), then published by one store into the index. From
 * then on only the links, the position and, of an integer, the number change, all under the shard's lock.
 */
#ifndef LARDER_ITEM_H
#define LARDER_ITEM_H

#include "layout.h"

/* SEG_LOST: set apart by a repair, because it has no owner and may have readers (recovery.c). */
enum { SEG_FILLING = 1, SEG_LIVE = 2, SEG_RETIRED = 3, SEG_LOST = 4 };

/*
 * What others' writes change comes first, and what each reader looks at comes last, beside the key: a set changes the
 * links of three other items, and a reader of these would have to wait for the processor that wrote.
 */
typedef struct {
	seg_offset newer, older;           /* neighbours in the queue; among the retired, the next is "newer" */
	uint64_t position;                 /* of a copy: the journal's, at which it was written there; 0: it is no copy */
	uint32_t home;                     /* unit at which its slab or its run begins */
	uint32_t size;                     /* of the block that was asked for, in granules of 8 bytes, with this header */
	_Atomic int64_t number;            /* of an integer; else what the engine likes */
	int64_t expires;                   /* by seg_clock(), milliseconds; 0: never */
	uint64_t hash;
	uint32_t key_length;
	uint16_t kind;                     /* the engine's */
	uint8_t state;
	uint8_t spare;
	char key[];
} seg_item;

_Static_assert(sizeof(seg_item) == 64, "an item's header is a cache line");

/* Bytes of header and key: where the engine's part begins. */
static inline uint64_t seg_item_head(uint32_t key_length)
{
	return (sizeof(seg_item) + key_length + 1 + 7) & ~(uint64_t) 7;
}

static inline uint64_t seg_item_bytes(const seg_item *item)
{
	return (uint64_t) item->size << 3;
}

#endif
