/*
 * What the control group of this process (a container, a service of systemd, a customer of a host) may still take.
 *
 * Shared memory counts as its own, and where it has none left the kernel kills one of its processes: to be refused more
 * memory by fallocate(2) as by a full file system, cannot be asked. So a segment looks before it grows. The groups above
 * have limits too, and the lowest counts. See cgroups(7); the kernel's Documentation/admin-guide/cgroup-v2.rst and
 * cgroup-v1/memory.rst.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "segment.h"

/* Where the groups are, and how their files are called. */
typedef struct {
	const char *root, *most, *used, *inactive;
} hierarchy;

static const hierarchy unified = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "};
static const hierarchy memory = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "};

/* The number in a file, or in that line of it which begins so; UINT64_MAX: there is none, or it says "max". */
static uint64_t number_in(const hierarchy *h, const char *path, const char *name, const char *line)
{
	char text[PATH_MAX + 64];
	uint64_t number = UINT64_MAX;

	snprintf(text, sizeof text, "%s%s/%s", h->root, path, name);
	FILE *file = fopen(text, "re");
	if (!file) {
		return number;
	}
	while (number == UINT64_MAX && fgets(text, sizeof text, file)) {
		size_t before = line ? strlen(line) : 0;
		if ((!line || strncmp(text, line, before) == 0) && text[before] >= '0' && text[before] <= '9') {
			number = strtoull(text + before, NULL, 10);
		}
	}
	fclose(file);

	return number;
}

/* A tenth is left, and what the kernel can drop of files counts as free. */
static uint64_t room_in(const hierarchy *h, const char *path)
{
	uint64_t most = number_in(h, path, h->most, NULL), used = most < UINT64_C(1) << 60 ? number_in(h, path, h->used, NULL) : UINT64_MAX;

	if (used == UINT64_MAX) {
		return UINT64_MAX;
	}
	uint64_t inactive = number_in(h, path, "memory.stat", h->inactive);
	used -= inactive < used ? inactive : 0;
	most = most / 10 * 9;

	return most > used ? most - used : 0;
}

/* Of the group and those above. A container may see itself as the root, under the name that it has outside. */
static uint64_t room_from(const hierarchy *h, char *path)
{
	uint64_t room = UINT64_MAX;

	for (;;) {
		char *last = strrchr(path, '/');
		uint64_t here = room_in(h, path);
		room = here < room ? here : room;
		if (!last) {
			return room;
		}
		*last = 0;
	}
}

static bool is_in(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL) {
		if (strncmp(list, name, length) == 0 && (list[length] == 0 || list[length] == ',')) {
			return true;
		}
	}

	return false;
}

/* Bytes; UINT64_MAX: no group has a limit, or it cannot be told. */
uint64_t seg_group_room(void)
{
	char line[PATH_MAX + 256];
	uint64_t room = UINT64_MAX;
	FILE *file = fopen("/proc/self/cgroup", "re");

	/* A line is "number:controllers:path", and has no controllers in the unified hierarchy. */
	while (file && fgets(line, sizeof line, file)) {
		char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path) {
			continue;
		}
		*path++ = 0;
		path[strcspn(path, "\n")] = 0;
		controllers++;
		if (!*controllers || is_in(controllers, "memory")) {
			uint64_t here = room_from(*controllers ? &memory : &unified, path);
			room = here < room ? here : room;
		}
	}
	if (file) {
		fclose(file);
	}

	return room;
}
