#ifndef PHP_LARDER_H
#define PHP_LARDER_H

#include "php.h"
#include "segment/segment.h"

#define PHP_LARDER_VERSION "0.1.0"

extern zend_module_entry larder_module_entry;
#define phpext_larder_ptr &larder_module_entry

/* larder_segment.c */
void larder_register_class(void);
void larder_leave_all(void);
void larder_close_all(void);

#endif
