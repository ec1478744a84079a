/*
 * Named places at which a test can end a process, or stop it: between any two stores that could be seen half done.
 *
 * Nothing of it is in a build for use. With -DSEG_POINTS the environment says where and how:
 *
 *   LARDER_POINT=publish-named        the first time that this place is reached; publish-named:3: the third time
 *   LARDER_POINT_HOW=stop             by SIGSTOP; exec: becomes another program, in the same process; else by SIGKILL
 *
 * All names are in a section of their own, from which seg_point_names() lists them: no list has to be kept by hand.
 */
#ifndef LARDER_POINTS_H
#define LARDER_POINTS_H

#ifdef SEG_POINTS
# include <stddef.h>
# define SEG_POINT(name) do { \
		static const char *const seg_point_name __attribute__((section("seg_points"), used)) = name; \
		seg_point(seg_point_name); \
	} while (0)
void seg_point(const char *name);
/* A name may be there more than once, where the compiler has made copies of a function. */
const char *const *seg_point_names(size_t *count);
#else
# define SEG_POINT(name) ((void) 0)
#endif

#endif
