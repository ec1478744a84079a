/*
 * Locks that survive their holder.
 *
 * A robust mutex is released by the kernel when its holder dies, and tells the next one (EOWNERDEAD, see
 * pthread_mutexattr_setrobust(3)). What it protected may be half done then: header.broken says so to everybody, and
 * whoever takes a lock next repairs everything before it goes on (recovery.c). So no lock is ever held by the dead,
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

static void take(seg *segment, pthread_mutex_t *lock)
{
	int error = pthread_mutex_lock(lock);

	if (error == EOWNERDEAD) {
		SEG_POINT("lock-of-the-dead");
		/* Before the lock is given on to anybody. */
		atomic_store(&segment->header->broken, 1);
		SEG_POINT("lock-said-broken");
		pthread_mutex_consistent(lock);
		SEG_POINT("lock-consistent");
	} else if (error) {
		/* No lock of ours, so garbage in the file: going on would destroy more. Whoever comes next makes a new one. */
		atomic_store(&segment->header->ready, 0);
		abort();
	}
}

/*
 * Somebody died in a lock. Who is inside another shard's lock goes on with that shard, which the dead did not touch,
 * but for the map of units, which all share (seg_alloc(), seg_free()), and is waited for by who repairs.
 */
bool seg_is_broken(const seg *segment)
{
	return UNLIKELY(atomic_load(&segment->header->broken));
}

void seg_lock(seg *segment, seg_shard *shard)
{
	for (;;) {
		take(segment, &shard->lock);
		if (!seg_is_broken(segment)) {
			return;
		}
		pthread_mutex_unlock(&shard->lock);
		seg_repair(segment);
	}
}

void seg_unlock(seg_shard *shard)
{
	pthread_mutex_unlock(&shard->lock);
}

/*
 * Held only inside a shard's lock, or inside all. Whoever finds it broken here goes on: it holds a shard's lock, so
 * that it cannot repair now; the map of units may be half done, so that it must not be read. Both callers ask.
 */
void seg_lock_units(seg *segment)
{
	take(segment, &segment->header->units_lock);
}

void seg_unlock_units(seg *segment)
{
	pthread_mutex_unlock(&segment->header->units_lock);
}

static void take_shards(seg *segment)
{
	for (uint32_t i = 0; i < segment->header->n_shards; i++) {
		take(segment, &segment->shards[i].lock);
	}
}

/* For who makes room wherever there is some. */
void seg_lock_shards(seg *segment)
{
	for (;;) {
		take_shards(segment);
		if (!seg_is_broken(segment)) {
			return;
		}
		seg_unlock_shards(segment);
		seg_repair(segment);
	}
}

/* Also when it is broken: for who repairs or checks. */
void seg_lock_all(seg *segment)
{
	take_shards(segment);
	seg_lock_units(segment);
}

void seg_unlock_all(seg *segment)
{
	seg_unlock_units(segment);
	seg_unlock_shards(segment);
}

void seg_unlock_shards(seg *segment)
{
	for (uint32_t i = segment->header->n_shards; i > 0; i--) {
		pthread_mutex_unlock(&segment->shards[i - 1].lock);
	}
}
