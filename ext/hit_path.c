/*
 * The interface Larder\Request\HitPath: a class that implements it and uses the library's trait PlainGetPath has this get()
 * in the place of the trait's, which says the same in PHP (src/Request/PlainGetPath.php).
 *
 * What answers most gets is here: a look at the clock, the request's copies, and a copy in the nearest tier that has no
 * condition but an expiry: any in the segment, a string in APCu. Everything else is the library's, by the methods check()
 * and lookup(); and in a fiber all is, by getIn().
 *
 * Not a parent in C, of whose children PHP makes no lazy objects (Zend/zend_lazy_objects.c), as frameworks do of their
 * services; nor a trait in C, with which PHP 8.2 cannot preload. A method in C of a class in PHP is what each enum has
 * (Zend/zend_enum.c).
 *
 * What this knows of a property is its declared type, and even that only until code in PHP has run: it may have unset
 * the property. So code that reads one asks for its type first. What is not as it should be is the library's to answer:
 * there the engine says what is wrong.
 */
#ifdef HAVE_CONFIG_H
# include "config.h"
#endif

#include <time.h>

#include "php.h"
#include "zend_fibers.h"
#include "zend_observer.h"
#if PHP_VERSION_ID >= 80400
# include "zend_lazy_objects.h"
#endif
#include "php_larder.h"

typedef struct {
	const char *name;
	uint32_t type;
	const char *class; /* that the property may also hold: NULL, none */
} declaration;

/* The properties of PlainGetPath, in its order. */
enum { COPIES, FREE, CACHE_PROPERTIES };
static const declaration of_cache[CACHE_PROPERTIES] = {{"copies", 0, "Larder\\Request\\RequestTier"}, {"free", MAY_BE_LONG, NULL}};

/* And those of the copies, which Near\Window declares. */
enum { VALUES, OWN, DUE, END, CURRENT, VERSION, SEGMENT, PREFIX, FLOOR, CEILING, HITS, ENDS, AHEAD, COMPARED, PASSED, WINDOW_PROPERTIES };
static const declaration of_window[WINDOW_PROPERTIES] = {
	{"values", MAY_BE_ARRAY, NULL}, {"own", MAY_BE_ARRAY, NULL}, {"due", MAY_BE_LONG, NULL}, {"end", MAY_BE_LONG, NULL},
	{"current", MAY_BE_LONG, NULL}, {"version", MAY_BE_LONG, NULL}, {"segment", MAY_BE_NULL, "Larder\\Segment"},
	{"prefix", MAY_BE_STRING, NULL}, {"floor", MAY_BE_LONG, NULL}, {"ceiling", MAY_BE_LONG, NULL}, {"hits", MAY_BE_LONG, NULL},
	{"ends", MAY_BE_ARRAY, NULL}, {"ahead", MAY_BE_LONG, NULL}, {"compared", MAY_BE_LONG, NULL}, {"passed", MAY_BE_ARRAY, NULL},
};

/* Of a copy in the segment (src/Near/SegmentNear.php); a compact one ends with the value. */
enum { POSITION, VALUE, ENCODED, CREATED, EXPIRY, SOFT, SURE, TAGS, IS_ENCODED, PARTS };

/*
 * A copy in APCu (src/Near/ApcuCopy.php) that is an array holds its position and a long string. Another is a string:
 * a letter, the position, then the value (STRING) or what an entry's body holds (src/Codec/Entry.php): a letter, and if
 * that is TIMED, when it was made, when it expires, and nothing but zeros; then the payload, which begins with its type.
 */
#define STRING 's'
#define ENTRY 'e'
#define PLAIN 'v'
#define TIMED 'w'
enum { AT = 1, BODY = 9, MADE = BODY + 1, ENDS_AT = MADE + 8, OTHERS = ENDS_AT + 8, OTHERS_LENGTH = 18, PAYLOAD = OTHERS + OTHERS_LENGTH, PLAIN_PAYLOAD = MADE + 8 };
#define TYPE_STRING '\0'

/* Milliseconds that the clocks of two servers may differ (src/Codec/Entry.php, SKEW). */
#define SKEW 60000

/* Milliseconds: no copy's end is looked at later than that (src/Near/Window.php, LONGEST). */
#define LONGEST_LIFE 8000000000000

/*
 * Nanoseconds that the coarse clock may be behind: it is set at the machine's ticks, and ticks of a busy virtual machine
 * came up to 50 ms late. So close to the time at which something is due, the fine clock is asked, which costs four times
 * as much; it is that by which the library says when (hrtime()).
 */
#define BEHIND 100000000

/* After so many hits in the segment, a power of two, the library looks whether the request has too many copies. */
#define TRIM 1024

/* A key that is longer, its prefix included, is put together by the library. */
#define LONGEST 512

/* An object, the first of the trait's properties in it, and the first of the window's in its copies. */
typedef struct {
	zend_object *object;
	zval *properties;
	zval *window;
} cache;

/* A property of the window. Some are references to properties of other objects. Its type is the declared one, or it is unset. */
static inline zval *property(const cache *c, int number)
{
	zval *value = &c->window[number];

	ZVAL_DEREF(value);

	return value;
}

static inline zend_long number(const cache *c, int number)
{
	const zval *value = &c->window[number];

	/* What is referred to is never unset. */
	if (Z_ISREF_P(value)) {
		return Z_LVAL_P(Z_REFVAL_P(value));
	}

	return EXPECTED(Z_TYPE_P(value) == IS_LONG) ? Z_LVAL_P(value) : 0;
}

/* Begins anew at the end of the integers. */
static inline void add(zval *value, zend_long number)
{
	Z_LVAL_P(value) = (zend_long) ((zend_ulong) Z_LVAL_P(value) + (zend_ulong) number);
}

static inline bool is_array(const zval *value)
{
	return EXPECTED(Z_TYPE_P(value) == IS_ARRAY);
}

/* Whether it is a property of this declaration: not private, and of the type that is known here. */
static bool is_declared(const zend_property_info *info, const declaration *declared)
{
	if (!info || (info->flags & ZEND_ACC_PRIVATE)) {
		return false;
	}
	const char *name = ZSTR_VAL(info->name);
	size_t length = ZSTR_LEN(info->name);
	/* What is protected says so in its name. */
	if (length > 3 && memcmp(name, "\0*\0", 3) == 0) {
		name += 3;
		length -= 3;
	}

	return length == strlen(declared->name) && memcmp(name, declared->name, length) == 0
		&& ZEND_TYPE_PURE_MASK(info->type) == declared->type && ZEND_TYPE_HAS_NAME(info->type) == (declared->class != NULL)
		&& (!declared->class || zend_string_equals_cstr(ZEND_TYPE_NAME(info->type), declared->class, strlen(declared->class)))
		/* The copies of an object that has some are not taken away. */
		&& (declared != of_cache || (info->flags & ZEND_ACC_READONLY));
}

/* Which property of a class is the first of these; -1: they are not in a row. */
static int first_of(const zend_class_entry *class, const declaration *declared, int count)
{
	for (int first = 0; first + count <= class->default_properties_count; first++) {
		int number = 0;
		while (number < count && is_declared(class->properties_info_table[first + number], &declared[number])) {
			number++;
		}
		if (number == count) {
			return first;
		}
	}

	return -1;
}

/* Notes where this class has the properties. False: an exception is thrown. */
static zend_never_inline bool look_at_class(const zend_class_entry *class, hit_class *known, const declaration *declared, int count)
{
	int first = first_of(class, declared, count);

	if (first < 0) {
		zend_throw_error(NULL, "%s declares its properties otherwise than this version of the extension larder knows them", ZSTR_VAL(class->name));
		return false;
	}
	*known = (hit_class) {class, first};
	if (declared == of_cache) {
		LARDER_G(hit_class_of_main) = class;
	}

	return true;
}

/*
 * In a fiber it seems that no class is known, so that a get is the library's, which asks the copies of that fiber: then the
 * main program's gets need not look where they are.
 */
static void switched(zend_fiber_context *from, zend_fiber_context *to)
{
	(void) from;
	LARDER_G(hit_cache).class = to == EG(main_fiber_context) ? LARDER_G(hit_class_of_main) : NULL;
}

/* Where an object has them; NULL: an exception is thrown. */
static inline zval *first_in(zend_object *object, hit_class *known, const declaration *declared, int count)
{
	if (UNEXPECTED(object->ce != known->class) && !look_at_class(object->ce, known, declared, count)) {
		return NULL;
	}

	return object->properties_table + known->first;
}

static inline int64_t clock_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);

	return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline bool is_due(const cache *c)
{
	int64_t due = number(c, DUE);

	return UNEXPECTED(clock_of(CLOCK_MONOTONIC_COARSE) + BEHIND >= due) && clock_of(CLOCK_MONOTONIC) >= due;
}

static void call(const cache *c, const char *name, size_t length, zval *result, uint32_t count, zval *arguments)
{
	zend_function *method = zend_hash_str_find_ptr(&c->object->ce->function_table, name, length);

	zend_call_known_instance_method(method, c->object, result, count, arguments);
}

static inline bool is_number(const HashTable *copy, zend_ulong part, zend_long *number)
{
	const zval *value = zend_hash_index_find(copy, part);

	if (!value || Z_TYPE_P(value) != IS_LONG) {
		return false;
	}
	*number = Z_LVAL_P(value);

	return true;
}

/* Whether a copy's position lies after the last flush and within the request's view. */
static bool is_within(const cache *c, zend_long at, zend_string *key)
{
	if (at <= number(c, FLOOR)) {
		return false;
	}
	const zval *own = property(c, OWN);
	if (!is_array(own)) {
		return false;
	}
	zval *changed = zend_hash_num_elements(Z_ARRVAL_P(own)) ? zend_symtable_find(Z_ARRVAL_P(own), key) : NULL;
	if (changed) {
		ZVAL_DEREF(changed);
	}

	return changed ? Z_TYPE_P(changed) == IS_LONG && at == Z_LVAL_P(changed) : at <= number(c, CEILING);
}

/* Whether a copy has not expired. *due is set to the time of the monotonic clock at which it does. */
static bool lives(const cache *c, zend_long created, zend_long expiry, int64_t *due)
{
	if (Z_TYPE_P(property(c, COMPARED)) != IS_LONG || created < 0 || expiry <= 0) {
		return false;
	}
	zend_long uptime = clock_of(CLOCK_MONOTONIC) / 1000000, now;
	if (__builtin_add_overflow(uptime, number(c, AHEAD), &now) || uptime >= number(c, COMPARED) || now >= expiry || now < created - SKEW) {
		return false;
	}
	*due = (uptime + MIN(expiry - now, LONGEST_LIFE)) * 1000000;

	return true;
}

/* The value of a copy in the segment that has an expiry and no other condition. */
static zval *timed(const cache *c, const HashTable *copy, int64_t *due)
{
	zend_long created, expiry, soft, sure;
	zval *value = zend_hash_index_find(copy, ENCODED), *tags = zend_hash_index_find(copy, TAGS);
	zval *encoded = zend_hash_index_find(copy, IS_ENCODED);

	if (zend_hash_num_elements(copy) != PARTS || !is_number(copy, CREATED, &created) || !is_number(copy, EXPIRY, &expiry)
		|| !is_number(copy, SOFT, &soft) || !is_number(copy, SURE, &sure) || soft || sure
		|| !tags || Z_TYPE_P(tags) != IS_ARRAY || zend_hash_num_elements(Z_ARRVAL_P(tags))
		|| !encoded || Z_TYPE_P(encoded) != IS_FALSE || !value || Z_TYPE_P(value) == IS_NULL) {
		return NULL;
	}

	return lives(c, created, expiry, due) ? value : NULL;
}

/* What a copy holds whose position lies where it must, and which has no condition but an expiry. NULL: the library judges it. */
static zval *judged(const cache *c, const zval *copy, zend_string *key, int64_t *due)
{
	zend_long at;

	if (Z_TYPE_P(copy) != IS_ARRAY || !is_number(Z_ARRVAL_P(copy), POSITION, &at) || !is_within(c, at, key)) {
		return NULL;
	}
	zval *value = zend_hash_index_find(Z_ARRVAL_P(copy), VALUE);
	value = value && Z_TYPE_P(value) == IS_NULL ? timed(c, Z_ARRVAL_P(copy), due) : value;
	/* What was serialized may have one. */
	if (value) {
		ZVAL_DEREF(value);
	}

	return value;
}

typedef enum { ANSWERED, FAILED, UNUSUAL } answer;

/* The place of a key in an array of ours, with null if there was nothing. */
static inline zval *place_of(zval *array, zend_string *key)
{
	zend_ulong number;

	SEPARATE_ARRAY(array);

	return ZEND_HANDLE_NUMERIC_STR(ZSTR_VAL(key), ZSTR_LEN(key), number) ? zend_hash_index_lookup(Z_ARRVAL_P(array), number) : zend_hash_lookup(Z_ARRVAL_P(array), key);
}

/* Keeps what the nearest tier holds as the request's copy. False: the library must see whether it has too many. */
static inline bool keep(const cache *c, zend_string *key, zval *value, int64_t due)
{
	zval *values = property(c, VALUES), *hits = property(c, HITS), *ends = property(c, ENDS), *place;

	if (UNEXPECTED(!((Z_LVAL_P(hits) + UINT64_C(1)) & (TRIM - 1))) || !is_array(values) || (due && !is_array(ends))) {
		return false;
	}
	place = place_of(values, key);
	if (UNEXPECTED(Z_TYPE_P(place) != IS_NULL)) {
		/* It came meanwhile, by code that was run here: who puts another in its place must expect its destructor. */
		return false;
	}
	add(hits, 1);
	ZVAL_COPY(place, value);
	if (due) {
		place = place_of(ends, key);
		if (!Z_REFCOUNTED_P(place)) {
			ZVAL_LONG(place, due);
		}
		/* The end first: a call of check() takes away the copies whose time has come by it. */
		Z_LVAL_P(property(c, END)) = MIN(Z_LVAL_P(property(c, END)), due);
		Z_LVAL_P(property(c, DUE)) = MIN(Z_LVAL_P(property(c, DUE)), due);
	}

	return true;
}

/* UNUSUAL: what the segment holds is in *copy. */
static answer ask_segment(const cache *c, zend_object *segment, zend_string *key, zval *copy, zval *to)
{
	const zval *prefix = property(c, PREFIX);
	char name[LONGEST];

	if (ZSTR_LEN(key) > LONGEST || Z_STRLEN_P(prefix) > LONGEST - ZSTR_LEN(key)) {
		return UNUSUAL;
	}
	memcpy(name, Z_STRVAL_P(prefix), Z_STRLEN_P(prefix));
	memcpy(name + Z_STRLEN_P(prefix), ZSTR_VAL(key), ZSTR_LEN(key));
	ZVAL_NULL(copy);
	if (!larder_fetch(segment, name, (uint32_t) (Z_STRLEN_P(prefix) + ZSTR_LEN(key)), copy)) {
		return FAILED;
	}
	/* What is read in place runs no code. In what is not, an object may have changed the view. */
	if (Z_REFCOUNTED_P(copy) && number(c, VERSION) != number(c, CURRENT)) {
		return UNUSUAL;
	}
	int64_t due = 0;
	zval *value = judged(c, copy, key, &due);
	if (!value || !keep(c, key, value, due)) {
		return UNUSUAL;
	}
	/* Even a long value costs no copy: what is read in place is only pointed at. */
	ZVAL_COPY(to, value);
	zval_ptr_dtor_nogc(copy);

	return ANSWERED;
}

static inline zend_long number_at(const char *bytes)
{
	uint64_t number = 0;

	for (int i = 0; i < 8; i++) {
		number = number << 8 | (unsigned char) bytes[i];
	}

	return (zend_long) number;
}

/* Where in a copy its string begins; 0: the library judges it, and decodes what is no string. */
static size_t string_at(const cache *c, const zend_string *copy, zend_string *key, int64_t *due)
{
	static const char none[OTHERS_LENGTH];
	const char *bytes = ZSTR_VAL(copy);
	size_t length = ZSTR_LEN(copy), payload;

	if (length < BODY || !is_within(c, number_at(bytes + AT), key)) {
		return 0;
	}
	if (bytes[0] == STRING) {
		return BODY;
	}
	if (bytes[0] != ENTRY || length == BODY) {
		return 0;
	}
	payload = bytes[BODY] == PLAIN ? PLAIN_PAYLOAD : PAYLOAD;
	if (length <= payload || bytes[payload] != TYPE_STRING) {
		return 0;
	}

	return bytes[BODY] == PLAIN || (bytes[BODY] == TIMED && memcmp(bytes + OTHERS, none, OTHERS_LENGTH) == 0
		&& lives(c, number_at(bytes + MADE), number_at(bytes + ENDS_AT), due)) ? payload + 1 : 0;
}

/* Gives a long string, which is read from APCu each time, so that memory holds it only once. */
static answer pass(const cache *c, zend_string *key, zval *copy, zval *to)
{
	zval *passed = property(c, PASSED), *hits = property(c, HITS), *noted;
	zval *value = zend_hash_index_find(Z_ARRVAL_P(copy), VALUE);
	zend_long at;

	if (!value || Z_TYPE_P(value) != IS_STRING || zend_hash_num_elements(Z_ARRVAL_P(copy)) != ENCODED || !is_array(passed)
		|| !is_number(Z_ARRVAL_P(copy), POSITION, &at) || !is_within(c, at, key) || !((Z_LVAL_P(hits) + UINT64_C(1)) & (TRIM - 1))) {
		return UNUSUAL;
	}
	add(hits, 1);
	noted = place_of(passed, key);
	if (!Z_REFCOUNTED_P(noted)) {
		ZVAL_TRUE(noted);
	}
	ZVAL_COPY(to, value);
	zval_ptr_dtor_nogc(copy);

	return ANSWERED;
}

/* UNUSUAL: what APCu holds is in *copy, null if that is nothing. */
static answer ask_apcu(const cache *c, zend_string *key, zval *copy, zval *to)
{
	const zval *prefix = property(c, PREFIX);
	zval name;
	zend_function *fetch = zend_hash_str_find_ptr(EG(function_table), ZEND_STRL("apcu_fetch"));

	if (!fetch || ZSTR_LEN(key) > LONGEST) {
		return UNUSUAL;
	}
	ZVAL_STR(&name, zend_string_concat2(Z_STRVAL_P(prefix), Z_STRLEN_P(prefix), ZSTR_VAL(key), ZSTR_LEN(key)));
	zend_call_known_function(fetch, NULL, NULL, copy, 1, &name, NULL);
	zval_ptr_dtor_str(&name);
	if (EG(exception)) {
		return FAILED;
	}
	if (Z_TYPE_P(copy) == IS_FALSE) {
		ZVAL_NULL(copy);
	}
	/* PHP has let signal handlers run as the call returned: the view may be another. */
	if (number(c, VERSION) != number(c, CURRENT)) {
		return UNUSUAL;
	}
	if (Z_TYPE_P(copy) == IS_ARRAY) {
		return pass(c, key, copy, to);
	}
	if (Z_TYPE_P(copy) != IS_STRING || !Z_REFCOUNTED_P(copy) || Z_REFCOUNT_P(copy) != 1) {
		return UNUSUAL;
	}
	int64_t due = 0;
	zend_string *string = Z_STR_P(copy);
	size_t at = string_at(c, string, key, &due);
	if (!at || !keep(c, key, copy, due)) {
		return UNUSUAL;
	}
	/* In its place, since nothing else refers to it. */
	ZSTR_LEN(string) -= at;
	memmove(ZSTR_VAL(string), ZSTR_VAL(string) + at, ZSTR_LEN(string) + 1);
	zend_string_forget_hash_val(string);
	ZVAL_COPY_VALUE(to, copy);

	return ANSWERED;
}

/* UNUSUAL: what the nearest tier holds is in *copy; false there: it was not asked. */
static answer ask_nearest(const cache *c, zend_string *key, zval *copy, zval *to)
{
	const zval *segment = property(c, SEGMENT), *prefix = property(c, PREFIX);

	ZVAL_FALSE(copy);
	if (UNEXPECTED(Z_TYPE_P(prefix) != IS_STRING) || !Z_STRLEN_P(prefix) || number(c, VERSION) != number(c, CURRENT)) {
		return UNUSUAL;
	}

	return Z_TYPE_P(segment) == IS_OBJECT ? ask_segment(c, Z_OBJ_P(segment), key, copy, to) : ask_apcu(c, key, copy, to);
}

static zend_always_inline void get(const cache *c, zend_string *key, zval *fallback, zval *return_value)
{
	zval *value, arguments[4];

	zval *free = &c->properties[FREE];
	ZVAL_DEREF(free);
	add(free, -1);
	if (UNEXPECTED(is_due(c))) {
		call(c, ZEND_STRL("check"), NULL, 0, NULL);
		if (EG(exception)) {
			return;
		}
	}
	const zval *values = property(c, VALUES);
	value = is_array(values) ? zend_symtable_find(Z_ARRVAL_P(values), key) : NULL;
	if (EXPECTED(value && Z_TYPE_P(value) != IS_NULL)) {
		ZVAL_COPY_DEREF(return_value, value);
		if (EXPECTED(Z_TYPE_P(return_value) != IS_NULL)) {
			return;
		}
	}
	answer answered = ask_nearest(c, key, &arguments[3], return_value);
	if (EXPECTED(answered == ANSWERED)) {
		return;
	}
	if (answered == UNUSUAL) {
		ZVAL_STR(&arguments[0], key);
		if (fallback) {
			ZVAL_COPY_VALUE(&arguments[1], fallback);
		} else {
			ZVAL_NULL(&arguments[1]);
		}
		ZVAL_TRUE(&arguments[2]);
		call(c, ZEND_STRL("lookup"), return_value, 4, arguments);
	}
	zval_ptr_dtor(&arguments[3]);
}

/*
 * Of an object without copies: it is lazy, or was not constructed. Gives the one that is asked in its place, which the
 * caller releases, since the proxy may let go of it meanwhile; NULL: an exception is thrown.
 */
static zend_never_inline zend_object *find_constructed(zend_object *object, cache *c)
{
#if PHP_VERSION_ID >= 80400
	if (zend_object_is_lazy(object)) {
		/* Of a proxy, the object for which it stands; of a ghost, itself. */
		object = zend_lazy_object_init(object);
		if (!object) {
			return NULL;
		}
	}
#endif
	c->object = object;
	c->properties = first_in(object, &LARDER_G(hit_cache), of_cache, CACHE_PROPERTIES);
	if (!c->properties) {
		return NULL;
	}
	if (Z_TYPE(c->properties[COPIES]) != IS_OBJECT) {
		zend_throw_error(NULL, "The cache was not constructed");
		return NULL;
	}
	GC_ADDREF(object);

	return object;
}

static zend_never_inline void get_in_fiber(zend_object *object, zend_string *key, zval *fallback, zval *return_value)
{
	zval arguments[2];
	zend_function *method = zend_hash_str_find_ptr(&object->ce->function_table, ZEND_STRL("getin"));

	ZVAL_STR(&arguments[0], key);
	if (fallback) {
		ZVAL_COPY_VALUE(&arguments[1], fallback);
	} else {
		ZVAL_NULL(&arguments[1]);
	}
	zend_call_known_instance_method(method, object, return_value, 2, arguments);
}

static ZEND_NAMED_FUNCTION(get_in_c)
{
	zend_string *key;
	zval *fallback = NULL, *others;
	uint32_t others_count;
	zend_object *object = Z_OBJ_P(ZEND_THIS), *found = NULL;

	/* As a function in PHP does, and not as one in C: null is no string. */
	if (UNEXPECTED(ZEND_NUM_ARGS() && Z_TYPE_P(ZEND_CALL_ARG(execute_data, 1)) == IS_NULL)) {
		zend_argument_type_error(1, "must be of type string, null given");
		RETURN_THROWS();
	}
	/* More arguments are ignored, as a method in PHP does. */
	ZEND_PARSE_PARAMETERS_START(1, -1)
		Z_PARAM_STR(key)
		Z_PARAM_OPTIONAL
		Z_PARAM_ZVAL(fallback)
		Z_PARAM_VARIADIC('*', others, others_count)
	ZEND_PARSE_PARAMETERS_END();
	(void) others;
	(void) others_count;

	hit_class *known = &LARDER_G(hit_cache);
	if (UNEXPECTED(object->ce != known->class)) {
		if (EG(active_fiber)) {
			get_in_fiber(object, key, fallback, return_value);
			return;
		}
		if (!look_at_class(object->ce, known, of_cache, CACHE_PROPERTIES)) {
			RETURN_THROWS();
		}
	}

	cache c = {object, object->properties_table + known->first, NULL};
	if (UNEXPECTED(Z_TYPE(c.properties[COPIES]) != IS_OBJECT) && !(found = find_constructed(object, &c))) {
		RETURN_THROWS();
	}
	/* Code that is run meanwhile may make the object a lazy one again, which lets go of its copies. */
	zend_object *copies = Z_OBJ(c.properties[COPIES]);
	c.window = first_in(copies, &LARDER_G(hit_copies), of_window, WINDOW_PROPERTIES);
	if (EXPECTED(c.window)) {
		GC_ADDREF(copies);
		get(&c, key, fallback, return_value);
		OBJ_RELEASE(copies);
	}
	if (UNEXPECTED(found)) {
		OBJ_RELEASE(found);
	}
}

/*
 * When a class is linked, once its traits are bound: it gets this get() in the place of a trait's. A get() of its own stays,
 * for calls of it may be compiled already; and one that looks at other properties than are known here.
 */
static int implemented(zend_class_entry *interface, zend_class_entry *class)
{
	const zend_internal_function *declared_get = zend_hash_str_find_ptr(&interface->function_table, ZEND_STRL("get"));
	const zend_function *plain = zend_hash_find_ptr(&class->function_table, declared_get->function_name);

	/* Coroutines that are no fibers are the library's to tell apart. */
	if (zend_hash_str_exists(&module_registry, ZEND_STRL("swoole")) || !zend_hash_str_exists(&class->function_table, ZEND_STRL("getin"))) {
		return SUCCESS;
	}
	if (class->type != ZEND_USER_CLASS || !plain || plain->type != ZEND_USER_FUNCTION || plain->common.scope != class || !(plain->common.fn_flags & ZEND_ACC_TRAIT_CLONE)) {
		return SUCCESS;
	}
	for (int number = 0; number < CACHE_PROPERTIES; number++) {
		if (!is_declared(zend_hash_str_find_ptr(&class->properties_info, of_cache[number].name, strlen(of_cache[number].name)), &of_cache[number])) {
			return SUCCESS;
		}
	}
	zend_internal_function *get = zend_arena_alloc(&CG(arena), sizeof *get);
	memcpy(get, declared_get, sizeof *get);
	get->handler = get_in_c;
	get->scope = class;
	get->fn_flags = (get->fn_flags & ~ZEND_ACC_ABSTRACT) | ZEND_ACC_ARENA_ALLOCATED;
	get->prototype = plain->common.prototype;
	zend_hash_update_ptr(&class->function_table, get->function_name, get);

	return SUCCESS;
}

void larder_register_hit_path(zend_class_entry *interface)
{
	interface->interface_gets_implemented = implemented;
	zend_observer_fiber_switch_register(switched);
}
