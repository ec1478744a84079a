/*
 * The file: made, checked, attached.
 *
 * It is mapped twice: read-only at the address that its header names, where the engine reads values in place, and
 * read-write anywhere, for this folder. Where that address is taken in a process, its values are copied out. Threads
 * of a process share both mappings: there is only one place at that address.
 *
 * A program that writes the file owns every process that reads it: so it must be a regular file of our own user, reached by no
 * link, with no rights for other users (and none to write, but while we open it), in a directory in which no other user can put another in its place, and its
 * header must say exactly what this build expects. What does not is replaced by a new file of the same name; processes
 * that have the old one mapped keep theirs. The good segment of another build is left alone, and ours lies beside it.
 *
 *   segment             the file, of the build that was here first
 *   segment-1a2b3c4d    that of another build
 *   segment.part        one that is being made, or whose maker died: the next one to make it begins anew
 *   segment.lock        locked by flock(2) while a process opens, so that two do not make two; says which file was made
 *
 * A second flock(2), on the file itself, says who has it open: every process holds it, shared, from attaching until its
 * mapping is gone, however it ends, and a forked child with it. So a process that gets it alone is alone, in whatever
 * container it runs, and knows three things that nothing else tells:
 *
 *   the last one closed it, and nothing else has changed the file since   it is as good as it was
 *   the last one closed it, and the file was changed (header.closed_at)   nothing in it is believed: made anew
 *   not closed: killed                                                    locks, slots and all but the values anew
 *
 * What is written into the file by others while processes have it mapped is out of reach, as is its truncation: that
 * is a SIGBUS. Only its own user can do either.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "segment.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/*
 * Where nothing else maps: above the heap of any program, below libraries, and out of reach of what grows from below
 * when the stack has no limit (a third of the address space: mm/mmap.c, TASK_UNMAPPED_BASE). Elsewhere than on x86-64
 * the address space may have 39 bits (arm64, riscv Sv39), of which programs begin at a third or two.
 */
#if UINTPTR_MAX <= 0xffffffffu
#error "64 bits are needed"
#elif defined(__x86_64__)
#define FIRST_BASE UINT64_C(0x200000000000)
#define BASE_STEP  UINT64_C(0x100000000)
#define BASES      2048
#else
#define FIRST_BASE UINT64_C(0x1000000000)
#define BASE_STEP  UINT64_C(0x10000000)
#define BASES      64
#endif
#define BASE_TRIES 64

/* Seconds for which another process's making is waited for, and one more for so many bytes. */
#define PATIENCE      5
#define PATIENT_BYTES (UINT64_C(1) << 28)

/* Seconds for which a segment that nobody has open is kept, when another build makes one beside it. */
#define KEPT 86400

/* What a process has mapped of one file, once for all of its threads. */
struct seg_file {
	struct seg_file *next;
	dev_t device;
	ino_t number;
	char *rw;
	const char *ro;
	uint64_t bytes;
	int fd;
	unsigned users;
	bool forked;                       /* a child has it too: the last one here is not the last one */
	bool lost;                         /* this process does not open it again (seg_lose()) */
	int writable;                      /* the file once more, to get memory for it */
};

static struct seg_file *files;
static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

int64_t seg_clock_ahead;
seg_limits seg_most = {UINT64_MAX, UINT64_MAX};

typedef enum {
	GOOD,
	ABSENT,
	REPLACEABLE,                       /* it is no segment, or a broken one */
	OTHER_BUILD,                       /* a good one, and not ours */
	REFUSED                            /* and why says why */
} verdict;

/* The place of a segment: everything is found from its directory, so that it cannot be exchanged meanwhile. */
typedef struct {
	int directory;
	uint64_t boot, pids;               /* which start of the machine this is, and in which namespace of process ids we are */
	const char *path;                  /* as it is named in what is said about it */
	char name[NAME_MAX + 1];
	char *why;
	size_t room;
} place;

static verdict __attribute__((format(printf, 2, 3))) refuse(const place *p, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(p->why, p->room, format, arguments);
	va_end(arguments);

	return REFUSED;
}

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

/* The beginning of a small file of the kernel's, or an empty text. */
static void read_text(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, text, room - 1);

	text[length > 0 ? length : 0] = 0;
	if (fd >= 0) {
		close(fd);
	}
}

/* Which start of the machine this is; 0: it cannot be told. */
static uint64_t boot(void)
{
	char id[64];

	read_text("/proc/sys/kernel/random/boot_id", id, sizeof id);

	return id[0] ? hash_text(id) : 0;
}

/*
 * In which namespace of process ids we are; 0: it cannot be told. A lock names its holder by the number that it has in its own; at a death
 * the kernel compares that with the number of the dead in the dead's own (kernel/futex/core.c, handle_futex_death()):
 * of two containers it would take the one's lock for the other's. So they never have a segment open together.
 */
static uint64_t pids(void)
{
	char name[64] = "";
	ssize_t length = readlink("/proc/self/ns/pid", name, sizeof name - 1);

	return length > 0 ? hash_text(name) : 0;
}

/* Numbers that cannot be guessed. Of the kernel itself: /dev/urandom is a file, which may be missing. */
static bool draw(void *numbers, size_t bytes)
{
	ssize_t drawn;

	do {
		drawn = getrandom(numbers, bytes, 0);
	} while (drawn < 0 && errno == EINTR);

	return drawn == (ssize_t) bytes;
}

/* ---- the process ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&files_lock);
	for (struct seg_file *file = files; file; file = file->next) {
		file->forked = true;
	}
}

static void after_fork(void)
{
	pthread_mutex_unlock(&files_lock);
}

/*
 * A container may have a monotonic clock of its own, some time ahead of the machine's (time_namespaces(7)): that is
 * taken away, or its processes would not agree with others about what is over. The file tells of the children's
 * namespace, which is ours unless it was just unshared.
 */
static void find_clock(void)
{
	char offsets[256], ours[64] = "", childrens[64] = "";
	long long seconds, nanoseconds;

	read_text("/proc/self/timens_offsets", offsets, sizeof offsets);
	if (sscanf(offsets, "monotonic %lld %lld", &seconds, &nanoseconds) == 2
		&& readlink("/proc/self/ns/time", ours, sizeof ours - 1) > 0
		&& readlink("/proc/self/ns/time_for_children", childrens, sizeof childrens - 1) > 0
		&& strcmp(ours, childrens) == 0) {
		seg_clock_ahead = seconds * 1000 + nanoseconds / 1000000;
	}
}

static void begin(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
	find_clock();
	seg_make_classes();
}

/* ---- the header ---- */

/* With so many buckets a shard begins, or with up to twice as many: a page. */
#define BASE_BUCKETS 32

/* What a new file takes, at most; and at least, where the file system counts it. */
#define LEAST_FILE  262144
#define LEAST_GIVEN 65536

/* With less than that none shrinks. */
#define LEAST_KEPT  1048576

/* Bytes of the values that get memory together, unless there were too many of them. */
#define LEAST_CHUNK 65536

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
	/* Whole lines of the processor's cache: no two slots' bits lie in one. */
	h->n_words = (bytes / SEG_PAGE / 512 + 1) * 8;
	h->shards = page_up(h->pins + sizeof(uint64_t) * h->n_words * SEG_SLOTS);
	h->buckets = page_up(h->shards + sizeof(seg_shard) * SEG_SHARDS);
	/* Eleven buckets for eight KiB of values: of the smallest items there are eight in one, and then five of six places are taken, and hardly ever both buckets of a key. */
	uint64_t rest = bytes - h->buckets - 2 * 4096;
	uint64_t units = rest * 16 / (16 * SEG_UNIT + 11 * sizeof(seg_bucket) + 16 * sizeof(uint64_t));
	h->base_buckets = units * 11 / 16 / SEG_SHARDS;
	uint64_t doubled = 1;
	for (; h->base_buckets >= 2 * BASE_BUCKETS; doubled *= 2) {
		/* Rather some more than some fewer. */
		h->base_buckets = (h->base_buckets + 1) / 2;
	}
	h->n_buckets = h->base_buckets * doubled;
	h->units = page_up(h->buckets + sizeof(seg_bucket) * h->n_buckets * SEG_SHARDS);
	h->values = page_up(h->units + units * sizeof(uint64_t));
	h->chunk_units = LEAST_CHUNK / SEG_UNIT;
	while (units / h->chunk_units > SEG_CHUNKS) {
		h->chunk_units *= 2;
	}
	h->n_units = (bytes - h->values) / SEG_UNIT < units ? (bytes - h->values) / SEG_UNIT : units;
	for (uint32_t i = 0; i < SEG_SHARDS; i++) {
		atomic_store(&h->index[i], seg_size_of(h->base_buckets, 0));
	}
	atomic_store(&h->grows, 1);
	h->chunks[0] = 1;
	h->given_units = h->chunk_units;
}

/* Whether it is a header of this build's, whole, and says of itself what lay_out() would. */
static verdict judge(const seg_header *h, uint64_t bytes, const char *identity)
{
	seg_header expected;

	if (h->magic != SEG_MAGIC) {
		return REPLACEABLE;
	}
	/* What the header of another version has behind these is not known here. */
	if (h->layout != SEG_LAYOUT || h->header_bytes != sizeof *h) {
		return OTHER_BUILD;
	}
	if (h->check != checksum(h) || bytes < SEG_SMALLEST) {
		return REPLACEABLE;
	}
	lay_out(&expected, bytes, identity);
	if (memcmp(h->identity, expected.identity, sizeof h->identity) != 0) {
		return OTHER_BUILD;
	}
	expected.base = h->base;
	expected.id = h->id;
	expected.pids = h->pids;
	expected.boot = h->boot;
	memcpy(expected.secret, h->secret, sizeof expected.secret);
	if (memcmp(h, &expected, offsetof(seg_header, check)) != 0
		|| h->base % BASE_STEP || h->base < FIRST_BASE || h->base >= FIRST_BASE + BASES * BASE_STEP) {
		return REPLACEABLE;
	}

	return atomic_load(&h->ready) == 1 ? GOOD : REPLACEABLE;
}

/* Whether how large it has grown can be: after that nothing leads out of what has memory. */
static bool is_possible(const seg_header *h)
{
	bool possible = atomic_load(&h->used_slots) <= h->n_slots && (h->chunks[0] & 1);

	for (int i = 0; i < SEG_SHARDS; i++) {
		uint64_t size = atomic_load(&h->index[i]), n = seg_size_buckets(size), rows = seg_size_rows(size);
		possible = possible && n >= h->base_buckets && n <= h->n_buckets && (rows & (rows + 1)) == 0 && n <= h->base_buckets * (rows + 1) && (rows == 0 || n > h->base_buckets * ((rows + 1) / 2));
	}

	return possible;
}

/* And the rest of what changes, as long as others use it. */
static bool is_sane(const seg_header *h)
{
	bool sane = is_possible(h) && h->given_units <= h->n_units && h->free_units <= h->given_units && h->window <= h->n_units;

	for (int i = 0; i < SEG_BINS; i++) {
		sane = sane && (!h->bins[i] || (h->bins[i] >= h->values && h->bins[i] < h->bytes && (h->bins[i] - h->values) % SEG_UNIT == 0));
	}

	return sane;
}

/* ---- mapping ---- */

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

static void find_parts(seg *segment)
{
	seg_header *h = segment->header;

	segment->slots = (seg_slot *) (segment->rw + h->slots);
	segment->pins = (_Atomic uint64_t *) (segment->rw + h->pins);
	segment->shards = (seg_shard *) (segment->rw + h->shards);
	segment->buckets = (seg_bucket *) (segment->rw + h->buckets);
	segment->n_buckets = h->n_buckets;
	segment->base_buckets = h->base_buckets;
	segment->index = h->index;
	memcpy(segment->secret, h->secret, sizeof segment->secret);
	segment->check = h->check;
	segment->units = (uint64_t *) (segment->rw + h->units);
}

/* A handle of the file, without a slot yet. */
static seg *handle(struct seg_file *file, const char *path)
{
	seg *segment = calloc(1, sizeof *segment);

	if (!segment || !(segment->path = strdup(path))) {
		free(segment);
		return NULL;
	}
	segment->file = file;
	segment->rw = file->rw;
	segment->ro = file->ro;
	segment->view = file->ro ? file->ro : file->rw;
	segment->header = (seg_header *) file->rw;
	segment->bytes = file->bytes;
	segment->fd = file->writable;
	segment->slot = -1;
	segment->first_word = UINT64_MAX;
	segment->passing = SEG_NONE;

	return segment;
}

static struct seg_file *keep(int fd, int writable, const struct stat *found, char *rw, const char *ro)
{
	struct seg_file *file = malloc(sizeof *file);

	if (file) {
		*file = (struct seg_file) {files, found->st_dev, found->st_ino, rw, ro, (uint64_t) found->st_size, fd, 1, false, false, writable};
		files = file;
	}

	return file;
}

static void unmap(int fd, int writable, char *rw, const char *ro, uint64_t bytes)
{
	if (writable != fd) {
		close(writable);
	}
	if (ro) {
		munmap((void *) (uintptr_t) ro, bytes);
	}
	munmap(rw, bytes);
	close(fd);
}

/* ---- files and directories ---- */

static bool wait_for_lock(int fd, int how, uint64_t bytes)
{
	struct timespec now, nap = {0, 50000};

	clock_gettime(CLOCK_MONOTONIC, &now);
	for (time_t end = now.tv_sec + PATIENCE + (time_t) (bytes / PATIENT_BYTES);;) {
		if (flock(fd, how | LOCK_NB) == 0) {
			return true;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
		if ((errno != EWOULDBLOCK && errno != EINTR) || now.tv_sec >= end) {
			return false;
		}
		nanosleep(&nap, NULL);
		nap.tv_nsec = nap.tv_nsec < 2000000 ? nap.tv_nsec * 2 : nap.tv_nsec;
	}
}

/* The directory: made if only it is missing; one in which only its owner, or root, can replace what is in it. */
static verdict open_directory(place *p)
{
	char directory[PATH_MAX];
	const char *slash = strrchr(p->path, '/');
	struct stat found;

	if (!slash || p->path[0] != '/' || strlen(p->path) >= sizeof directory || strlen(slash + 1) > NAME_MAX - 16) {
		return refuse(p, "%s is no path of a file, or too long: name one as /dev/shm/larder/segment", p->path);
	}
	if (!slash[1]) {
		return refuse(p, "%s is a directory: name a file in it, as %ssegment", p->path, p->path);
	}
	strcpy(p->name, slash + 1);
	snprintf(directory, sizeof directory, "%.*s", slash == p->path ? 1 : (int) (slash - p->path), p->path);
	const char *last = strrchr(directory, '/') + 1;
	if (lstat(directory, &found) != 0 && errno == ENOENT) {
		if (last[0] == '~') {
			return refuse(p, "%s is not there: only a shell knows what ~ is; name the whole path", directory);
		}
		if (mkdir(directory, 0700) != 0 && errno != EEXIST) {
			return refuse(p, "%s cannot be made: %s; type mkdir -p -m 700 %s", directory, strerror(errno), directory);
		}
	}
	p->directory = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (p->directory < 0) {
		int error = errno;
		if (lstat(directory, &found) == 0 && S_ISLNK(found.st_mode)) {
			return refuse(p, "%s is a symbolic link: name the directory that it leads to", directory);
		}
		return refuse(p, "%s cannot be opened: %s", directory, strerror(error));
	}
	if (fstat(p->directory, &found) != 0) {
		return refuse(p, "%s cannot be looked at: %s", directory, strerror(errno));
	}
	if (found.st_uid != geteuid() && found.st_uid != 0) {
		return refuse(p, "%s belongs to the user with the id %u and this process is %u: segments are never shared between users; run this as that user, or name a file in a directory of your own", directory, (unsigned) found.st_uid, (unsigned) geteuid());
	}
	if (found.st_mode & 022 && !(found.st_mode & S_ISVTX)) {
		return refuse(p, "%s can be written to by other users (mode %o), who could put another file in the place of the segment: type chmod 700 %s, or name a file in a directory of your own", directory, (unsigned) found.st_mode & 0777, directory);
	}

	return GOOD;
}

static verdict is_a_directory(const place *p, const char *suffix)
{
	return refuse(p, "%s%s is a directory: name a file in it, as %s%s/segment", p->path, suffix, p->path, suffix);
}

/* A regular file of ours that no other user may open. */
static verdict open_own(place *p, const char *suffix, int flags, int *fd, struct stat *found)
{
	char name[NAME_MAX + 16];

	snprintf(name, sizeof name, "%s%s", p->name, suffix);
	/* A named pipe would be waited for, without O_NONBLOCK. */
	*fd = openat(p->directory, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (*fd < 0) {
		int error = errno;
		if (error == ENOENT && !(flags & O_CREAT)) {
			return ABSENT;
		}
		if (error == ELOOP) {
			return refuse(p, "%s%s is a symbolic link: name the file itself, in a directory that only you can write to", p->path, suffix);
		}
		if (error == EISDIR) {
			return is_a_directory(p, suffix);
		}
		/* Not that of another user: who may not even open it is told why. */
		if (error == EACCES && fstatat(p->directory, name, found, AT_SYMLINK_NOFOLLOW) == 0 && found->st_uid != geteuid()) {
			return refuse(p, "%s%s belongs to the user with the id %u and this process is %u: segments are never shared between users; run this as that user, or name another file", p->path, suffix, (unsigned) found->st_uid, (unsigned) geteuid());
		}
		return refuse(p, "%s%s cannot be opened: %s", p->path, suffix, strerror(error));
	}
	bool told = fstat(*fd, found) == 0;
	if (told && S_ISDIR(found->st_mode)) {
		is_a_directory(p, suffix);
	} else if (!told || !S_ISREG(found->st_mode)) {
		refuse(p, "%s%s is no regular file: name another", p->path, suffix);
	} else if (found->st_uid != geteuid()) {
		refuse(p, "%s%s belongs to the user with the id %u and this process is %u: segments are never shared between users; run this as that user, or name another file", p->path, suffix, (unsigned) found->st_uid, (unsigned) geteuid());
	} else if (found->st_mode & 077) {
		refuse(p, "%s%s can be opened by other users (mode %o), who could then run code here: type rm %s%s", p->path, suffix, (unsigned) found->st_mode & 0777, p->path, suffix);
	} else {
		/* Just made, under a umask that takes its owner's rights, too: no later process could open it. */
		if (flags & O_CREAT && (found->st_mode & 0600) != 0600) {
			fchmod(*fd, 0600);
		}

		return GOOD;
	}
	close(*fd);

	return REFUSED;
}

/*
 * A segment has mode 0400, so that no program of its user's opens it for writing by the way, as one that empties all
 * files of a folder does: who truncates it ends every process that is just reading from it. It may be written to for the
 * moment in which we open it: what we have open keeps the right. Under the lock of the name.
 */
static void forbid_writing(int fd)
{
	fchmod(fd, 0400);
}

/* The same file once more, to be written to; -1: that cannot be. */
static int open_to_write(place *p, int fd, const struct stat *found)
{
	struct stat again;

	fchmod(fd, 0600);
	int writable = openat(p->directory, p->name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int error = errno;
	forbid_writing(fd);
	if (writable >= 0 && (fstat(writable, &again) != 0 || again.st_ino != found->st_ino || again.st_dev != found->st_dev)) {
		close(writable);
		writable = -1;
		error = ESTALE;
	}
	errno = error;

	return writable;
}

/* ---- making ---- */

static void make_locks(seg *segment)
{
	seg_header *h = segment->header;

	seg_make_lock(&h->units_lock);
	for (uint32_t i = 0; i < h->n_shards; i++) {
		seg_make_lock(&segment->shards[i].lock);
		segment->shards[i].sound = SEG_SOUND;
	}
	for (uint32_t i = 0; i < h->n_slots; i++) {
		seg_make_lock(&segment->slots[i].life);
	}
}

/* Everything of a file that is new and full of zeros, but that it is ready. False: random numbers cannot be had. */
static bool fill(const place *p, char *rw, const seg_header *small, int fd, const char **ro)
{
	seg_header *h = (seg_header *) rw;
	uint64_t bytes = small->bytes;
	seg segment = {.rw = rw, .header = h, .bytes = bytes, .slot = -1};

	memcpy(h, small, sizeof *h);
	if (!draw(&h->id, sizeof h->id) || !draw(h->secret, sizeof h->secret)) {
		return false;
	}
	h->pids = p->pids;
	h->boot = p->boot;
	for (uint64_t i = 0; i < BASE_TRIES && !*ro; i++) {
		h->base = FIRST_BASE + (h->id + i) % BASES * BASE_STEP;
		*ro = map_at(h->base, bytes, fd);
	}
	h->check = checksum(h);
	find_parts(&segment);
	make_locks(&segment);
	seg_units_init(&segment);

	return true;
}

/* Whether this file system counts what a file has been given, and nothing less later: one that compresses does not. */
static bool counts_blocks(int fd)
{
	struct statfs system;

	/* statfs(2): tmpfs, ext2 to ext4, XFS, and a layer over one of them, as containers have. */
	return fstatfs(fd, &system) == 0 && (system.f_type == 0x01021994 || system.f_type == 0xef53 || system.f_type == 0x58465342 || system.f_type == 0x794c7630);
}

/* Whether a hole was punched into it (fallocate -p): what lay there reads as zeros. The header was looked at before the file was. */
static bool has_hole(const seg_header *h, uint64_t given, const struct stat *found)
{
	return atomic_load_explicit(&h->counted, memory_order_relaxed) == 1 && (uint64_t) found->st_blocks * 512 < given;
}

/* Bytes from an offset on: a page that a full file system cannot give later would be a SIGBUS. Zero, or what fallocate(2) says. */
static int get_memory(int fd, seg_offset from, uint64_t bytes, bool whole)
{
	sigset_t every, before;
	int error;

	/* A signal would end it in the middle, and a timer's would do so each time. */
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	error = whole ? posix_fallocate(fd, (off_t) from, (off_t) bytes) : fallocate(fd, 0, (off_t) from, (off_t) bytes) != 0 ? errno : 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);

	return error;
}

/* So a part of all is for new segments and small ones. */
#define RESERVE 32

/*
 * Bytes that all segments together may still take of their file system: a tenth of it is left to other programs. What
 * other users' segments take cannot be told from the rest, for their directories are closed to us: so all of it counts.
 */
static uint64_t room_of(int fd, uint64_t *reserve)
{
	struct statvfs system;

	*reserve = 0;
	/* Without blocks: a tmpfs that has no limit. */
	if (fstatvfs(fd, &system) != 0 || !system.f_blocks) {
		return UINT64_MAX;
	}
	uint64_t most = (uint64_t) system.f_blocks / 10 * 9 * system.f_frsize, used = (uint64_t) (system.f_blocks - system.f_bavail) * system.f_frsize;
	most = most < seg_most.total ? most : seg_most.total;
	*reserve = most / RESERVE;

	return most > used ? most - used : 0;
}

/*
 * A segment grows up to so many times the room that is left, without the reserve, and shrinks where it has twice as much. So whoever comes
 * last finds room, all who use theirs come to about as much, and one alone has eight of nine parts, without anybody
 * who knows of all of them ("Dynamic queue length thresholds for shared-memory packet switches", Choudhury and Hahne, 1998).
 */
#define SHARE 8

/*
 * In a control group there is no such balance, and who has no room left is killed: there a segment grows up to what is
 * left, without the tenth, and shrinks where it has twice as much.
 */
#define GROUP_SHARE 1

/* Milliseconds for which no process looks again; at a control group, and whether it needs more. */
#define REFUSED_FOR 1000
#define GROUP_FOR 100

static uint64_t room_of_group(seg *segment)
{
	int64_t now = seg_clock();

	if (segment->group_until <= now) {
		segment->group_room = seg_group_room();
		segment->group_until = now + GROUP_FOR;
	}

	return segment->group_room;
}

/* Whether the values may have so many bytes more; now and then also asked for none, to shrink where others need some. */
bool seg_may_grow(seg *segment, uint64_t bytes)
{
	seg_header *h = segment->header;

	if (segment->lost || !atomic_load_explicit(&h->grows, memory_order_relaxed)) {
		return bytes != 0;
	}
	_Atomic int64_t *again = bytes ? &h->ask_again : &h->look_again;
	if (atomic_load_explicit(again, memory_order_relaxed) > seg_clock()) {
		return false;
	}
	uint64_t given = atomic_load(&h->given), reserve, room = room_of(segment->fd, &reserve), rest = room > reserve ? room - reserve : 0, group = room_of_group(segment);
	bool is_small = given + bytes <= LEAST_KEPT;
	bool crowds = given > LEAST_KEPT && given / (2 * GROUP_SHARE) > group;
	if (crowds || given > seg_most.segment || (given > LEAST_KEPT && given / (2 * SHARE) > rest)) {
		atomic_store(&h->too_large, 1);
	}
	if (bytes && bytes <= room && bytes <= group && given + bytes <= seg_most.segment
		&& (is_small || ((given + bytes) / SHARE <= rest && (given + bytes) / GROUP_SHARE <= group))) {
		segment->group_room -= group < UINT64_MAX ? bytes : 0;
		atomic_store_explicit(again, 0, memory_order_relaxed);
		return true;
	}
	atomic_store_explicit(again, seg_clock() + (crowds ? GROUP_FOR : REFUSED_FOR), memory_order_relaxed);

	return false;
}

/* Memory for a part of the file that has none yet. False: there is none. Under the lock of the units, so that what the file has is counted. */
bool seg_get_memory(seg *segment, seg_offset from, uint64_t bytes)
{
	seg_header *h = segment->header;

	if (segment->lost || !atomic_load_explicit(&h->grows, memory_order_relaxed)) {
		return true;
	}
	struct stat before, after;
	SEG_POINT("get-memory");
	if (fstat(segment->fd, &before) == 0 && get_memory(segment->fd, from, bytes, false) == 0 && fstat(segment->fd, &after) == 0) {
		SEG_POINT("got-memory");
		atomic_fetch_add_explicit(&h->given, (uint64_t) (after.st_blocks - before.st_blocks) * 512, memory_order_relaxed);
		return true;
	}
	atomic_store_explicit(&h->ask_again, seg_clock() + REFUSED_FOR, memory_order_relaxed);

	return false;
}

/* A part of the file has no memory any more: no process looks at it. Under the lock of the units, with header.given 0 meanwhile. */
void seg_drop_memory(seg *segment, seg_offset from, uint64_t bytes)
{
	seg_offset first = page_up(from), end = (from + bytes) & ~UINT64_C(4095);

	if (first < end) {
		fallocate(segment->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) first, (off_t) (end - first));
	}
}

/* What the file has, by its own count. */
void seg_count_memory(seg *segment)
{
	struct stat found;

	if (atomic_load(&segment->header->grows) && fstat(segment->fd, &found) == 0) {
		atomic_store(&segment->header->given, (uint64_t) found.st_blocks * 512);
	}
}

/* The file's size, of which nothing has memory yet. */
static verdict set_size(place *p, int fd, uint64_t bytes)
{
	sigset_t too_large, before, waiting;
	const struct timespec now = {0, 0};
	struct rlimit limit;

	sigemptyset(&too_large);
	sigaddset(&too_large, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &too_large, &before);
	sigpending(&waiting);
	int error = ftruncate(fd, (off_t) bytes) != 0 ? errno : 0;
	if (error == EFBIG && !sigismember(&waiting, SIGXFSZ)) {
		/* The signal that says the same would end the process (setrlimit(2), RLIMIT_FSIZE). */
		sigtimedwait(&too_large, NULL, &now);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) {
		return refuse(p, "%s cannot have %llu bytes: this process may write no file of more than %llu (ulimit -f); raise that, or name fewer bytes", p->path, (unsigned long long) bytes, (unsigned long long) limit.rlim_cur);
	}

	return error ? refuse(p, "%s cannot have %llu bytes: %s", p->path, (unsigned long long) bytes, strerror(error)) : GOOD;
}

static bool is_given(const seg_header *h, uint64_t chunk)
{
	return h->chunks[chunk / 64] >> (chunk % 64) & 1;
}

/* Everything that has memory, or shall have it from the beginning. */
static int get_all(int fd, const seg_header *h)
{
	uint64_t row = h->n_words * sizeof(uint64_t), rows = atomic_load(&h->used_slots) * row, chunk = h->chunk_units * SEG_UNIT;
	int error;

	if (!atomic_load(&h->grows)) {
		return get_memory(fd, 0, h->bytes, true);
	}
	if ((error = get_memory(fd, 0, h->pins + rows, false)) != 0 || (error = get_memory(fd, h->pins + (h->n_slots - 1) * row, row, false)) != 0
		|| (error = get_memory(fd, h->shards, h->buckets - h->shards, false)) != 0) {
		return error;
	}
	for (uint64_t i = 0; i < h->n_shards; i++) {
		if ((error = get_memory(fd, h->buckets + i * h->n_buckets * sizeof(seg_bucket), seg_size_buckets(atomic_load(&h->index[i])) * sizeof(seg_bucket), false)) != 0) {
			return error;
		}
	}
	for (uint64_t i = 0; i * h->chunk_units < h->n_units; i++) {
		/* The last may be shorter: behind it the file ends, or has some bytes of no use. */
		if (is_given(h, i) && ((error = get_memory(fd, h->values + i * chunk, i * chunk + chunk > h->bytes - h->values ? h->bytes - h->values - i * chunk : chunk, false)) != 0
			|| (error = get_memory(fd, h->units + i * h->chunk_units * sizeof(uint64_t), h->chunk_units * sizeof(uint64_t), false)) != 0)) {
			return error;
		}
	}

	return 0;
}

static verdict allocate(place *p, int fd, const seg_header *h)
{
	struct statvfs system;
	int error = get_all(fd, h);

	if (!error) {
		return GOOD;
	}
	unsigned long long left = fstatvfs(fd, &system) == 0 ? (unsigned long long) system.f_bavail * system.f_frsize : 0;

	return refuse(p, "%s has no room: %s (%llu bytes are free there); name a file system with more", p->path, strerror(error), left);
}

/* Segments of builds that are gone: nobody has them open, and nobody had for a day. Ours is what is being made. */
static void sweep(const place *p, const char *origin)
{
	int fd = openat(p->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = fd < 0 ? NULL : fdopendir(fd);
	size_t length = strlen(origin);
	struct timespec now;
	struct dirent *one;

	if (!all) {
		if (fd >= 0) {
			close(fd);
		}
		return;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	while ((one = readdir(all))) {
		const char *rest = one->d_name + length;
		unsigned long number;
		char end[8] = "", lock[NAME_MAX + 8];
		uint64_t magic = 0;
		struct stat found;
		if (strncmp(one->d_name, origin, length) != 0 || strcmp(one->d_name, p->name) == 0
			|| (*rest && (sscanf(rest, "-%8lx%7s", &number, end) < 1 || strlen(rest) != 9 + strlen(end) || (*end && strcmp(end, ".part") != 0)))) {
			continue;
		}
		int old = openat(p->directory, one->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (old < 0) {
			continue;
		}
		if (fstat(old, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid() && found.st_mtime < now.tv_sec - KEPT
			&& pread(old, &magic, sizeof magic, 0) == sizeof magic && (magic == SEG_MAGIC || (*end && !magic))
			&& flock(old, LOCK_EX | LOCK_NB) == 0) {
			unlinkat(p->directory, one->d_name, 0);
			snprintf(lock, sizeof lock, "%s.lock", one->d_name);
			unlinkat(p->directory, lock, 0);
		}
		close(old);
	}
	closedir(all);
}

/* What the lock of the name says: which file was made here, which is ours whatever was written over it; and how often that has happened. */
typedef struct {
	unsigned long long inode, device, damaged;
	long long damaged_at;
} note;

#define NOTE "the segment beside was made here: inode %llu, device %llu; damaged %llu times, the last at %lld\n"

static note read_note(int lock)
{
	char text[192];
	note n = {0, 0, 0, 0};
	ssize_t length = pread(lock, text, sizeof text - 1, 0);

	text[length > 0 ? length : 0] = 0;
	if (sscanf(text, NOTE, &n.inode, &n.device, &n.damaged, &n.damaged_at) != 4) {
		n = (note) {0, 0, 0, 0};
	}

	return n;
}

static void write_note(int lock, const note *n)
{
	char text[192];
	int length = snprintf(text, sizeof text, NOTE, n->inode, n->device, n->damaged, n->damaged_at);

	if (pwrite(lock, text, (size_t) length, 0) != length || ftruncate(lock, length) != 0) {
		/* Without it what is damaged is not known to be ours, and is not replaced. */
		return;
	}
}

static bool was_made(const note *n, const struct stat *found)
{
	return n->inode == found->st_ino && n->device == found->st_dev;
}

static verdict create(place *p, const char *origin, uint64_t bytes, const char *identity, int lock, note *n, struct seg_file **file)
{
	char part[NAME_MAX + 16];
	struct stat found;
	seg_header h;
	int fd;

	snprintf(part, sizeof part, "%s.part", p->name);
	unlinkat(p->directory, part, 0);
	verdict result = open_own(p, ".part", O_RDWR | O_CREAT | O_EXCL, &fd, &found);
	if (result != GOOD) {
		return result;
	}
	SEG_POINT("create-begun");
	lay_out(&h, bytes, identity);
	result = set_size(p, fd, bytes);
	if (result == GOOD && get_memory(fd, 0, 4096, false) == EOPNOTSUPP) {
		atomic_store(&h.grows, 0);
		memset(h.chunks, 255, sizeof h.chunks);
		h.given_units = h.n_units;
	}
	if (result == GOOD) {
		uint64_t reserve, room = room_of(fd, &reserve);
		result = room >= (atomic_load(&h.grows) ? LEAST_FILE : bytes) ? allocate(p, fd, &h) : refuse(p, SEG_NO_ROOM "%s is not made: all segments may take %llu bytes more of its file system, of which a tenth stays free (and larder.segment_total may say less); free some there, or name another file system", p->path, (unsigned long long) room);
	}
	char *rw = result != GOOD ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (rw == MAP_FAILED) {
		if (result == GOOD) {
			result = refuse(p, "%s cannot be mapped: %s", p->path, strerror(errno));
		}
		unlinkat(p->directory, part, 0);
		close(fd);
		return result;
	}
	SEG_POINT("create-allocated");
	const char *ro = NULL;
	bool filled = fill(p, rw, &h, fd, &ro);
	SEG_POINT("create-filled");
	forbid_writing(fd);
	/* Before another process can find it: we have it open. */
	if (!filled) {
		result = refuse(p, "%s cannot be made: the kernel gives no random numbers (getrandom(2): %s)", p->path, strerror(errno));
	} else if (flock(fd, LOCK_SH | LOCK_NB) != 0) {
		result = refuse(p, "%s cannot be locked: %s; name a file in /dev/shm", p->path, strerror(errno));
	} else if (renameat(p->directory, part, p->directory, p->name) != 0) {
		result = refuse(p, "%s cannot be made: %s", p->path, strerror(errno));
	} else if (fstat(fd, &found) != 0 || !(*file = keep(fd, fd, &found, rw, ro))) {
		result = refuse(p, "There is no memory to open %s", p->path);
	}
	if (result != GOOD) {
		unlinkat(p->directory, part, 0);
		unmap(fd, fd, rw, ro, bytes);
		return result;
	}
	SEG_POINT("create-named");
	atomic_store(&((seg_header *) rw)->given, atomic_load(&h.grows) ? (uint64_t) found.st_blocks * 512 : bytes);
	atomic_store(&((seg_header *) rw)->counted, counts_blocks(fd) && (uint64_t) found.st_blocks * 512 >= (atomic_load(&h.grows) ? LEAST_GIVEN : bytes));
	atomic_store(&((seg_header *) rw)->ready, 1);
	n->inode = found.st_ino;
	n->device = found.st_dev;
	write_note(lock, n);
	((seg_header *) rw)->damaged = n->damaged;
	((seg_header *) rw)->damaged_at = n->damaged_at;
	sweep(p, origin);

	return GOOD;
}

/* ---- attaching ---- */

/*
 * No process has it open, and the last that had it was killed: whatever it was doing is not done, and no lock, slot or list
 * in there means anything. Only items do that the index names and that are whole (recovery.c).
 */
static void revive(seg *segment)
{
	seg_header *h = segment->header;
	uint32_t used = atomic_load(&h->used_slots);

	atomic_store(&h->used_slots, 0);
	atomic_store(&h->ask_again, 0);
	atomic_store(&h->look_again, 0);
	atomic_store(&h->quarantine, 0);
	atomic_store(&h->orphans, 0);
	atomic_store(&h->broken, 1);
	memset(segment->slots, 0, h->n_slots * sizeof *segment->slots);
	for (uint32_t i = 0; i < used; i++) {
		memset((void *) (segment->pins + i * h->n_words), 0, h->n_words * sizeof *segment->pins);
	}
	memset((void *) (segment->pins + (h->n_slots - 1) * h->n_words), 0, h->n_words * sizeof *segment->pins);
	make_locks(segment);
	SEG_POINT("revive-emptied");
	seg_repair(segment);
}

/*
 * Whether it may be replaced: a segment, however damaged, or a file that was not written to yet. What was named by
 * mistake belongs to some program.
 */
static bool is_ours(const seg_header *h)
{
	const unsigned char *byte = (const unsigned char *) h;
	size_t i = 0;

	if (h->magic == SEG_MAGIC || (h->layout == SEG_LAYOUT && h->header_bytes == sizeof *h) || strncmp(h->identity, "PHP ", 4) == 0) {
		return true;
	}
	while (i < sizeof *h && byte[i] == 0) {
		i++;
	}

	return i == sizeof *h;
}

static verdict attach(place *p, const char *identity, note *n, struct seg_file **file)
{
	seg_header h;
	struct stat found;
	int fd, writable = -1;
	verdict result = open_own(p, "", O_RDONLY, &fd, &found);

	if (result != GOOD) {
		return result;
	}
	for (struct seg_file *one = files; one; one = one->next) {
		if (!one->lost && one->device == found.st_dev && one->number == found.st_ino && one->bytes == (uint64_t) found.st_size) {
			one->users++;
			*file = one;
			close(fd);
			return GOOD;
		}
	}
	uint64_t bytes = (uint64_t) found.st_size;
	bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0, alone = locked;
	/* Once more: it may have been a process that only looked. The lock is lost on the way, if that fails. */
	for (int i = 0; i < 2 && !alone; i++) {
		locked = wait_for_lock(fd, LOCK_SH, bytes);
		alone = locked && i == 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
	}
	if (!locked) {
		result = refuse(p, "%s cannot be locked: %s; name a file in /dev/shm, or end the process that has it", p->path, strerror(errno));
	} else {
		/* Read, not mapped: what is too short would be a SIGBUS there. */
		bool hole = true;
		/* More than once: it may be giving memory back. */
		for (int i = 0; i < 3 && hole; i++) {
			memset(&h, 0, sizeof h);
			result = pread(fd, &h, sizeof h, 0) == sizeof h ? judge(&h, bytes, identity) : REPLACEABLE;
			/* Before anything in it is touched, which would fill the hole with zeros. */
			hole = result == GOOD && fstat(fd, &found) == 0 && has_hole(&h, atomic_load(&h.given), &found);
		}
		if (hole) {
			result = REPLACEABLE;
		}
		if (result == REPLACEABLE && was_made(n, &found)) {
			n->damaged++;
			n->damaged_at = (long long) time(NULL);
		} else if (result == REPLACEABLE && !is_ours(&h)) {
			result = refuse(p, SEG_SOMETHING_ELSE "%s is no segment and has something else in it: name another file, or type rm %s", p->path, p->path);
		}
	}
	if (result == GOOD && !alone && h.pids != p->pids) {
		result = OTHER_BUILD;
	}
	/* No process has one open for longer than the machine runs; alone it tells whether it was made since. */
	if (result == GOOD && (alone ? h.boot != p->boot || !is_possible(&h) : !is_sane(&h))) {
		result = REPLACEABLE;
	}
	bool closed = atomic_load(&h.closed) == 1;
	if (result == GOOD && alone && closed && (fstat(fd, &found) != 0 || found.st_ctim.tv_sec != h.closed_at[0] || found.st_ctim.tv_nsec != h.closed_at[1])) {
		result = REPLACEABLE;
	}
	if (result == GOOD && (writable = open_to_write(p, fd, &found)) < 0) {
		result = refuse(p, "%s cannot be opened: %s", p->path, strerror(errno));
	}
	if (result == GOOD && alone && !closed) {
		/* Its pages may have been taken away again. */
		result = allocate(p, writable, &h);
	}
	char *rw = result != GOOD ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, writable, 0);
	if (result == GOOD && rw == MAP_FAILED) {
		result = refuse(p, "%s cannot be mapped: %s", p->path, strerror(errno));
	}
	if (rw == MAP_FAILED) {
		if (writable >= 0) {
			close(writable);
		}
		close(fd);
		return result;
	}
	seg_header *there = (seg_header *) rw;
	atomic_store(&there->closed, 0);
	SEG_POINT("attach-opened");
	if (there->pids != p->pids) {
		/* We are alone: the other container has ended. */
		there->pids = p->pids;
		there->check = checksum(there);
	}
	const char *ro = map_at(h.base, bytes, fd);
	if (alone) {
		if (!closed) {
			seg segment = {.rw = rw, .view = rw, .header = (seg_header *) rw, .bytes = bytes, .fd = writable, .slot = -1, .is_revived = true};
			find_parts(&segment);
			revive(&segment);
		}
		/* No other process gets it alone between: they wait for the lock of the name. */
		if (!wait_for_lock(fd, LOCK_SH, bytes)) {
			result = refuse(p, "%s cannot be locked: %s", p->path, strerror(errno));
		}
	}
	if (result == GOOD && !(*file = keep(fd, writable, &found, rw, ro))) {
		result = refuse(p, "There is no memory to open %s", p->path);
	}
	if (result != GOOD) {
		unmap(fd, writable, rw, ro, bytes);
	}

	return result;
}

/* The lock of the name; -1 and why. Who deletes it makes another one of that name: only that counts which is there. */
static int lock_name(place *p, uint64_t bytes)
{
	char name[NAME_MAX + 16];
	struct stat ours, there;
	int fd;

	snprintf(name, sizeof name, "%s.lock", p->name);
	for (;;) {
		if (open_own(p, ".lock", O_RDWR | O_CREAT, &fd, &ours) != GOOD) {
			return -1;
		}
		if (!wait_for_lock(fd, LOCK_EX, bytes)) {
			refuse(p, "%s.lock cannot be locked: %s; a process that opens the segment may have been stopped", p->path, strerror(errno));
			close(fd);
			return -1;
		}
		if (fstatat(p->directory, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && there.st_ino == ours.st_ino && there.st_dev == ours.st_dev) {
			return fd;
		}
		close(fd);
	}
}

static verdict attach_or_create(place *p, const char *origin, uint64_t bytes, const char *identity, struct seg_file **file)
{
	int lock = lock_name(p, bytes);

	if (lock < 0) {
		return REFUSED;
	}
	note n = read_note(lock);
	verdict result = attach(p, identity, &n, file);
	if (result == ABSENT || result == REPLACEABLE) {
		result = create(p, origin, bytes, identity, lock, &n, file);
	}
	/* Said explicitly: a child that was forked meanwhile would hold it on. */
	flock(lock, LOCK_UN);
	close(lock);

	return result;
}

seg *seg_open(const char *path, uint64_t bytes, const char *identity, char *why, size_t room)
{
	char beside[PATH_MAX + 16], origin[NAME_MAX + 1];
	place p = {-1, boot(), pids(), path, "", why, room};
	struct seg_file *file = NULL;
	seg *segment = NULL;
	struct stat found;

	why[0] = 0;
	bytes = page_up(bytes < SEG_SMALLEST ? SEG_SMALLEST : bytes);
	pthread_once(&once, begin);
	pthread_mutex_lock(&files_lock);
	verdict result = open_directory(&p);
	if (result == GOOD && (!p.boot || !p.pids)) {
		result = refuse(&p, "%s cannot be opened: /proc is not mounted here, or does not show %s, without which nobody knows who shares it; mount it (mount -t proc proc /proc)", path,
			p.boot ? "/proc/self/ns/pid" : "/proc/sys/kernel/random/boot_id");
	}
	if (result == GOOD) {
		strcpy(origin, p.name);
		snprintf(beside, sizeof beside, "%s-%08x", path, (unsigned) (hash_text(identity) ^ p.pids) + SEG_LAYOUT);
		result = OTHER_BUILD;
		/* Where this build has once had to step aside it stays, or two of its processes would have two. */
		if (fstatat(p.directory, strrchr(beside, '/') + 1, &found, AT_SYMLINK_NOFOLLOW) != 0) {
			result = attach_or_create(&p, origin, bytes, identity, &file);
		}
		if (result == OTHER_BUILD) {
			p.path = beside;
			strcpy(p.name, strrchr(beside, '/') + 1);
			result = attach_or_create(&p, origin, bytes, identity, &file);
		}
		if (result == OTHER_BUILD) {
			refuse(&p, "%s was made by another build of PHP: type rm %s", p.path, p.path);
		}
	}
	if (result == GOOD) {
		segment = handle(file, p.path);
		if (!segment) {
			refuse(&p, "There is no memory to open %s", path);
			file->users--;
		}
	}
	if (p.directory >= 0) {
		close(p.directory);
	}
	pthread_mutex_unlock(&files_lock);
	if (segment) {
		find_parts(segment);
		seg_take_slot(segment);
		seg_enter(segment);
	}

	return segment;
}

/*
 * What lies below is no segment any more: the file was truncated or written over, or its locks do not work.
 * From here on nothing is found through this handle, and nothing stored. It stays mapped, since the thread's list of
 * robust locks leads through it (pthread_mutexattr_setrobust(3)), and the next that opens the file makes a new one.
 */
void seg_lose(seg *segment, const char *why)
{
	/* A bucket a shard, in which nothing is. */
	static seg_bucket nothing[SEG_SHARDS];
	static const _Atomic uint64_t sizes[SEG_SHARDS] = {1, 1, 1, 1, 1, 1, 1, 1};

	if (!segment->lost) {
		segment->lost = why;
		segment->buckets = nothing;
		segment->n_buckets = segment->base_buckets = 1;
		segment->index = sizes;
		if (segment->file) {
			segment->file->lost = true;
		}
		atomic_store(&segment->header->ready, 0);
	}
}

/* The file is shorter than what is mapped: behind its end a look is a SIGBUS, so there is other memory from now on. */
static void cover(struct seg_file *file)
{
	mmap(file->rw, file->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if (file->ro) {
		mmap((void *) (uintptr_t) file->ro, file->bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	}
}

/* Looked at once more, for it may have got memory or given some back meanwhile. */
static bool still_has_hole(const seg *segment)
{
	struct stat found;
	uint64_t given;

	do {
		given = atomic_load(&segment->header->given);
		if (fstat(segment->fd, &found) != 0 || !has_hole(segment->header, given, &found)) {
			return false;
		}
	} while (atomic_load(&segment->header->given) != given);

	return true;
}

/*
 * Whether the file is still the one that was opened, and a segment: it may have been removed, made anew,
 * truncated it, or written something else over it. To be asked when a request begins, before anything in it is looked at.
 */
bool seg_is_there(seg *segment)
{
	struct stat by_name, ours;
	const seg_header *h = segment->header;

	if (segment->lost) {
		return false;
	}
	bool same = lstat(segment->path, &by_name) == 0 && by_name.st_ino == segment->file->number && by_name.st_dev == segment->file->device;
	if (!same && fstat(segment->fd, &ours) != 0) {
		return false;
	}
	if ((uint64_t) (same ? by_name : ours).st_size < segment->bytes) {
		cover(segment->file);
		seg_lose(segment, "its file was truncated");
	} else if (has_hole(h, atomic_load(&h->given), same ? &by_name : &ours) && still_has_hole(segment)) {
		seg_lose(segment, "a hole was made in its file");
	} else if (h->magic != SEG_MAGIC || h->check != segment->check || (same && atomic_load(&h->ready) != 1)) {
		seg_lose(segment, "something else was written over it");
	}

	return same && !segment->lost && (uint64_t) by_name.st_size == segment->bytes;
}

/* Whether no other handle of this process is of the same file: none of another thread's. */
bool seg_is_alone(const seg *segment)
{
	return segment->file->users == 1;
}

/* This process, a child, sees something of its own at the file's address: none of its handles may look there. */
void seg_forget_address(seg *segment)
{
	segment->file->ro = NULL;
}

bool seg_has_address(const seg *segment)
{
	return segment->file->ro != NULL;
}

/*
 * The last one leaves word that nothing was left half done. Only who is alone can: the file's time, by which it is
 * told whether another has written to it since, changes with every process that writes to a page for the first
 * time. So that page is written to before the time is taken.
 */
static void say_goodbye(struct seg_file *file)
{
	seg_header *h = (seg_header *) file->rw;
	struct stat found;

	if (file->forked || flock(file->fd, LOCK_EX | LOCK_NB) != 0 || atomic_load(&h->broken)) {
		return;
	}
	h->closed_at[0] = h->closed_at[1] = 0;
	atomic_store(&h->closed, 0);
	if (fstat(file->fd, &found) == 0) {
		h->closed_at[0] = found.st_ctim.tv_sec;
		h->closed_at[1] = found.st_ctim.tv_nsec;
		SEG_POINT("close-timed");
		atomic_store(&h->closed, 1);
	}
}

void seg_close(seg *segment)
{
	struct seg_file *file = segment->file;

	if (segment->lost) {
		/* The thread's list of locks leads through what is mapped: that stays until the process ends. */
		free(segment->path);
		free(segment);
		return;
	}
	if (!seg_drop_slot(segment)) {
		/* Another thread has the slot, and its list of locks leads through this memory: it stays until the process ends. */
		return;
	}
	pthread_mutex_lock(&files_lock);
	if (--file->users == 0) {
		struct seg_file **link = &files;
		while (*link != file) {
			link = &(*link)->next;
		}
		*link = file->next;
		say_goodbye(file);
		unmap(file->fd, file->writable, file->rw, file->ro, file->bytes);
		free(file);
	}
	pthread_mutex_unlock(&files_lock);
	free(segment->path);
	free(segment);
}
