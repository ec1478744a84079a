/*
 * The file: made, checked, attached.
 *
 * It is mapped twice: read-only at the address that its header names, where the engine reads values in place, and
 * read-write anywhere, for this folder. Where that address is taken in a process, its values are copied out.
 *
 * Whoever writes the file owns every process that reads it: so it must be a regular file of our own user, reached by no
 * link, with no rights for anybody else, and its header must say exactly what this build expects. What does not is
 * replaced by a new file of the same name; processes that have the old one mapped keep theirs until they end.
 *
 * Making goes on under a lock of a file beside it (flock(2), released explicitly: a mapping keeps it alive), so that
 * nobody attaches to half a segment, and two do not make two.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "segment.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* Where nothing else maps: above the heap of any program, below libraries, and out of reach of an unlimited stack. */
#if UINTPTR_MAX > 0xffffffffu
#define FIRST_BASE UINT64_C(0x200000000000)
#else
#error "64 bits are needed"
#endif
#define BASES 64
#define BASE_STEP UINT64_C(0x2000000000)

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + 4095) & ~UINT64_C(4095);
}

static uint64_t checksum(const seg_header *h)
{
	const unsigned char *byte = (const unsigned char *) h;
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < offsetof(seg_header, check); i++) {
		sum = (sum ^ byte[i]) * UINT64_C(0x100000001b3);
	}

	return sum;
}

static uint64_t hash_text(const char *text)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++) {
		sum = (sum ^ (unsigned char) *text) * UINT64_C(0x100000001b3);
	}

	return sum;
}

/* Which start of the machine this is; 0 where the system does not tell. */
static uint64_t boot(void)
{
	char id[64] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		ssize_t length = read(fd, id, sizeof id - 1);
		id[length > 0 ? length : 0] = 0;
		close(fd);
	}

	return hash_text(id);
}

/* Where everything lies in a file of that size. */
static void lay_out(seg_header *h, uint64_t bytes, const char *identity)
{
	memset(h, 0, sizeof *h);
	h->magic = SEG_MAGIC;
	h->layout = SEG_LAYOUT;
	h->header_bytes = sizeof *h;
	snprintf(h->identity, sizeof h->identity, "%s", identity);
	h->bytes = bytes;
	h->n_slots = SEG_SLOTS;
	h->n_shards = SEG_SHARDS;
	h->slots = 4096;
	h->pins = page_up(h->slots + sizeof(seg_slot) * SEG_SLOTS);
	h->n_words = (bytes / SEG_PAGE + 64) / 64;
	h->shards = page_up(h->pins + sizeof(uint64_t) * h->n_words * SEG_SLOTS);
	h->buckets = page_up(h->shards + sizeof(seg_shard) * SEG_SHARDS);
	/* A bucket for each KiB of values: items are a hundred and fifty bytes at the least. */
	uint64_t rest = bytes - h->buckets - 2 * 4096;
	uint64_t units = rest / (SEG_UNIT + sizeof(seg_bucket) + sizeof(uint64_t));
	h->n_buckets = units / SEG_SHARDS;
	h->units = page_up(h->buckets + sizeof(seg_bucket) * h->n_buckets * SEG_SHARDS);
	h->values = page_up(h->units + units * sizeof(uint64_t));
	h->n_units = (bytes - h->values) / SEG_UNIT < units ? (bytes - h->values) / SEG_UNIT : units;
}

/* A good segment, and not ours: it is left alone, and we have one beside it. */
#define OTHER_BUILD "was made by another build of PHP"

/* NULL if the header is one of this build's, whole, and says of itself what lay_out() would. */
static const char *reject(const seg_header *h, uint64_t bytes, const char *identity)
{
	seg_header expected;

	if (h->magic != SEG_MAGIC || h->layout != SEG_LAYOUT || h->header_bytes != sizeof *h) {
		return "is no segment of this version";
	}
	if (h->check != checksum(h)) {
		return "has a damaged header";
	}
	if (h->bytes != bytes || bytes < SEG_SMALLEST) {
		return "has another size than its header says";
	}
	lay_out(&expected, bytes, identity);
	if (memcmp(h->identity, expected.identity, sizeof h->identity) != 0) {
		return OTHER_BUILD;
	}
	if (h->n_slots != expected.n_slots || h->pins != expected.pins || h->n_words != expected.n_words || h->n_shards != expected.n_shards || h->n_buckets != expected.n_buckets
		|| h->n_units != expected.n_units || h->slots != expected.slots || h->shards != expected.shards
		|| h->buckets != expected.buckets || h->units != expected.units || h->values != expected.values
		|| h->base % BASE_STEP || h->base < FIRST_BASE || h->base >= FIRST_BASE + BASES * BASE_STEP) {
		return "has a header that contradicts itself";
	}
	if (h->boot != boot()) {
		return "was made before this machine was started";
	}
	if (!atomic_load(&h->ready)) {
		return "was never finished";
	}

	return NULL;
}

static void *map_at(uint64_t base, uint64_t bytes, int fd)
{
	void *there = mmap((void *) (uintptr_t) base, bytes, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);

	if (there == MAP_FAILED) {
		return NULL;
	}
	if (there != (void *) (uintptr_t) base) {
		/* Kernels before 4.17 take the flag for a wish. */
		munmap(there, bytes);
		return NULL;
	}

	return there;
}

static uint64_t draw(void)
{
	uint64_t number = 0;
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, &number, sizeof number) != sizeof number) {
		struct timespec now;
		clock_gettime(CLOCK_REALTIME, &now);
		number = (uint64_t) now.tv_nsec << 32 ^ (uint64_t) now.tv_sec ^ (uint64_t) getpid() << 16;
	}
	if (fd >= 0) {
		close(fd);
	}

	return number;
}

static void place(seg *segment)
{
	seg_header *h = segment->header;

	segment->slots = (seg_slot *) (segment->rw + h->slots);
	segment->pins = (_Atomic uint64_t *) (segment->rw + h->pins);
	segment->shards = (seg_shard *) (segment->rw + h->shards);
	segment->buckets = (seg_bucket *) (segment->rw + h->buckets);
	segment->units = (uint64_t *) (segment->rw + h->units);
}

/* Everything of a file that is new and full of zeros. */
static void make(seg *segment, uint64_t bytes, const char *identity)
{
	seg_header *h = segment->header;

	lay_out(h, bytes, identity);
	h->id = draw();
	h->boot = boot();
	for (int i = 0; i < BASES && !segment->ro; i++) {
		h->base = FIRST_BASE + (h->id + (uint64_t) i) % BASES * BASE_STEP;
		segment->ro = map_at(h->base, bytes, segment->fd);
	}
	place(segment);
	h->check = checksum(h);
	seg_make_lock(&h->units_lock);
	for (uint32_t i = 0; i < h->n_shards; i++) {
		seg_make_lock(&segment->shards[i].lock);
	}
	for (uint32_t i = 0; i < h->n_slots; i++) {
		seg_make_lock(&segment->slots[i].life);
	}
	seg_units_init(segment);
	atomic_store(&h->ready, 1);
}

/* A regular file of ours that nobody else may open; -1 and why. */
static int open_own(const char *path, int flags, struct stat *file, char *why, size_t room)
{
	int fd = open(path, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0) {
		if (errno == ELOOP) {
			snprintf(why, room, "%s is a symbolic link: name the file itself, in a directory that only you can write to", path);
		} else if (errno != ENOENT || flags & O_CREAT) {
			snprintf(why, room, "%s cannot be opened: %s", path, strerror(errno));
		}
		return -1;
	}
	if (fstat(fd, file) != 0 || !S_ISREG(file->st_mode)) {
		snprintf(why, room, "%s is no regular file", path);
	} else if (file->st_uid != geteuid()) {
		snprintf(why, room, "%s belongs to the user with the id %u and this process is %u: segments are never shared between users; run this as that user, or name another file", path, (unsigned) file->st_uid, (unsigned) geteuid());
	} else if (file->st_mode & 077) {
		snprintf(why, room, "%s can be opened by other users (mode %o), who could then run code here: type chmod 600 %s if nobody else has written to it, or rm it", path, file->st_mode & 0777, path);
	} else {
		return fd;
	}
	close(fd);

	return -1;
}

/* Attaches to what lies there. NULL with an empty why: nothing is there. NULL with a why that begins with "!": it may be replaced. */
static seg *attach(const char *path, const char *identity, char *why, size_t room)
{
	struct stat file;
	int fd;

	why[0] = 0;
	fd = open_own(path, 0, &file, why, room);
	if (fd < 0) {
		return NULL;
	}
	uint64_t bytes = (uint64_t) file.st_size;
	if (bytes < SEG_SMALLEST) {
		snprintf(why, room, "!is too short");
		close(fd);
		return NULL;
	}
	char *rw = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (rw == MAP_FAILED) {
		snprintf(why, room, "%s cannot be mapped: %s", path, strerror(errno));
		close(fd);
		return NULL;
	}
	const char *wrong = reject((seg_header *) rw, bytes, identity);
	seg *segment = wrong ? NULL : calloc(1, sizeof *segment);
	if (!segment) {
		snprintf(why, room, "!%s", wrong ? wrong : "there is no memory");
		munmap(rw, bytes);
		close(fd);
		return NULL;
	}
	segment->rw = rw;
	segment->header = (seg_header *) rw;
	segment->bytes = bytes;
	segment->fd = fd;
	segment->ro = map_at(segment->header->base, bytes, fd);
	place(segment);

	return segment;
}

static seg *create(const char *path, uint64_t bytes, const char *identity, char *why, size_t room)
{
	struct stat file;
	char part[4200];
	seg *segment;

	if ((size_t) snprintf(part, sizeof part, "%s.%u.part", path, (unsigned) getpid()) >= sizeof part) {
		snprintf(why, room, "%s is too long a name", path);
		return NULL;
	}
	unlink(part);
	int fd = open_own(part, O_CREAT | O_EXCL, &file, why, room);
	if (fd < 0) {
		return NULL;
	}
	/* All of it now: a page that a full file system cannot give later would be a SIGBUS. */
	int error = posix_fallocate(fd, 0, (off_t) bytes);
	if (error) {
		snprintf(why, room, "%s cannot have %llu bytes: %s; name fewer bytes, or a file system with more room", path, (unsigned long long) bytes, strerror(error));
		unlink(part);
		close(fd);
		return NULL;
	}
	char *rw = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	segment = rw == MAP_FAILED ? NULL : calloc(1, sizeof *segment);
	if (!segment) {
		snprintf(why, room, "%s cannot be mapped: %s", path, strerror(errno));
		if (rw != MAP_FAILED) {
			munmap(rw, bytes);
		}
		unlink(part);
		close(fd);
		return NULL;
	}
	segment->rw = rw;
	segment->header = (seg_header *) rw;
	segment->bytes = bytes;
	segment->fd = fd;
	make(segment, bytes, identity);
	if (rename(part, path) != 0) {
		snprintf(why, room, "%s cannot be made: %s", path, strerror(errno));
		unlink(part);
		seg_close(segment);
		return NULL;
	}

	return segment;
}

/* Nothing is there, or something that is no segment, or a broken one. */
static bool may_replace(const char *why)
{
	return !why[0] || (why[0] == '!' && strcmp(why + 1, OTHER_BUILD) != 0);
}

static seg *open_or_make(const char *path, uint64_t bytes, const char *identity, char *why, size_t room)
{
	char lock_path[4200];
	struct stat file;
	seg *segment;

	why[0] = 0;
	segment = attach(path, identity, why, room);
	if (!segment && may_replace(why)) {
		if ((size_t) snprintf(lock_path, sizeof lock_path, "%s.lock", path) >= sizeof lock_path) {
			snprintf(why, room, "%s is too long a name", path);
			return NULL;
		}
		int lock = open_own(lock_path, O_CREAT, &file, why, room);
		if (lock < 0) {
			return NULL;
		}
		while (flock(lock, LOCK_EX) != 0 && errno == EINTR) {
		}
		segment = attach(path, identity, why, room);
		if (!segment && may_replace(why)) {
			why[0] = 0;
			segment = create(path, bytes, identity, why, room);
		}
		flock(lock, LOCK_UN);
		close(lock);
	}
	if (segment) {
		segment->path = strdup(path);
	}

	return segment;
}

seg *seg_open(const char *path, uint64_t bytes, const char *identity, char *why, size_t room)
{
	char beside[4200];
	seg *segment;

	bytes = page_up(bytes < SEG_SMALLEST ? SEG_SMALLEST : bytes);
	if ((size_t) snprintf(beside, sizeof beside, "%s-%08x", path, (unsigned) hash_text(identity)) >= sizeof beside) {
		snprintf(why, room, "%s is too long a name", path);
		return NULL;
	}
	/* Where this build has once had to step aside it stays, or two of its processes would have two. */
	segment = access(beside, F_OK) == 0 ? NULL : open_or_make(path, bytes, identity, why, room);
	if (!segment && (access(beside, F_OK) == 0 || strcmp(why, "!" OTHER_BUILD) == 0)) {
		segment = open_or_make(beside, bytes, identity, why, room);
	}
	if (segment) {
		segment->view = segment->ro ? segment->ro : segment->rw;
		segment->first_word = UINT64_MAX;
		segment->passing = SEG_NONE;
		segment->slot = -1;
		seg_take_slot(segment);
	}

	return segment;
}

/* Whether the file is still the one that was opened: somebody may have removed it, or made it anew. */
bool seg_is_there(const seg *segment)
{
	struct stat by_name, by_descriptor;

	return segment->path && stat(segment->path, &by_name) == 0 && fstat(segment->fd, &by_descriptor) == 0
		&& by_name.st_ino == by_descriptor.st_ino && by_name.st_dev == by_descriptor.st_dev;
}

void seg_close(seg *segment)
{
	seg_drop_slot(segment);
	if (segment->ro) {
		munmap((void *) (uintptr_t) segment->ro, segment->bytes);
	}
	munmap(segment->rw, segment->bytes);
	close(segment->fd);
	free(segment->path);
	free(segment);
}
