/* The class Larder\Segment: the public door. What it promises is in larder.stub.php. */
#ifdef HAVE_CONFIG_H
# include "config.h"
#endif

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "php.h"
#include "php_streams.h"
#include "zend_exceptions.h"
#include "ext/standard/info.h"
#include "ext/spl/spl_exceptions.h"

#include "larder_arginfo.h"
#include "persist.h"
#include "php_larder.h"

zend_class_entry *larder_exception_class;
static zend_class_entry *segment_class;
static zend_object_handlers handlers;

/* A thread opens a file once; what it reads in place may live longer than any object of the class. */
typedef struct larder_opened {
	struct larder_opened *next;
	seg *segment;
	char path[];
} opened;

typedef struct {
	seg *segment;
	zend_object std;
} segment_object;

static inline seg *segment_of(zval *object)
{
	return ((segment_object *) ((char *) Z_OBJ_P(object) - offsetof(segment_object, std)))->segment;
}

static zend_object *create_object(zend_class_entry *class)
{
	segment_object *object = zend_object_alloc(sizeof(segment_object), class);

	zend_object_std_init(&object->std, class);
	object_properties_init(&object->std, class);
	object->std.handlers = &handlers;

	return &object->std;
}

/* ---- the thread, which without ZTS is the process ---- */

/* What open() found removed or replaced: nothing of it is in use once the request has been left. */
static void close_orphans(void)
{
	opened **link = &LARDER_G(opened);

	while (*link) {
		opened *one = *link;
		if (one->path[0]) {
			link = &one->next;
			continue;
		}
		*link = one->next;
		seg_close(one->segment);
		free(one);
	}
}

void larder_leave_all(void)
{
	bool orphans = false;

	/* A fatal error may have ended the code of an object. */
	LARDER_G(at_work) = 0;
	for (opened *one = LARDER_G(opened); one; one = one->next) {
		seg_leave(one->segment);
		orphans |= !one->path[0];
	}
	if (UNEXPECTED(orphans)) {
		close_orphans();
	}
}

static bool is_shared(const zend_string *string)
{
	for (opened *one = LARDER_G(opened); one; one = one->next) {
		if (one->segment->ro && (const char *) string >= one->segment->ro && (const char *) string < one->segment->ro + one->segment->bytes) {
			return true;
		}
	}

	return false;
}

/*
 * The names of a request's stream wrappers and filters are let go after post-deactivate (main/main.c,
 * php_request_shutdown(), php_shutdown_stream_hashes()): those that lie in a segment get memory of their own before.
 */
static void keep_names(HashTable *names)
{
	Bucket *name;

	if (!names) {
		return;
	}
	ZEND_HASH_MAP_FOREACH_BUCKET(names, name) {
		if (name->key && is_shared(name->key)) {
			zend_string *copy = zend_string_init(ZSTR_VAL(name->key), ZSTR_LEN(name->key), 0);
			ZSTR_H(copy) = name->h;
			name->key = copy;
			HT_FLAGS(names) &= ~HASH_FLAG_STATIC_KEYS;
		}
	} ZEND_HASH_FOREACH_END();
}

void larder_keep_stream_names(void)
{
	if (LARDER_G(opened)) {
		keep_names(php_stream_get_url_stream_wrappers_hash());
		keep_names(php_get_stream_filters_hash());
	}
}

void larder_enter_all(void)
{
	for (opened *one = LARDER_G(opened); one; one = one->next) {
		seg_enter(one->segment);
	}
}

#ifdef LARDER_DEBUG
/* So that code that looks at a value when its request is over dies of it. */
void larder_hide_all(bool hidden)
{
	for (opened *one = LARDER_G(opened); one; one = one->next) {
		if (one->segment->ro) {
			mprotect((void *) (uintptr_t) one->segment->ro, one->segment->bytes, hidden ? PROT_NONE : PROT_READ);
		}
	}
}
#endif

/* Of a thread that may be another one, which has ended: so it is told whose. */
void larder_close_all(zend_larder_globals *globals)
{
	while (globals->opened) {
		opened *one = globals->opened;
		globals->opened = one->next;
		seg_close(one->segment);
		free(one);
	}
}

/*
 * Only the thread that forks is in the child. Around PHP with threads there are others that are not PHP's (a web
 * server's), have no globals, and may fork as well.
 */
static opened *of_forking_thread(void)
{
#ifdef ZTS
	if (!tsrm_get_ls_cache()) {
		return NULL;
	}
#endif

	return LARDER_G(opened);
}

static void before_fork(void)
{
	for (opened *one = of_forking_thread(); one; one = one->next) {
		seg_before_fork(one->segment);
	}
}

static void after_fork_parent(void)
{
	for (opened *one = of_forking_thread(); one; one = one->next) {
		seg_after_fork_parent(one->segment);
	}
}

static void after_fork_child(void)
{
	for (opened *one = of_forking_thread(); one; one = one->next) {
		seg_after_fork_child(one->segment);
	}
}

/* Whose locks lie in the file. */
#ifdef __GLIBC__
# define LIBC "glibc"
#else
# define LIBC "libc"
#endif

/* Everything on which the form of a value in memory depends, and of a lock. */
static void identify(char *identity, size_t room)
{
	snprintf(identity, room, "PHP %d api %s debug %d zts %d zval %zu bucket %zu array %zu string %zu item %zu lock " LIBC " %zu larder " PHP_LARDER_VERSION,
		PHP_VERSION_ID / 100, ZEND_MODULE_BUILD_ID, ZEND_DEBUG,
#ifdef ZTS
		1,
#else
		0,
#endif
		sizeof(zval), sizeof(Bucket), sizeof(zend_array), offsetof(zend_string, val), sizeof(seg_item), sizeof(pthread_mutex_t));
}

/* ---- keys and times ---- */

/* What is longer than a key can be is not cut to one that is there: it has a length that none has. */
static inline uint32_t length_of(const zend_string *key)
{
	return UNEXPECTED(ZSTR_LEN(key) > UINT16_MAX) ? UINT16_MAX + 1 : (uint32_t) ZSTR_LEN(key);
}

static inline uint64_t hash_of(const seg *segment, const zend_string *key)
{
	return seg_hash(segment, ZSTR_VAL(key), length_of(key));
}

static bool is_key(zend_string *key)
{
	if (UNEXPECTED(ZSTR_LEN(key) == 0 || ZSTR_LEN(key) > UINT16_MAX)) {
		zend_throw_exception_ex(larder_exception_class, 0, "A key has 1 to %d bytes, and this one has %zu: store it under a hash of it", UINT16_MAX, ZSTR_LEN(key));
		return false;
	}

	return true;
}

/* From seconds to the end by the segment's clock; more than it can count is for ever. False: it is over already. */
static bool end_of(zend_long ttl, int64_t *end)
{
	if (ttl < 0) {
		return false;
	}
	if (ttl == 0 || __builtin_mul_overflow((int64_t) ttl, 1000, end) || __builtin_add_overflow(seg_clock(), *end, end)) {
		*end = 0;
	}

	return true;
}

/* One line in PHP's log, once for each that was lost. */
static void say_lost(seg *segment)
{
	char text[PATH_MAX + 160];

	if (segment->lost && !segment->is_said) {
		segment->is_said = true;
		snprintf(text, sizeof text, "larder: %s is no segment any more (%s): this process goes on without it, and a new one is made when it is opened again", segment->path, segment->lost);
		php_log_err(text);
	}
}

#ifdef LARDER_DEBUG
# define CHECK(segment) do { \
		say_lost(segment); \
		const char *wrong = (segment)->lost ? NULL : seg_check(segment); \
		if (wrong) { \
			zend_error_noreturn(E_CORE_ERROR, "larder: %s", wrong); \
		} \
	} while (0)
#else
# define CHECK(segment) say_lost(segment)
#endif

/* ---- reading ---- */

typedef enum { FOUND, MISSING, THROWN } outcome;

/* Of a copy of the item, that is no longer in the file: what is behind its pointers is found from where it was. */
static outcome read_lone(const seg *segment, const seg_item *copy, seg_offset offset, zval *to)
{
	seg lone = *segment;

	lone.rw = (char *) copy - offset;

	return larder_read_copy(&lone, copy, to) ? FOUND : THROWN;
}

static outcome fetch(seg *segment, const char *key, uint32_t length, zval *to)
{
	uint64_t hash = seg_hash(segment, key, length);
	seg_offset offset;
	outcome result;
	bool in_place;

	if (UNEXPECTED(segment->slot < 0)) {
		/* Of the engine's memory, which goes with the request if a fatal error leaves here. It may have grown meanwhile. */
		seg_item *copy = NULL;
		uint64_t bytes, room = 0;
		while ((bytes = seg_find_copy(segment, hash, key, length, copy, room, &offset)) > room) {
			copy = erealloc(copy, bytes);
			room = bytes;
		}
		result = bytes ? read_lone(segment, copy, offset, to) : MISSING;
		if (copy) {
			efree(copy);
		}
		return result;
	}
	const seg_item *item = seg_find(segment, hash, key, length, &in_place);
	if (!item) {
		return MISSING;
	}
	if (EXPECTED(in_place)) {
		return larder_read_in_place(segment, item, to) ? FOUND : THROWN;
	}
	if (item->kind != LARDER_MIXED && item->kind != LARDER_OBJECT) {
		larder_read_copy(segment, item, to);
		seg_copied(segment);
		return FOUND;
	}
	/* Objects run code of their own, which may read the segment: what it needs is taken out before. */
	seg_item *copy = emalloc(seg_item_bytes(item));
	memcpy(copy, item, seg_item_bytes(item));
	offset = (seg_offset) ((const char *) item - segment->view);
	seg_copied(segment);
	result = read_lone(segment, copy, offset, to);
	efree(copy);

	return result;
}

bool larder_fetch(zend_object *object, const char *key, uint32_t length, zval *to)
{
	return fetch(((segment_object *) ((char *) object - offsetof(segment_object, std)))->segment, key, length, to) != THROWN;
}

ZEND_METHOD(Larder_Segment, get)
{
	zend_string *key;
	zval *fallback = NULL;

	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_STR(key)
		Z_PARAM_OPTIONAL
		Z_PARAM_ZVAL(fallback)
	ZEND_PARSE_PARAMETERS_END();

	if (fetch(segment_of(ZEND_THIS), ZSTR_VAL(key), length_of(key), return_value) == MISSING && fallback) {
		ZVAL_COPY_DEREF(return_value, fallback);
	}
}

ZEND_METHOD(Larder_Segment, getMultiple)
{
	zval *keys, *key, value;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_ARRAY(keys)
	ZEND_PARSE_PARAMETERS_END();

	array_init(return_value);
	ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(keys), key) {
		ZVAL_DEREF(key);
		if (Z_TYPE_P(key) != IS_STRING && Z_TYPE_P(key) != IS_LONG) {
			zend_argument_type_error(1, "must be an array of strings and integers, %s given", zend_zval_type_name(key));
			RETURN_THROWS();
		}
		/* Of our own: a reference's value may be another one, and gone, when an object has run its code. */
		zend_string *name = zval_get_string(key);
		outcome found = fetch(segment_of(ZEND_THIS), ZSTR_VAL(name), length_of(name), &value);
		if (found == FOUND) {
			/* As an array of the caller's would: "12" is the key 12. */
			zend_symtable_update(Z_ARRVAL_P(return_value), name, &value);
		}
		zend_string_release(name);
		if (found == THROWN) {
			return;
		}
	} ZEND_HASH_FOREACH_END();
}

ZEND_METHOD(Larder_Segment, has)
{
	zend_string *key;
	seg *segment = segment_of(ZEND_THIS);

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(key)
	ZEND_PARSE_PARAMETERS_END();

	RETURN_BOOL(seg_has(segment, hash_of(segment, key), ZSTR_VAL(key), length_of(key)));
}

/* ---- writing ---- */

static void store(INTERNAL_FUNCTION_PARAMETERS, seg_mode mode)
{
	zend_string *key;
	zval *value;
	zend_long ttl = 0;
	int64_t end;
	larder_plan plan;
	seg_item *item;
	seg *segment = segment_of(ZEND_THIS);

	ZEND_PARSE_PARAMETERS_START(2, 3)
		Z_PARAM_STR(key)
		Z_PARAM_ZVAL(value)
		Z_PARAM_OPTIONAL
		Z_PARAM_LONG(ttl)
	ZEND_PARSE_PARAMETERS_END();

	if (!is_key(key)) {
		RETURN_THROWS();
	}
	uint64_t hash = hash_of(segment, key);
	if (!end_of(ttl, &end)) {
		/* Over before it is stored: as if it had been stored and were over. */
		if (mode == SEG_ADD) {
			RETURN_FALSE;
		}
		seg_status status = seg_delete(segment, hash, ZSTR_VAL(key), length_of(key));
		RETURN_BOOL(mode == SEG_SET || status == SEG_OK);
	}
	if (!larder_plan_make(&plan, value)) {
		RETURN_THROWS();
	}
	/* From here to the end nothing of the engine is called that could leave by longjmp(). */
	seg_status status = seg_reserve_held(segment, hash, ZSTR_VAL(key), length_of(key), plan.bytes, &item);
	if (status == SEG_OK) {
		item->expires = end;
		larder_persist(&plan, segment, item);
		status = seg_publish(segment, item, mode);
	} else if (mode != SEG_ADD) {
		/* What could not be stored must not leave the older value there. */
		seg_delete(segment, hash, ZSTR_VAL(key), length_of(key));
	}
	larder_plan_free(&plan);
	CHECK(segment);
	RETURN_BOOL(status == SEG_OK);
}

ZEND_METHOD(Larder_Segment, set)
{
	store(INTERNAL_FUNCTION_PARAM_PASSTHRU, SEG_SET);
}

ZEND_METHOD(Larder_Segment, add)
{
	store(INTERNAL_FUNCTION_PARAM_PASSTHRU, SEG_ADD);
}

ZEND_METHOD(Larder_Segment, replace)
{
	store(INTERNAL_FUNCTION_PARAM_PASSTHRU, SEG_REPLACE);
}

ZEND_METHOD(Larder_Segment, delete)
{
	zend_string *key;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(key)
	ZEND_PARSE_PARAMETERS_END();

	seg *segment = segment_of(ZEND_THIS);
	seg_status status = seg_delete(segment, hash_of(segment, key), ZSTR_VAL(key), length_of(key));
	CHECK(segment);
	RETURN_BOOL(status == SEG_OK);
}

ZEND_METHOD(Larder_Segment, increment)
{
	zend_string *key;
	zend_long by = 1, initial = 0, ttl = 0;
	int64_t end, result;
	seg *segment = segment_of(ZEND_THIS);

	ZEND_PARSE_PARAMETERS_START(1, 4)
		Z_PARAM_STR(key)
		Z_PARAM_OPTIONAL
		Z_PARAM_LONG(by)
		Z_PARAM_LONG(initial)
		Z_PARAM_LONG(ttl)
	ZEND_PARSE_PARAMETERS_END();

	if (!is_key(key)) {
		RETURN_THROWS();
	}
	uint64_t hash = hash_of(segment, key);
	for (;;) {
		seg_status status = seg_increment(segment, hash, ZSTR_VAL(key), length_of(key), by, LARDER_INTEGER, &result);
		if (status == SEG_OK) {
			RETURN_LONG((zend_long) result);
		}
		if (status != SEG_NOT_FOUND) {
			CHECK(segment);
			RETURN_FALSE;
		}
		/* The first: whole at once, so that no process sees a zero between; or another's was first. */
		seg_item *item;
		if (__builtin_add_overflow((int64_t) initial, (int64_t) by, &result)) {
			RETURN_FALSE;
		}
		if (!end_of(ttl, &end)) {
			RETURN_LONG((zend_long) result);
		}
		if (seg_reserve(segment, hash, ZSTR_VAL(key), length_of(key), 0, &item) != SEG_OK) {
			RETURN_FALSE;
		}
		item->kind = LARDER_INTEGER;
		item->expires = end;
		atomic_store_explicit(&item->number, result, memory_order_relaxed);
		if (seg_publish(segment, item, SEG_ADD) == SEG_OK) {
			CHECK(segment);
			RETURN_LONG((zend_long) result);
		}
	}
}

/* ---- copies of what is elsewhere ---- */

/* A journal counts from 0; nothing else is a position. */
static inline uint64_t position_of(zend_long position)
{
	return position > 0 ? (uint64_t) position : 0;
}

ZEND_METHOD(Larder_Segment, fill)
{
	zend_string *key, *guard;
	zval *value;
	zend_long ttl, position, at;
	int64_t end;
	larder_plan plan;
	seg_item *item;
	seg *segment = segment_of(ZEND_THIS);

	ZEND_PARSE_PARAMETERS_START(6, 6)
		Z_PARAM_STR(key)
		Z_PARAM_ZVAL(value)
		Z_PARAM_LONG(ttl)
		Z_PARAM_LONG(position)
		Z_PARAM_STR(guard)
		Z_PARAM_LONG(at)
	ZEND_PARSE_PARAMETERS_END();

	if (!is_key(key) || !is_key(guard)) {
		RETURN_THROWS();
	}
	uint64_t hash = hash_of(segment, key);
	seg_terms terms = {position_of(position), ZSTR_VAL(guard), hash_of(segment, guard), length_of(guard), LARDER_INTEGER, at};
	/* Looked at before the work, too: what is refused is mostly so for good. */
	if (!end_of(ttl, &end) || !seg_allowed(segment, &terms)) {
		seg_drop(segment, hash, ZSTR_VAL(key), length_of(key), terms.position);
		CHECK(segment);
		RETURN_FALSE;
	}
	if (!larder_plan_make(&plan, value)) {
		RETURN_THROWS();
	}
	seg_status status = seg_reserve(segment, hash, ZSTR_VAL(key), length_of(key), plan.bytes, &item);
	if (status == SEG_OK) {
		item->expires = end;
		larder_persist(&plan, segment, item);
		status = seg_fill(segment, item, &terms);
	} else {
		seg_drop(segment, hash, ZSTR_VAL(key), length_of(key), terms.position);
	}
	larder_plan_free(&plan);
	CHECK(segment);
	RETURN_BOOL(status == SEG_OK);
}

ZEND_METHOD(Larder_Segment, raise)
{
	zend_string *key;
	zend_long to;
	seg *segment = segment_of(ZEND_THIS);

	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_STR(key)
		Z_PARAM_LONG(to)
	ZEND_PARSE_PARAMETERS_END();

	seg_status status = seg_raise(segment, hash_of(segment, key), ZSTR_VAL(key), length_of(key), to, LARDER_INTEGER);
	CHECK(segment);
	RETURN_BOOL(status == SEG_OK);
}

ZEND_METHOD(Larder_Segment, drop)
{
	zend_string *key;
	zend_long position;
	seg *segment = segment_of(ZEND_THIS);

	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_STR(key)
		Z_PARAM_LONG(position)
	ZEND_PARSE_PARAMETERS_END();

	seg_status status = seg_drop(segment, hash_of(segment, key), ZSTR_VAL(key), length_of(key), position_of(position));
	CHECK(segment);
	RETURN_BOOL(status == SEG_OK);
}

ZEND_METHOD(Larder_Segment, flush)
{
	ZEND_PARSE_PARAMETERS_NONE();

	seg *segment = segment_of(ZEND_THIS);
	seg_flush(segment);
	CHECK(segment);
	RETURN_BOOL(!segment->lost);
}

/* How this request reads: "mixed" when it has had its share, so that what it has not read yet is copied. */
static const char *larder_mode(const seg *segment)
{
	if (segment->lost) {
		return "closed";
	}

	return !segment->ro || segment->slot < 0 ? "copy" : segment->copied ? "mixed" : "zero-copy";
}

/* For phpinfo(): what this process has open. */
void larder_print_opened(void)
{
	char used[64];

	if (!LARDER_G(opened)) {
		return;
	}
	php_info_print_table_start();
	php_info_print_table_header(4, "Segment", "Entries", "Bytes used", "Read by");
	for (opened *one = LARDER_G(opened); one; one = one->next) {
		char entries[32];
		seg_numbers n;
		seg_count(one->segment, &n);
		snprintf(entries, sizeof entries, "%llu", (unsigned long long) n.entries);
		snprintf(used, sizeof used, "%llu of %llu", (unsigned long long) n.bytes_used, (unsigned long long) n.bytes_total);
		php_info_print_table_row(4, one->segment->path, entries, used, larder_mode(one->segment));
	}
	php_info_print_table_end();
}

ZEND_METHOD(Larder_Segment, stats)
{
	seg_numbers n;
	seg *segment = segment_of(ZEND_THIS);

	ZEND_PARSE_PARAMETERS_NONE();

	seg_count(segment, &n);
	array_init(return_value);
	add_assoc_long(return_value, "entries", (zend_long) n.entries);
	add_assoc_long(return_value, "bytes_used", (zend_long) n.bytes_used);
	add_assoc_long(return_value, "bytes_taken", (zend_long) n.bytes_taken);
	add_assoc_long(return_value, "bytes_total", (zend_long) n.bytes_total);
	add_assoc_long(return_value, "hits", (zend_long) n.hits);
	add_assoc_long(return_value, "misses", (zend_long) n.misses);
	add_assoc_long(return_value, "sets", (zend_long) n.sets);
	add_assoc_long(return_value, "evictions", (zend_long) n.evictions);
	add_assoc_long(return_value, "expired", (zend_long) n.expired);
	add_assoc_long(return_value, "refused", (zend_long) n.refused);
	add_assoc_long(return_value, "copied", (zend_long) n.copied);
	add_assoc_string(return_value, "mode", larder_mode(segment));
	add_assoc_str(return_value, "address", strpprintf(0, "0x%llx", (unsigned long long) segment->header->base));
	add_assoc_long(return_value, "retired_bytes", (zend_long) n.retired_bytes);
	add_assoc_long(return_value, "readers", (zend_long) n.readers);
	add_assoc_long(return_value, "recoveries", (zend_long) n.recoveries);
	add_assoc_long(return_value, "damaged", (zend_long) n.damaged);
	add_assoc_long(return_value, "damaged_at", (zend_long) n.damaged_at);
}

ZEND_METHOD(Larder_Segment, check)
{
	ZEND_PARSE_PARAMETERS_NONE();

	const char *wrong = seg_check(segment_of(ZEND_THIS));
	if (wrong) {
		RETURN_STRING(wrong);
	}
	RETURN_NULL();
}

/* ---- opening ---- */

/* It is there to be private; who calls it all the same (PDO::FETCH_CLASS does) gets no segment without a file. */
ZEND_METHOD(Larder_Segment, __construct)
{
	ZEND_PARSE_PARAMETERS_NONE();

	zend_throw_error(NULL, "A Larder\\Segment is made by Larder\\Segment::open()");
}

ZEND_METHOD(Larder_Segment, release)
{
	ZEND_PARSE_PARAMETERS_NONE();

	/* Not from within a get or a set, by code of the value's: what that works with stays. */
	if (!LARDER_G(at_work)) {
		seg_leave(segment_of(ZEND_THIS));
		seg_enter(segment_of(ZEND_THIS));
	}
}

ZEND_METHOD(Larder_Segment, trim)
{
	ZEND_PARSE_PARAMETERS_NONE();

	seg_give_back(segment_of(ZEND_THIS));
}

ZEND_METHOD(Larder_Segment, build)
{
	char identity[SEG_IDENTITY];

	ZEND_PARSE_PARAMETERS_NONE();

	identify(identity, sizeof identity);
	RETURN_STRING(identity);
}

/* The codes of the exception, as the stub says. */
#define SOMETHING_ELSE 1
#define NO_ROOM        2

ZEND_METHOD(Larder_Segment, open)
{
	zend_string *path;
	zend_long bytes = 67108864;
	char identity[SEG_IDENTITY], why[1024], full[PATH_MAX];

	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_PATH_STR(path)
		Z_PARAM_OPTIONAL
		Z_PARAM_LONG(bytes)
	ZEND_PARSE_PARAMETERS_END();

	if (CG(compiler_options) & ZEND_COMPILE_PRELOAD) {
		zend_throw_exception_ex(larder_exception_class, 0, "A segment cannot be opened while preloading: what is read then would outlive every request");
		RETURN_THROWS();
	}
	if (bytes < SEG_SMALLEST || bytes > (zend_long) 1 << 36) {
		zend_throw_exception_ex(larder_exception_class, 0, "A segment has %d bytes (1 MiB) to 64 GiB, and " ZEND_LONG_FMT " were asked for", SEG_SMALLEST, bytes);
		RETURN_THROWS();
	}
	if (ZSTR_LEN(path) == 0 || ZSTR_LEN(path) > PATH_MAX - 64) {
		zend_throw_exception_ex(larder_exception_class, 0, "A segment needs the path of a file, as /dev/shm/larder/segment");
		RETURN_THROWS();
	}
	if (ZSTR_VAL(path)[ZSTR_LEN(path) - 1] == '/') {
		zend_throw_exception_ex(larder_exception_class, 0, "%s is a directory: name a file in it, as %ssegment", ZSTR_VAL(path), ZSTR_VAL(path));
		RETURN_THROWS();
	}
	/* Absolute, and no link followed, as expand_filepath() would: one of those is refused when the file is opened. */
	if (!expand_filepath_with_mode(ZSTR_VAL(path), full, NULL, 0, CWD_EXPAND)) {
		zend_throw_exception_ex(larder_exception_class, 0, "%s is no path", ZSTR_VAL(path));
		RETURN_THROWS();
	}
	if (php_check_open_basedir_ex(full, 0)) {
		zend_throw_exception_ex(larder_exception_class, 0, "%s is outside of what open_basedir allows (%s): add its directory there, or name a file that is inside", full, PG(open_basedir));
		RETURN_THROWS();
	}
	opened *one = LARDER_G(opened);
	while (one && strcmp(one->path, full) != 0) {
		one = one->next;
	}
	if (one && !seg_is_there(one->segment)) {
		say_lost(one->segment);
		/* The file was removed or replaced: values of the old one may be in use until this request ends. */
		one->path[0] = 0;
		one = NULL;
	}
	if (!one) {
		identify(identity, sizeof identity);
		larder_read_limits();
		seg *segment = seg_open(full, (uint64_t) bytes < seg_most.segment ? (uint64_t) bytes : seg_most.segment, identity, why, sizeof why);
		if (!segment) {
			int code = why[0] == SEG_SOMETHING_ELSE[0] ? SOMETHING_ELSE : why[0] == SEG_NO_ROOM[0] ? NO_ROOM : 0;
			zend_throw_exception_ex(larder_exception_class, code, "%s", why + (code != 0));
			RETURN_THROWS();
		}
		one = malloc(sizeof *one + strlen(full) + 1);
		if (!one) {
			seg_close(segment);
			zend_throw_exception_ex(larder_exception_class, 0, "There is no memory to open %s", full);
			RETURN_THROWS();
		}
		strcpy(one->path, full);
		one->segment = segment;
		one->next = LARDER_G(opened);
		LARDER_G(opened) = one;
	}
	object_init_ex(return_value, segment_class);
	((segment_object *) ((char *) Z_OBJ_P(return_value) - offsetof(segment_object, std)))->segment = one->segment;
}

void larder_register_class(void)
{
	segment_class = register_class_Larder_Segment();
	larder_register_hit_path(register_class_Larder_Request_HitPath());
	segment_class->create_object = create_object;
	larder_exception_class = register_class_Larder_SegmentException(spl_ce_RuntimeException);
	memcpy(&handlers, &std_object_handlers, sizeof handlers);
	handlers.offset = offsetof(segment_object, std);
	handlers.clone_obj = NULL;
	/* For good: a program in which PHP lives may start it more than once. */
	static bool registered;
	if (!registered) {
		registered = true;
		pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	}
}
