/*
 * The extension: what PHP calls when it starts, when a request ends, when it stops.
 *
 * Where to look: larder_segment.c has the class Larder\Segment; hit_path.c has Larder\Request\HitPath, the way of a hit of the
 * library's Cache; persist.c and readout.c turn values into shared memory and
 * back; segment/ is the shared memory itself, in plain C. README.md explains all of it.
 */
#ifdef HAVE_CONFIG_H
# include "config.h"
#endif

#include "php.h"
#include "php_ini.h"
#include "ext/standard/info.h"
#include "php_larder.h"

ZEND_DECLARE_MODULE_GLOBALS(larder)

static PHP_GINIT_FUNCTION(larder)
{
	larder_globals->opened = NULL;
	larder_globals->at_work = 0;
	larder_globals->hit_cache.class = larder_globals->hit_copies.class = larder_globals->hit_class_of_main = NULL;
}

/*
 * When a thread ends, and for what is left when the process does: after its last request's post-deactivate, so nothing
 * of the engine points into a segment any more. Without ZTS it is called once, after the module's shutdown.
 */
static PHP_GSHUTDOWN_FUNCTION(larder)
{
	larder_close_all(larder_globals);
}

/* The first is of the library, which reads it (src/Config/SegmentPlace.php): for a whole server, or a pool of php-fpm (php_admin_value). */
PHP_INI_BEGIN()
	PHP_INI_ENTRY("larder.segment", "", PHP_INI_SYSTEM, NULL)
	PHP_INI_ENTRY("larder.segment_total", "", PHP_INI_SYSTEM, NULL)
PHP_INI_END()

static PHP_MINIT_FUNCTION(larder)
{
	REGISTER_INI_ENTRIES();
	larder_register_class();

	return SUCCESS;
}

static PHP_MSHUTDOWN_FUNCTION(larder)
{
	UNREGISTER_INI_ENTRIES();

	return SUCCESS;
}

#ifdef LARDER_DEBUG
/*
 * LARDER_AFTER=none in the environment takes the values' addresses away when the request is over, so that code that
 * looks at one too late dies; LARDER_AFTER=early does so at RSHUTDOWN, which is known to be too early.
 */
static bool is_hidden_after(const char *when)
{
	const char *after = getenv("LARDER_AFTER");

	return after && (!when || strcmp(after, when) == 0);
}
#endif

/* A program in which PHP lives may run each request in another thread. */
static PHP_RINIT_FUNCTION(larder)
{
	/* Other classes may lie at their addresses now. */
	LARDER_G(hit_cache).class = LARDER_G(hit_copies).class = LARDER_G(hit_class_of_main) = NULL;
	larder_enter_all();
#ifdef LARDER_DEBUG
	if (is_hidden_after(NULL)) {
		larder_hide_all(false);
	}
#endif

	return SUCCESS;
}

#ifdef LARDER_DEBUG

static PHP_RSHUTDOWN_FUNCTION(larder)
{
	if (is_hidden_after("early")) {
		larder_leave_all();
		larder_hide_all(true);
	}

	return SUCCESS;
}
#endif

/*
 * Not in RSHUTDOWN: the request's variables are destroyed after it, and some of them are in the segment
 * (main/main.c, php_request_shutdown()). With ZTS each thread's request is over for itself.
 */
static ZEND_MODULE_POST_ZEND_DEACTIVATE_D(larder)
{
	larder_keep_stream_names();
	larder_leave_all();
#ifdef LARDER_DEBUG
	if (is_hidden_after(NULL)) {
		larder_hide_all(true);
	}
#endif

	return SUCCESS;
}

static PHP_MINFO_FUNCTION(larder)
{
	php_info_print_table_start();
	php_info_print_table_row(2, "Larder's shared memory segment", "enabled");
	php_info_print_table_row(2, "Version", PHP_LARDER_VERSION);
#ifdef LARDER_DEBUG
	php_info_print_table_row(2, "Checks after every operation", "enabled");
#endif
	php_info_print_table_end();
	larder_print_opened();
	DISPLAY_INI_ENTRIES();
}

zend_module_entry larder_module_entry = {
	STANDARD_MODULE_HEADER,
	"larder",
	NULL, /* larder_register_class() has them, beside what is generated */
	PHP_MINIT(larder),
	PHP_MSHUTDOWN(larder),
	PHP_RINIT(larder),
#ifdef LARDER_DEBUG
	PHP_RSHUTDOWN(larder),
#else
	NULL,
#endif
	PHP_MINFO(larder),
	PHP_LARDER_VERSION,
	PHP_MODULE_GLOBALS(larder),
	PHP_GINIT(larder),
	PHP_GSHUTDOWN(larder),
	ZEND_MODULE_POST_ZEND_DEACTIVATE_N(larder),
	STANDARD_MODULE_PROPERTIES_EX
};

#ifdef COMPILE_DL_LARDER
ZEND_GET_MODULE(larder)
#endif
