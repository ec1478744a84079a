/*
 * Locks that survive their holder.
 *
 * A robust mutex is released by the kernel when its holder dies, and tells the next one (EOWNERDEAD, see
 * pthread_mutexattr_setrobust(3)). What it protected may be half done then: header.broken says so to everybody, and
 * the process that takes a lock next repairs everything before it goes on (recovery.c). So no lock is ever held by the dead,
 * and nothing half done is ever worked with.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "segment.h"

void seg_make_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t kind;

	memset(lock, 0, sizeof *lock);
	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(lock, &kind);
	pthread_mutexattr_destroy(&kind);
}

/* False: it is no lock of ours, so garbage in the file. Going on would destroy more: it is closed, and made anew. */
static bool take(seg *segment, pthread_mutex_t *lock)
{
	int error = pthread_mutex_lock(lock);

	if (error == EOWNERDEAD) {
		SEG_POINT("lock-of-the-dead");
		/* Before the lock is given on. */
		atomic_store(&segment->header->broken, 1);
		SEG_POINT("lock-said-broken");
		pthread_mutex_consistent(lock);
		SEG_POINT("lock-consistent");
	} else if (UNLIKELY(error)) {
		seg_lose(segment, "its locks are damaged");
		return false;
	}

	return true;
}

static bool take_shard(seg *segment, seg_shard *shard)
{
	if (!take(segment, &shard->lock)) {
		return false;
	}
	if (UNLIKELY(shard->sound != SEG_SOUND)) {
		seg_lose(segment, "its locks are damaged");
		pthread_mutex_unlock(&shard->lock);
		return false;
	}

	return true;
}

/*
 * A process died in a lock. One that is inside another shard's lock goes on with that shard, which the dead did not touch,
 * but for the map of units, which all share (seg_alloc(), seg_free()), and is waited for by who repairs.
 */
bool seg_is_broken(const seg *segment)
{
	return UNLIKELY(segment->lost || atomic_load(&segment->header->broken));
}

/* False, here and below: nothing is locked, and nothing will be. */
bool seg_lock(seg *segment, seg_shard *shard)
{
	while (!segment->lost && take_shard(segment, shard)) {
		if (!seg_is_broken(segment)) {
			return true;
		}
		pthread_mutex_unlock(&shard->lock);
		seg_repair(segment);
	}

	return false;
}

void seg_unlock(seg_shard *shard)
{
	pthread_mutex_unlock(&shard->lock);
}

/*
 * Held only inside a shard's lock, or inside all. A process that finds it broken here goes on: it holds a shard's lock, so
 * that it cannot repair now; the map of units may be half done, so that it must not be read. Both callers ask.
 */
bool seg_lock_units(seg *segment)
{
	if (segment->lost || !take(segment, &segment->header->units_lock)) {
		return false;
	}
	if (UNLIKELY(segment->header->magic != SEG_MAGIC)) {
		seg_lose(segment, "its header is damaged");
		seg_unlock_units(segment);
		return false;
	}

	return true;
}

void seg_unlock_units(seg *segment)
{
	pthread_mutex_unlock(&segment->header->units_lock);
}

static void release_shards(seg *segment, uint32_t n)
{
	while (n > 0) {
		pthread_mutex_unlock(&segment->shards[--n].lock);
	}
}

static bool take_shards(seg *segment)
{
	for (uint32_t i = 0; i < SEG_SHARDS; i++) {
		if (segment->lost || !take_shard(segment, &segment->shards[i])) {
			release_shards(segment, i);
			return false;
		}
	}

	return true;
}

/* For who makes room wherever there is some. */
bool seg_lock_shards(seg *segment)
{
	while (take_shards(segment)) {
		if (!seg_is_broken(segment)) {
			return true;
		}
		seg_unlock_shards(segment);
		seg_repair(segment);
	}

	return false;
}

/* Also when it is broken: for who repairs or checks. */
bool seg_lock_all(seg *segment)
{
	if (!take_shards(segment)) {
		return false;
	}
	if (!seg_lock_units(segment)) {
		seg_unlock_shards(segment);
		return false;
	}

	return true;
}

void seg_unlock_all(seg *segment)
{
	seg_unlock_units(segment);
	seg_unlock_shards(segment);
}

void seg_unlock_shards(seg *segment)
{
	release_shards(segment, SEG_SHARDS);
}
