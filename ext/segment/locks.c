/*
 * Locks that survive their holder.
 *
 * A robust mutex is released by the kernel when its holder dies, and tells the next one (EOWNERDEAD, see
 * pthread_mutexattr_setrobust(3)). What it protected may be half done then: header.broken says so to everybody, and
 * whoever takes a lock next repairs everything before it goes on (recovery.c). So no lock is ever held by the dead,
 * and nothing half done is ever worked with.
 */
#include <errno.h>
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

/* Whether it is ours now. */
static bool take(seg *segment, pthread_mutex_t *lock, bool wait)
{
	int error = wait ? pthread_mutex_lock(lock) : pthread_mutex_trylock(lock);

	if (error == EOWNERDEAD) {
		/* Before the lock is given on to anybody. */
		atomic_store(&segment->header->broken, 1);
		pthread_mutex_consistent(lock);
		return true;
	}

	return error == 0;
}

void seg_lock(seg *segment, seg_shard *shard)
{
	for (;;) {
		take(segment, &shard->lock, true);
		if (!atomic_load_explicit(&segment->header->broken, memory_order_relaxed)) {
			return;
		}
		pthread_mutex_unlock(&shard->lock);
		seg_repair(segment);
	}
}

bool seg_try_lock(seg *segment, seg_shard *shard)
{
	if (!take(segment, &shard->lock, false)) {
		return false;
	}
	if (atomic_load_explicit(&segment->header->broken, memory_order_relaxed)) {
		pthread_mutex_unlock(&shard->lock);
		return false;
	}

	return true;
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
	take(segment, &segment->header->units_lock, true);
}

void seg_unlock_units(seg *segment)
{
	pthread_mutex_unlock(&segment->header->units_lock);
}

/* Also when it is broken: for who repairs or checks. */
void seg_lock_all(seg *segment)
{
	for (uint32_t i = 0; i < segment->header->n_shards; i++) {
		take(segment, &segment->shards[i].lock, true);
	}
	seg_lock_units(segment);
}

void seg_unlock_all(seg *segment)
{
	seg_unlock_units(segment);
	for (uint32_t i = segment->header->n_shards; i > 0; i--) {
		pthread_mutex_unlock(&segment->shards[i - 1].lock);
	}
}
