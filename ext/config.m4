PHP_ARG_ENABLE([larder], [whether to enable larder], [AS_HELP_STRING([--enable-larder], [Enable Larder's shared memory segment])])
PHP_ARG_ENABLE([larder-debug], [whether larder checks its invariants after every operation], [AS_HELP_STRING([--enable-larder-debug], [Check every invariant after every operation])], [no], [no])

if test "$PHP_LARDER" != "no"; then
  if test "$PHP_LARDER_DEBUG" != "no"; then
    AC_DEFINE([LARDER_DEBUG], [1], [Check every invariant after every operation])
    LARDER_POINTS=-DSEG_POINTS
  fi
  PHP_NEW_EXTENSION([larder], [larder.c larder_segment.c hit_path.c persist.c readout.c limits.c segment/mapping.c segment/group.c segment/locks.c segment/slabs.c segment/index.c segment/pins.c segment/recovery.c segment/points.c], [$ext_shared], [], [-std=gnu11 -D_GNU_SOURCE -fvisibility=hidden $LARDER_POINTS])
  PHP_ADD_BUILD_DIR([$ext_builddir/segment])
  PHP_ADD_LIBRARY([pthread], [], [LARDER_SHARED_LIBADD])
  PHP_SUBST([LARDER_SHARED_LIBADD])
fi
