/*
 * What lies in the file that processes share, byte by byte.
 *
 *   0          header        what the file is, where everything lies
 *   slots      slots         one a process (one a thread where PHP has threads): who it is, what it is writing
 *   pins       pins          a row of bits a slot: the pages of which its request holds values (pins.c)
 *   shards     shards        a lock each, and what it protects
 *   buckets    the index     64 bytes a bucket, room for n_buckets of each shard in a row (index.c)
 *   units      the unit map  who has each half KiB of the values (slabs.c)
 *   values     the values    items: key and value, never moved (item.h)
 *
 * The file has its whole size from the beginning, and memory only for what is used: the index gets it bucket by bucket,
 * the values chunk by chunk, with their part of the map, the pins row by row (mapping.c, seg_get_memory()).
 *
 * Everything is found by its distance from the file's beginning ("offset"), 0 being nothing. The only addresses are
 * inside values, where the engine reads them: they count from header.base, at which the file is mapped read-only.
 * The same file is mapped a second time for writing, anywhere.
 */
#ifndef LARDER_LAYOUT_H
#define LARDER_LAYOUT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SEG_MAGIC       UINT64_C(0x31474553444c524c) /* "LRLDSEG1", read as bytes */
#define SEG_LAYOUT      7
#define SEG_SOUND       UINT64_C(0x646e756f53) /* "Sound" */
#define SEG_IDENTITY    192
#ifndef SEG_SLOTS
# define SEG_SLOTS      512
#endif
#define SEG_SHARDS      8
#define SEG_WAYS        7
#define SEG_UNIT        512
#define SEG_PAGE        (32 * SEG_UNIT)
#define SEG_CLASSES     18
#define SEG_BINS        64
#define SEG_CHUNKS      8192
#define SEG_SMALLEST    (1024 * 1024)

typedef uint64_t seg_offset;

/* A bucket is a line of the processor's cache: a get that misses looks at two of them and at nothing else. */
typedef struct {
	_Atomic uint8_t tags[SEG_WAYS];    /* of the entry's hash; 0: nothing there */
	_Atomic uint8_t visited;           /* a bit an entry: it was read since SIEVE's hand last passed */
	_Atomic uint64_t entries[SEG_WAYS];/* items: where they are, and on how many pages (seg_entry_of()) */
} seg_bucket;

typedef struct {
	pthread_mutex_t life;              /* held as long as its owner lives; the kernel gives it up for the dead */
	_Atomic uint64_t filling;          /* offset of the item that it is writing and no process can see yet; 0: none */
	_Atomic uint64_t pinned;           /* bytes of the pages that it holds, or 0: it holds nothing */
	_Atomic uint32_t inside;           /* 1: a request of its owner may be reading the index */
	_Atomic uint32_t forking;          /* a child is about to take over what it holds */
} seg_slot;

/* A list of items by their offsets. */
typedef struct {
	seg_offset head, tail;
	uint64_t count, bytes;
} seg_list;

typedef struct {
	_Alignas(64) pthread_mutex_t lock;
	uint64_t sound;                    /* SEG_SOUND: what lies here was not taken away, for a lock of zeros is one that the dead hold for ever */
	seg_list queue;                    /* SIEVE: newest at the head, the hand goes from tail to head */
	seg_offset hand;
	int64_t soonest;                   /* nothing of the queue ends before; 0: nothing ends */
	int64_t next_soonest;              /* of what the sweep has passed */
	seg_offset sweep;                  /* item from which it goes on; 0: it begins anew */
	seg_list retired;                  /* taken from the index, and perhaps still read; oldest at the head */
	uint64_t ended;                    /* requests that had ended when it was last said to look at all of these, */
	uint64_t to_look_at;               /* and how many are left of that, from the head on */
	seg_offset partial[SEG_CLASSES];   /* slabs that have free blocks, by class */
	seg_offset slabs;                  /* all slabs, in a ring */
	_Atomic uint64_t sets, evictions, expired, refused;
} seg_shard;

typedef struct {
	uint64_t magic;
	uint32_t layout, header_bytes;
	char identity[SEG_IDENTITY];       /* of the engine whose values these are: a text, compared whole */
	uint64_t bytes;                    /* of the file */
	uint64_t base;                     /* where it is mapped for reading */
	uint64_t id;                       /* drawn when it was made */
	uint64_t pids;                     /* namespace of process ids in which it is used: the kernel names the holder of a lock by its id there */
	uint64_t boot;                     /* which start of the machine it was made after: clocks and locks begin anew with it */
	uint64_t secret[4];                /* drawn when it was made: keys that hash alike cannot be chosen (seg_hash()) */
	uint32_t n_slots, n_shards;
	uint64_t n_buckets;                /* of a shard, at most: */
	uint64_t base_buckets;             /* this many, doubled a few times */
	uint64_t n_units, chunk_units;     /* of the values, whole chunks */
	uint64_t n_words;                  /* of 64 pins each, a slot */
	seg_offset slots, pins, shards, buckets, units, values;
	uint64_t check;                    /* of all above */

	_Atomic uint32_t ready;            /* 1: made to its end */
	_Atomic uint32_t used_slots;       /* no slot beyond was ever taken */
	/* How many buckets each shard has (seg_index_size()). Every reader looks at them, and only growing changes them. */
	_Alignas(64) _Atomic uint64_t index[SEG_SHARDS];
	_Alignas(64) pthread_mutex_t units_lock;
	_Atomic uint64_t given_units;             /* of the chunks that have memory, */
	uint64_t chunks[SEG_CHUNKS / 64];  /* a bit each; in the map and the values of others nothing is looked at */
	_Atomic uint64_t given;            /* bytes of the file that have memory, at least */
	_Atomic int64_t ask_again;         /* when memory was refused: not before, by seg_clock() */
	_Atomic int64_t look_again;        /* when one that has all looks whether others need some */
	_Atomic uint32_t too_large;        /* 1: the next who writes gives a part of it back */
	_Atomic uint32_t shrinking;        /* 1: no process begins a request */
	_Atomic uint32_t grows;            /* 0: its file system gives memory for the whole file at once only */
	uint64_t free_units;
	seg_offset bins[SEG_BINS];         /* runs of free units by length */
	uint64_t window;                   /* unit at which the next search for a stretch to clear begins: always the beginning of a run */
	_Atomic int64_t settle_at;         /* when what is set apart or left over is looked at again, by seg_clock() */
	int64_t settle_after;              /* and how long after that, milliseconds */
	_Atomic uint32_t broken;           /* a process died inside a lock: none goes on before it is repaired */
	_Atomic uint32_t quarantine;       /* a repair has set apart what has no owner and a reader */
	_Atomic uint64_t orphans;          /* blocks of the dead that have no owner: reason enough to settle */
	_Atomic uint64_t recoveries;
	/* Not beside `broken`, which every lock looks at. */
	_Alignas(64) _Atomic uint64_t hits, misses; /* of requests that have ended */
	_Atomic uint64_t ended;            /* how often a process has let go of all that it held */
	_Atomic uint64_t copied;           /* hits that were copied, because their request had its share already */
	uint64_t damaged;                  /* how often a segment of this name was truncated or written over, */
	int64_t damaged_at;                /* and when it was last found, in seconds since 1970; 0: never */
	_Atomic uint32_t closed;           /* 1: the last who had it open has closed it, and left nothing half done */
	int64_t closed_at[2];              /* the file's st_ctime then, seconds and nanoseconds */
	_Atomic uint32_t counted;          /* 1: the file system counts all of its blocks (st_blocks), so that a hole shows */
} seg_header;

_Static_assert(sizeof(seg_bucket) == 64, "a bucket is a cache line");
_Static_assert(offsetof(seg_header, hits) / 64 != offsetof(seg_header, broken) / 64, "a request that ends disturbs no lock");
_Static_assert(sizeof(seg_header) <= 4096, "the header is a page");
_Static_assert(sizeof(pthread_mutex_t) <= 64, "a lock is smaller than what is kept for it");

#endif
