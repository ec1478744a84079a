#ifndef PHP_LARDER_H
#define PHP_LARDER_H

#include "php.h"
#include "segment/segment.h"

#define PHP_LARDER_VERSION "0.1.0"

extern zend_module_entry larder_module_entry;
#define phpext_larder_ptr &larder_module_entry

/* The engine's signatures have parameters that a function need not use; segment/ and the rest are told of theirs. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* A class of this request whose properties hit_path.c has looked at last (NULL: none), and which of them is the first that it knows. */
typedef struct {
	const zend_class_entry *class;
	int first;
} hit_class;

/* A thread's own; without ZTS the process's. */
ZEND_BEGIN_MODULE_GLOBALS(larder)
	struct larder_opened *opened;      /* larder_segment.c */
	unsigned at_work;                  /* values that objects' code is being run for (persist.h) */
	hit_class hit_cache;          /* hit_path.c */
	hit_class hit_copies;
	const zend_class_entry *hit_class_of_main; /* that of hit_cache while no fiber runs */
ZEND_END_MODULE_GLOBALS(larder)

ZEND_EXTERN_MODULE_GLOBALS(larder)

/* No cache of TSRM's in this module: it would be unset in a thread that PHP did not begin. */
#define LARDER_G(name) ZEND_MODULE_GLOBALS_ACCESSOR(larder, name)

/* larder_segment.c */
extern zend_class_entry *larder_exception_class;
void larder_register_class(void);
void larder_print_opened(void);
void larder_enter_all(void);
void larder_leave_all(void);
void larder_keep_stream_names(void);
void larder_close_all(zend_larder_globals *globals);

/* limits.c */
void larder_read_limits(void);

/* hit_path.c */
void larder_register_hit_path(zend_class_entry *interface);

/* What is in a Larder\Segment under the key; if nothing is, *to stays as it was. False: an exception is thrown. */
bool larder_fetch(zend_object *object, const char *key, uint32_t length, zval *to);
#ifdef LARDER_DEBUG
void larder_hide_all(bool hidden);
#endif

#endif
