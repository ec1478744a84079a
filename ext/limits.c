/*
 * What segments may take: larder.segment_total in php.ini, and the policy of the machine's administrator, which no user
 * can exceed. /etc/larder/policy.ini is root's, and the library reads other lines of it (src/System/ServerPolicy.php):
 *
 *     ; a comment
 *     segment = 16M          what one segment may take
 *     segment_total = 2G     what a file system may have taken, by whomever, before segments in it stop to grow
 *
 * A file that is not root's alone, or a line that cannot be read, is as if it were not there: `bin/larder doctor` says so.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "php.h"
#include "php_larder.h"

#define POLICY "/etc/larder/policy.ini"

/* A number of bytes, or with K, M or G. False: it is none. */
static bool read_size(const char *text, uint64_t *bytes)
{
	unsigned long long number;
	char unit = 0, rest = 0;
	int read = sscanf(text, "%18llu%c %c", &number, &unit, &rest);

	if (*text < '0' || *text > '9' || read < 1 || read > 2) {
		return false;
	}
	switch (unit) {
		case 0: case ' ': case '\t': case '\r': case '\n': *bytes = number; return true;
		case 'k': case 'K': *bytes = number << 10; return number < UINT64_C(1) << 50;
		case 'm': case 'M': *bytes = number << 20; return number < UINT64_C(1) << 40;
		case 'g': case 'G': *bytes = number << 30; return number < UINT64_C(1) << 30;
		default: return false;
	}
}

/* Less than a segment can have counts as that, as it does for the library. */
static void at_most(uint64_t *limit, const char *text)
{
	uint64_t bytes;

	if (read_size(text, &bytes)) {
		bytes = bytes < SEG_SMALLEST ? SEG_SMALLEST : bytes;
		*limit = bytes < *limit ? bytes : *limit;
	}
}

static void read_policy(void)
{
	int fd = open(POLICY, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat found;
	char line[256], key[32], value[32];

	if (fd < 0) {
		return;
	}
	if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != 0 || (found.st_mode & 022)) {
		close(fd);
		return;
	}
	FILE *file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return;
	}
	while (fgets(line, sizeof line, file)) {
		if (sscanf(line, " %31[a-z_] = %31s", key, value) != 2) {
			continue;
		}
		if (strcmp(key, "segment") == 0) {
			at_most(&seg_most.segment, value);
		} else if (strcmp(key, "segment_total") == 0) {
			at_most(&seg_most.total, value);
		}
	}
	fclose(file);
}

/* Before anything is opened. */
void larder_read_limits(void)
{
	const char *total = INI_STR("larder.segment_total");

	seg_most = (seg_limits) {UINT64_MAX, UINT64_MAX};
	if (total && *total) {
		at_most(&seg_most.total, total);
	}
	read_policy();
}
