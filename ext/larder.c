/*
 * The extension: what PHP calls when it starts, when a request ends, when it stops.
 *
 * Where to look: larder_segment.c has the class Larder\Segment; persist.c and readout.c turn values into shared memory
 * and back; segment/ is the shared memory itself, in plain C. README.md explains all of it.
 */
#ifdef HAVE_CONFIG_H
# include "config.h"
#endif

#include "php.h"
#include "ext/standard/info.h"
#include "php_larder.h"

static PHP_MINIT_FUNCTION(larder)
{
	larder_register_class();

	return SUCCESS;
}

static PHP_MSHUTDOWN_FUNCTION(larder)
{
	larder_close_all();

	return SUCCESS;
}

/*
 * Not in RSHUTDOWN: the request's variables are destroyed after it, and some of them are in the segment
 * (main/main.c, php_request_shutdown()).
 */
static ZEND_MODULE_POST_ZEND_DEACTIVATE_D(larder)
{
	larder_leave_all();

	return SUCCESS;
}

static PHP_MINFO_FUNCTION(larder)
{
	php_info_print_table_start();
	php_info_print_table_row(2, "Larder's shared memory segment", "enabled");
	php_info_print_table_row(2, "Version", PHP_LARDER_VERSION);
	php_info_print_table_end();
}

zend_module_entry larder_module_entry = {
	STANDARD_MODULE_HEADER,
	"larder",
	NULL,
	PHP_MINIT(larder),
	PHP_MSHUTDOWN(larder),
	NULL,
	NULL,
	PHP_MINFO(larder),
	PHP_LARDER_VERSION,
	NO_MODULE_GLOBALS,
	ZEND_MODULE_POST_ZEND_DEACTIVATE_N(larder),
	STANDARD_MODULE_PROPERTIES_EX
};

#ifdef COMPILE_DL_LARDER
ZEND_GET_MODULE(larder)
#endif
