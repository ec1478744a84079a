/* What happens at the places that points.h names; nothing in a build for use. */
#include "points.h"

#ifdef SEG_POINTS

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const char *const __start_seg_points[] __attribute__((visibility("hidden")));
extern const char *const __stop_seg_points[] __attribute__((visibility("hidden")));

void seg_point(const char *name)
{
	static unsigned long times;
	const char *wanted = getenv("LARDER_POINT"), *how;
	size_t length = strlen(name);

	if (!wanted || strncmp(wanted, name, length) != 0 || (wanted[length] && wanted[length] != ':')) {
		return;
	}
	if (++times != (wanted[length] ? strtoul(wanted + length + 1, NULL, 10) : 1)) {
		return;
	}
	how = getenv("LARDER_POINT_HOW");
	if (how && strcmp(how, "stop") == 0) {
		kill(getpid(), SIGSTOP);
	} else if (how && strcmp(how, "exec") == 0) {
		execl("/bin/sleep", "sleep", "1000", (char *) NULL);
		abort();
	} else {
		kill(getpid(), SIGKILL);
	}
}

const char *const *seg_point_names(size_t *count)
{
	*count = (size_t) (__stop_seg_points - __start_seg_points);

	return __start_seg_points;
}

#else
typedef int nothing_here;
#endif
