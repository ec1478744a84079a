/*
 * After a death inside a lock: everything anew from the index; and the invariants, checked at will.
 *
 * Why this loses nothing but what the dead was writing:
 *   - a value is whole before the one store that makes it visible, so an item that a bucket names is whole;
 *   - all else (tags, queues, slabs, the map of units) says only what can be seen from those items, and is made anew;
 *   - the process that takes a lock after the death sees header.broken before it looks at anything, and comes here first;
 *   - dying in here leaves header.broken as it is, and the next one begins again.
 * What was retired and may still be read is not named by anything any more. Where a process reads, what has no owner
 * is set apart, and becomes free by a second settling, without a death, when those readers have ended.
 */
#include <errno.h>
#include <string.h>

#include "segment.h"

/* Those of living writers are theirs: no other process sees them, and they must not be given to another. */
static bool is_filling(seg *segment, seg_offset offset)
{
	uint32_t used = atomic_load(&segment->header->used_slots);

	for (uint32_t i = 0; i < used; i++) {
		if (atomic_load(&segment->slots[i].filling) == offset) {
			return true;
		}
	}

	return false;
}

/* Of the index, or of a living process that writes it. */
static bool is_named(seg *segment, const seg_item *item)
{
	if (item->state == SEG_FILLING) {
		return is_filling(segment, seg_of(segment, item));
	}

	return item->state == SEG_LIVE
		&& seg_class(seg_item_bytes(item)) >= 0
		&& seg_entry(segment, item) != NULL;
}

/* Or retired: as long as nothing was broken, all of those are in the lists. */
static bool is_owned(seg *segment, const seg_item *item)
{
	return item->state == SEG_RETIRED || is_named(segment, item);
}

/*
 * Whether its part of some page is nothing but zeros, as after a hole was punched there and a process has looked into it:
 * of a file whose last process was killed, perhaps by that. A value that consists of zeros looks the same, and goes too.
 */
static bool has_hole(const seg *segment, const seg_item *item)
{
	seg_offset at = seg_of(segment, item), end = at + seg_item_bytes(item);

	for (seg_offset next; at < end; at = next) {
		next = (at | 4095) + 1 < end ? (at | 4095) + 1 : end;
		const char *byte = segment->rw + at, *last = segment->rw + next;
		while (byte < last && !*byte) {
			byte++;
		}
		/* Less may be the end of a string, or a number. */
		if (byte == last && next - at >= 64) {
			return true;
		}
	}

	return false;
}

static void repair_shard(seg *segment, seg_shard *shard)
{
	seg_bucket *first = segment->buckets + (uint64_t) (shard - segment->shards) * segment->n_buckets;

	SEG_POINT("repair-shard");
	memset(&shard->queue, 0, sizeof shard->queue);
	memset(&shard->retired, 0, sizeof shard->retired);
	shard->hand = shard->sweep = 0;
	shard->soonest = shard->next_soonest = 0;
	SEG_POINT("repair-shard-empty");
	for (uint64_t n = 0; n < seg_size_buckets(seg_index_size(segment, (uint32_t) (shard - segment->shards))); n++) {
		seg_bucket *b = &first[n];
		for (int way = 0; way < SEG_WAYS; way++) {
			uint64_t entry = atomic_load(&b->entries[way]);
			seg_offset offset = seg_entry_offset(entry);
			if (!entry) {
				atomic_store(&b->tags[way], 0);
				continue;
			}
			SEG_POINT("repair-entry");
			seg_item *item = seg_owned(segment, shard, offset) ? seg_at(segment, offset) : NULL;
			if (!item || entry != seg_entry_of(offset, seg_item_bytes(item)) || atomic_load(&b->tags[way]) != seg_tag(item->hash) || seg_entry(segment, item) != &b->entries[way]
				|| (segment->is_revived && has_hole(segment, item)) || !seg_settle_item(segment, shard, item)) {
				/* Half put in, or half taken out: no process could see it, or none shall. */
				SEG_POINT("repair-drop");
				atomic_store(&b->tags[way], 0);
				SEG_POINT("repair-drop-tag");
				atomic_store(&b->entries[way], 0);
				SEG_POINT("repair-dropped");
				atomic_fetch_and(&b->visited, (uint8_t) ~(1 << way));
				continue;
			}
			item->state = SEG_LIVE;
			SEG_POINT("repair-alive");
			seg_queue_add(segment, shard, item);
		}
	}
}

/* So long what is set apart is left alone before it is looked at again, milliseconds. */
#define SETTLE_SOON 1000
#define SETTLE_LATE 64000

/* The memory of what lives or is retired; queue, index and the rest are as they should be. */
static void settle_shard(seg *segment, seg_shard *shard)
{
	for (seg_offset at = shard->queue.head; at; at = seg_at(segment, at)->older) {
		seg_settle_item(segment, shard, seg_at(segment, at));
	}
	for (seg_offset at = shard->retired.head; at; at = seg_at(segment, at)->newer) {
		seg_settle_item(segment, shard, seg_at(segment, at));
	}
	SEG_POINT("settle-shard");
}

/* Under all locks. */
static void settle(seg *segment, bool broken)
{
	seg_header *h = segment->header;
	bool again = atomic_load(&h->quarantine);

	SEG_POINT("repair-begin");
	/* Left by who died while it gave memory back. */
	atomic_store(&h->shrinking, 0);
	if (!atomic_load(&h->given)) {
		seg_count_memory(segment);
	}
	/* Before the dead are looked for: one who is found later is counted anew, and settled the next time. */
	atomic_store(&h->orphans, 0);
	SEG_POINT("repair-bury");
	seg_bury_the_dead(segment);
	SEG_POINT("repair-buried");
	seg_settle_begin(segment, broken);
	SEG_POINT("repair-shards");
	for (uint32_t i = 0; i < SEG_SHARDS; i++) {
		(broken ? repair_shard : settle_shard)(segment, &segment->shards[i]);
	}
	SEG_POINT("repair-filling");
	uint32_t used = atomic_load(&h->used_slots);
	for (uint32_t i = 0; i < used; i++) {
		seg_offset filling = atomic_load(&segment->slots[i].filling);
		if (filling) {
			seg_item *item = seg_at(segment, filling);
			if (!seg_owned(segment, seg_shard_of(segment, item->hash), filling)) {
				continue;
			}
			seg_settle_item(segment, seg_shard_of(segment, item->hash), item);
			SEG_POINT("repair-filling-settled");
		}
	}
	SEG_POINT("repair-rest");
	atomic_store(&h->quarantine, !seg_settle_end(segment, broken ? is_named : is_owned));
	/* Each time in vain it is left alone for longer: who reads there may sleep for hours. */
	h->settle_after = !atomic_load(&h->quarantine) || !again ? SETTLE_SOON : h->settle_after < SETTLE_LATE ? h->settle_after * 2 : SETTLE_LATE;
	h->settle_at = seg_clock() + h->settle_after;
	SEG_POINT("repair-end");
}

void seg_repair(seg *segment)
{
	seg_header *h = segment->header;

	if (!seg_lock_all(segment)) {
		return;
	}
	if (seg_is_broken(segment)) {
		settle(segment, true);
		atomic_fetch_add(&h->recoveries, 1);
		SEG_POINT("repair-counted");
		atomic_store(&h->broken, 0);
		SEG_POINT("repaired");
	}
	seg_unlock_all(segment);
}

/*
 * Nothing is broken, but the dead have left blocks, or what was set apart may be free by now. Not more often than it
 * has a chance to be of use, but for who would fail without it.
 */
void seg_settle(seg *segment, bool now)
{
	seg_header *h = segment->header;

	if (!seg_lock_all(segment)) {
		return;
	}
	/* What is broken is repaired by the process that takes a lock next. */
	if (!seg_is_broken(segment) && (atomic_load(&h->orphans) || atomic_load(&h->quarantine)) && (now || h->settle_at <= seg_clock())) {
		/* A process that dies in here leaves it set. */
		atomic_store(&h->broken, 1);
		settle(segment, false);
		atomic_store(&h->broken, 0);
		SEG_POINT("settled");
	}
	seg_unlock_all(segment);
}

/* ---- the invariants ---- */

static const char *check_shard(seg *segment, seg_shard *shard, uint64_t *items)
{
	seg_bucket *first = segment->buckets + (uint64_t) (shard - segment->shards) * segment->n_buckets;
	uint64_t named = 0, queued = 0, bytes = 0;

	for (uint64_t n = 0; n < seg_size_buckets(seg_index_size(segment, (uint32_t) (shard - segment->shards))); n++) {
		for (int way = 0; way < SEG_WAYS; way++) {
			uint64_t entry = atomic_load(&first[n].entries[way]);
			seg_offset offset = seg_entry_offset(entry);
			if (!entry) {
				if (atomic_load(&first[n].tags[way])) {
					return "a tag without an entry";
				}
				continue;
			}
			if (!seg_owned(segment, shard, offset)) {
				return "an entry that names no item of its shard";
			}
			seg_item *item = seg_at(segment, offset);
			if (item->state != SEG_LIVE) {
				return "an entry that names an item that is not alive";
			}
			if (entry != seg_entry_of(offset, seg_item_bytes(item))) {
				return "an entry with other pages than its item has";
			}
			if (atomic_load(&first[n].tags[way]) != seg_tag(item->hash)) {
				return "a tag that is not its entry's";
			}
			if (seg_entry(segment, item) != &first[n].entries[way]) {
				return "an item in a bucket that is not its own, or twice";
			}
			named++;
		}
	}
	seg_offset newer = 0;
	for (seg_offset at = shard->queue.head; at; at = seg_at(segment, at)->older) {
		seg_item *item = seg_at(segment, at);
		if (item->newer != newer) {
			return "a queue whose links do not meet";
		}
		if (item->state != SEG_LIVE || !seg_entry(segment, item)) {
			return "an item in the queue that is not in the index";
		}
		if (++queued > named) {
			return "a queue longer than the index";
		}
		bytes += seg_block_bytes(item);
		if (item->expires && (!shard->soonest || item->expires < shard->soonest)) {
			return "an item that ends before the soonest";
		}
		newer = at;
	}
	if (newer != shard->queue.tail) {
		return "a queue that does not end at its tail";
	}
	if (shard->sweep && (seg_at(segment, shard->sweep)->state != SEG_LIVE || !seg_entry(segment, seg_at(segment, shard->sweep)))) {
		return "a sweep that goes on from an item that is gone";
	}
	if (queued != named || queued != shard->queue.count || bytes != shard->queue.bytes) {
		return "a queue that is not the index";
	}
	uint64_t retired = 0;
	bytes = 0;
	for (seg_offset at = shard->retired.head; at; at = seg_at(segment, at)->newer) {
		seg_item *item = seg_at(segment, at);
		if (item->state != SEG_RETIRED || seg_entry(segment, item)) {
			return "a retired item that is not retired";
		}
		bytes += seg_block_bytes(item);
		if (++retired > shard->retired.count) {
			return "more retired items than were counted";
		}
	}
	if (retired != shard->retired.count || bytes != shard->retired.bytes) {
		return "retired items that were miscounted";
	}
	*items += named + retired;

	return NULL;
}

const char *seg_check(seg *segment)
{
	const char *wrong = NULL;
	uint64_t items = 0;

	if (seg_is_broken(segment)) {
		seg_repair(segment);
	}
	if (!seg_lock_all(segment)) {
		return segment->lost;
	}
	if (seg_is_broken(segment)) {
		seg_unlock_all(segment);
		return seg_check(segment);
	}
	for (uint32_t i = 0; !wrong && i < SEG_SHARDS; i++) {
		wrong = check_shard(segment, &segment->shards[i], &items);
	}
	if (!wrong) {
		wrong = seg_check_memory(segment, items);
	}
	seg_unlock_all(segment);

	return wrong;
}
