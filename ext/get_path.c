/*
 * The class Larder\Tier\GetPath: get() of the library's Cache, which extends it (src/Tier/GetPath.php says the same in PHP).
 *
 * What answers most gets is here: a look at the clock, the request's copies, and a copy in the nearest tier that has no
 * condition but an expiry: any in the segment, a string in APCu. Everything else is the library's, by the methods check()
 * and lookup().
 */
#ifdef HAVE_CONFIG_H
# include "config.h"
#endif

#include <time.h>

#include "php.h"
#include "php_larder.h"

/* The properties, in the order of larder.stub.php. */
enum { VALUES, OWN, DUE, ENDS, CURRENT, VERSION, SEGMENT, PREFIX, FLOOR, CEILING, HITS, FREE, ENDINGS, AHEAD, COMPARED, PASSED };

/* Of a copy in the segment (src/Tier/Near/SegmentNear.php); a compact one ends with the value. */
enum { POSITION, VALUE, ENCODED, CREATED, EXPIRY, SOFT, SURE, TAGS, IS_ENCODED, PARTS };

/*
 * A copy in APCu (src/Tier/Near/ApcuNear.php) that is an array holds its position and a long string. Another is a string:
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

/* Milliseconds: no copy's end is looked at later than that (src/Tier/RequestTier.php, LONGEST). */
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

/* Some properties are references to properties of other objects. */
static inline zval *property(zend_object *object, int number)
{
	zval *value = OBJ_PROP_NUM(object, number);

	ZVAL_DEREF(value);

	return value;
}

static inline zend_long number(zend_object *object, int number)
{
	return Z_LVAL_P(property(object, number));
}

static inline int64_t clock_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);

	return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline bool is_due(zend_object *object)
{
	int64_t due = MIN(number(object, DUE), number(object, ENDS));

	return UNEXPECTED(clock_of(CLOCK_MONOTONIC_COARSE) + BEHIND >= due) && clock_of(CLOCK_MONOTONIC) >= due;
}

static void call(zend_object *object, const char *name, size_t length, zval *result, uint32_t count, zval *arguments)
{
	zend_function *method = zend_hash_str_find_ptr(&object->ce->function_table, name, length);

	zend_call_known_instance_method(method, object, result, count, arguments);
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
static bool is_within(zend_object *object, zend_long at, zend_string *key)
{
	if (at <= number(object, FLOOR)) {
		return false;
	}
	HashTable *own = Z_ARRVAL_P(property(object, OWN));
	zval *changed = zend_hash_num_elements(own) ? zend_symtable_find(own, key) : NULL;

	return changed ? at == Z_LVAL_P(changed) : at <= number(object, CEILING);
}

/* Whether a copy has not expired. *due is set to the time of the monotonic clock at which it does. */
static bool lives(zend_object *object, zend_long created, zend_long expiry, int64_t *due)
{
	if (Z_TYPE_P(property(object, COMPARED)) != IS_LONG || created < 0 || expiry <= 0) {
		return false;
	}
	zend_long uptime = clock_of(CLOCK_MONOTONIC) / 1000000, now = uptime + number(object, AHEAD);
	if (uptime >= number(object, COMPARED) || now >= expiry || now < created - SKEW) {
		return false;
	}
	*due = (uptime + MIN(expiry - now, LONGEST_LIFE)) * 1000000;

	return true;
}

/* The value of a copy in the segment that has an expiry and no other condition. */
static zval *timed(zend_object *object, const HashTable *copy, int64_t *due)
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

	return lives(object, created, expiry, due) ? value : NULL;
}

/* What a copy holds whose position lies where it must, and which has no condition but an expiry. NULL: the library judges it. */
static zval *judged(zend_object *object, const zval *copy, zend_string *key, int64_t *due)
{
	zend_long at;

	if (Z_TYPE_P(copy) != IS_ARRAY || !is_number(Z_ARRVAL_P(copy), POSITION, &at) || !is_within(object, at, key)) {
		return NULL;
	}
	zval *value = zend_hash_index_find(Z_ARRVAL_P(copy), VALUE);

	return value && Z_TYPE_P(value) == IS_NULL ? timed(object, Z_ARRVAL_P(copy), due) : value;
}

static void end_at(zend_object *object, zend_string *key, int64_t due)
{
	zval *endings = property(object, ENDINGS), *ends = property(object, ENDS), end;

	SEPARATE_ARRAY(endings);
	ZVAL_LONG(&end, due);
	zend_symtable_update(Z_ARRVAL_P(endings), key, &end);
	Z_LVAL_P(ends) = MIN(Z_LVAL_P(ends), due);
}

typedef enum { ANSWERED, FAILED, UNUSUAL } answer;

/* Keeps what the nearest tier holds as the request's copy. False: the library must see whether it has too many. */
static bool keep(zend_object *object, zend_string *key, zval *value, int64_t due)
{
	zval *values = property(object, VALUES), *hits = property(object, HITS);

	if (UNEXPECTED(!((Z_LVAL_P(hits) + 1) & (TRIM - 1)))) {
		return false;
	}
	Z_LVAL_P(hits)++;
	SEPARATE_ARRAY(values);
	Z_TRY_ADDREF_P(value);
	zend_symtable_update(Z_ARRVAL_P(values), key, value);
	if (due) {
		end_at(object, key, due);
	}

	return true;
}

/* UNUSUAL: what the segment holds is in *copy. */
static answer ask_segment(zend_object *object, zend_object *segment, zend_string *key, zval *copy, zval *to)
{
	zval *prefix = property(object, PREFIX);
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
	int64_t due = 0;
	zval *value = judged(object, copy, key, &due);
	if (!value || !keep(object, key, value, due)) {
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
static size_t string_at(zend_object *object, const zend_string *copy, zend_string *key, int64_t *due)
{
	static const char none[OTHERS_LENGTH];
	const char *bytes = ZSTR_VAL(copy);
	size_t length = ZSTR_LEN(copy), payload;

	if (length < BODY || !is_within(object, number_at(bytes + AT), key)) {
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
		&& lives(object, number_at(bytes + MADE), number_at(bytes + ENDS_AT), due)) ? payload + 1 : 0;
}

/* Gives a long string, which is read from APCu each time, so that memory holds it only once. */
static answer pass(zend_object *object, zend_string *key, zval *copy, zval *to)
{
	zval *passed = property(object, PASSED), *hits = property(object, HITS), noted;
	zval *value = zend_hash_index_find(Z_ARRVAL_P(copy), VALUE);
	zend_long at;

	if (!value || Z_TYPE_P(value) != IS_STRING || zend_hash_num_elements(Z_ARRVAL_P(copy)) != ENCODED || Z_TYPE_P(passed) != IS_ARRAY
		|| !is_number(Z_ARRVAL_P(copy), POSITION, &at) || !is_within(object, at, key) || !((Z_LVAL_P(hits) + 1) & (TRIM - 1))) {
		return UNUSUAL;
	}
	Z_LVAL_P(hits)++;
	SEPARATE_ARRAY(passed);
	ZVAL_TRUE(&noted);
	zend_symtable_update(Z_ARRVAL_P(passed), key, &noted);
	ZVAL_COPY(to, value);
	zval_ptr_dtor_nogc(copy);

	return ANSWERED;
}

/* UNUSUAL: what APCu holds is in *copy, null if that is nothing. */
static answer ask_apcu(zend_object *object, zend_string *key, zval *copy, zval *to)
{
	zval *prefix = property(object, PREFIX), name;
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
	if (number(object, VERSION) != number(object, CURRENT)) {
		return UNUSUAL;
	}
	if (Z_TYPE_P(copy) == IS_ARRAY) {
		return pass(object, key, copy, to);
	}
	if (Z_TYPE_P(copy) != IS_STRING || !Z_REFCOUNTED_P(copy) || Z_REFCOUNT_P(copy) != 1) {
		return UNUSUAL;
	}
	int64_t due = 0;
	zend_string *string = Z_STR_P(copy);
	size_t at = string_at(object, string, key, &due);
	if (!at || !keep(object, key, copy, due)) {
		return UNUSUAL;
	}
	/* In its place, since nobody else has it. */
	ZSTR_LEN(string) -= at;
	memmove(ZSTR_VAL(string), ZSTR_VAL(string) + at, ZSTR_LEN(string) + 1);
	zend_string_forget_hash_val(string);
	ZVAL_COPY_VALUE(to, copy);

	return ANSWERED;
}

/* UNUSUAL: what the nearest tier holds is in *copy; false there: it was not asked. */
static answer ask_nearest(zend_object *object, zend_string *key, zval *copy, zval *to)
{
	zval *segment = property(object, SEGMENT);

	ZVAL_FALSE(copy);
	if (!Z_STRLEN_P(property(object, PREFIX)) || number(object, VERSION) != number(object, CURRENT)) {
		return UNUSUAL;
	}

	return Z_TYPE_P(segment) == IS_OBJECT ? ask_segment(object, Z_OBJ_P(segment), key, copy, to) : ask_apcu(object, key, copy, to);
}

ZEND_METHOD(Larder_Tier_GetPath, get)
{
	zend_string *key;
	zval *fallback = NULL, *value, *others, arguments[4];
	uint32_t others_count;
	zend_object *object = Z_OBJ_P(ZEND_THIS);

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

	if (UNEXPECTED(Z_TYPE_P(property(object, VALUES)) != IS_ARRAY || Z_TYPE_P(property(object, OWN)) != IS_ARRAY)) {
		zend_throw_error(NULL, "The cache was not constructed");
		RETURN_THROWS();
	}
	Z_LVAL_P(property(object, FREE))--;
	if (UNEXPECTED(is_due(object))) {
		call(object, ZEND_STRL("check"), NULL, 0, NULL);
		if (EG(exception)) {
			RETURN_THROWS();
		}
	}
	value = zend_symtable_find(Z_ARRVAL_P(property(object, VALUES)), key);
	if (EXPECTED(value && Z_TYPE_P(value) != IS_NULL)) {
		RETURN_COPY(value);
	}
	answer answered = ask_nearest(object, key, &arguments[3], return_value);
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
		call(object, ZEND_STRL("lookup"), return_value, 4, arguments);
	}
	zval_ptr_dtor(&arguments[3]);
}
