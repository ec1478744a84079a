/*
 * What segments may take: larder.segment_total in php.ini, and the policy of the machine's administrator, which no user
 * can exceed. /etc/larder/policy.ini is root's, and the library reads other lines of it (src/System/ServerPolicy.php),
 * by the same rules:
 *
 *     ; a comment
 *     segment = 16M          what one segment may take
 *     segment_total = 2G     what a file system may have taken, by whomever, before segments in it stop to grow
 *
 * A file or a directory that is not root's alone, or a line that cannot be read, is as if it were not there:
 * `bin/larder doctor` says so.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "php.h"
#include "php_larder.h"

#define DIRECTORY "/etc/larder"
#define POLICY "policy.ini"

/* Bytes of the file that are read. */
#define LONGEST 65536

/* From a byte to one behind the last. */
typedef struct {
	const char *from, *to;
} words;

static words trimmed(words w, const char *blanks)
{
	while (w.from < w.to && *w.from && strchr(blanks, *w.from)) {
		w.from++;
	}
	while (w.from < w.to && w.to[-1] && strchr(blanks, w.to[-1])) {
		w.to--;
	}

	return w;
}

/* A number of bytes, or with K, M or G. False: it is none. */
static bool read_size(words w, uint64_t *bytes)
{
	const char *at = w.from;
	unsigned shift = 0;

	*bytes = 0;
	for (; at < w.to && *at >= '0' && *at <= '9'; at++) {
		*bytes = *bytes * 10 + (uint64_t) (*at - '0');
	}
	if (at == w.from || at - w.from > 18) {
		return false;
	}
	words unit = trimmed((words) {at, w.to}, " \t\n\v\f\r");
	if (unit.from < unit.to) {
		/* Blanks may stand before the unit only. */
		if (unit.to - unit.from != 1 || unit.to != w.to) {
			return false;
		}
		switch (*unit.from) {
			case 'k': case 'K': shift = 10; break;
			case 'm': case 'M': shift = 20; break;
			case 'g': case 'G': shift = 30; break;
			default: return false;
		}
	}
	*bytes = *bytes > (uint64_t) INT64_MAX >> shift ? (uint64_t) INT64_MAX : *bytes << shift;

	return true;
}

/* Less than a segment can have counts as that, as it does for the library. */
static void at_most(uint64_t *limit, words size)
{
	uint64_t bytes;

	if (read_size(size, &bytes)) {
		bytes = bytes < SEG_SMALLEST ? SEG_SMALLEST : bytes;
		*limit = bytes < *limit ? bytes : *limit;
	}
}

static void read_line(words line)
{
	line = trimmed(line, " \t\r");
	const char *equals = line.from < line.to ? memchr(line.from, '=', (size_t) (line.to - line.from)) : NULL;

	if (!equals || *line.from == ';' || *line.from == '#') {
		return;
	}
	words key = trimmed((words) {line.from, equals}, " \t"), value = trimmed((words) {equals + 1, line.to}, " \t");
	size_t length = (size_t) (key.to - key.from);
	if (length == 7 && memcmp(key.from, "segment", length) == 0) {
		at_most(&seg_most.segment, value);
	} else if (length == 13 && memcmp(key.from, "segment_total", length) == 0) {
		at_most(&seg_most.total, value);
	}
}

/* Whether only root can have written it. */
static bool is_roots(int fd, mode_t type)
{
	struct stat found;

	return fd >= 0 && fstat(fd, &found) == 0 && (found.st_mode & S_IFMT) == type && found.st_uid == 0 && !(found.st_mode & 022);
}

static void read_policy(void)
{
	int directory = open(DIRECTORY, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (directory < 0) {
		return;
	}
	int fd = is_roots(directory, S_IFDIR) ? openat(directory, POLICY, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	char *text = is_roots(fd, S_IFREG) ? malloc(LONGEST) : NULL;
	ssize_t length = 0, got = 1;
	while (text && got > 0 && length < LONGEST) {
		got = read(fd, text + length, (size_t) (LONGEST - length));
		length += got > 0 ? got : 0;
	}
	for (const char *from = text, *end = text + length; text && from < end;) {
		const char *to = memchr(from, '\n', (size_t) (end - from));
		read_line((words) {from, to ? to : end});
		from = to ? to + 1 : end;
	}
	free(text);
	if (fd >= 0) {
		close(fd);
	}
	close(directory);
}

/* Before a file is opened; then they hold for all that this process has open. */
void larder_read_limits(void)
{
	static const char name[] = "larder.segment_total";
	/* PHP 8.6 has no INI_STR() any more. */
	const char *total = zend_ini_string(name, sizeof(name) - 1, 0);

	seg_most = (seg_limits) {UINT64_MAX, UINT64_MAX};
	if (total && *total) {
		at_most(&seg_most.total, trimmed((words) {total, total + strlen(total)}, " \t"));
	}
	read_policy();
}
