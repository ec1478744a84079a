/* Values into the segment; see persist.h for the form. */
#ifdef HAVE_CONFIG_H
# include "config.h"
#endif

#include "persist.h"

#include "ext/standard/php_var.h"
#include "php_larder.h"
#include "zend_exceptions.h"
#include "zend_smart_str.h"

#define ALIGN(bytes) (((bytes) + 7) & ~(size_t) 7)

static inline size_t string_bytes(const zend_string *string)
{
	return ALIGN(offsetof(zend_string, val) + ZSTR_LEN(string) + 1);
}

/* Of the hash part and the used elements: what lies behind is never looked at. */
static inline size_t array_data_bytes(const zend_array *array)
{
	if (array->nNumUsed == 0) {
		return sizeof(uint32_t) * 2;
	}
	if (HT_IS_PACKED(array)) {
		return HT_PACKED_USED_SIZE(array);
	}

	return HT_USED_SIZE(array);
}

/* What lies behind an element; NULL: nothing, or a reference that something else has too. */
static inline zval *behind(zval *value)
{
	if (Z_TYPE_P(value) == IS_INDIRECT) {
		value = Z_INDIRECT_P(value);
	}
	/* A reference that nothing else has is a value. */
	while (Z_TYPE_P(value) == IS_REFERENCE) {
		if (Z_REFCOUNT_P(value) > 1) {
			return NULL;
		}
		value = Z_REFVAL_P(value);
	}

	return value;
}

/* ---- what may occur twice ---- */

/*
 * Only what something else has too, or what is not counted: a row of a table, its column's name. The count of a thing
 * that occurs once may change before it is written, since objects run code when they are serialized; it is then either
 * not found here, or found and written once.
 */
static inline bool may_occur_twice(const zend_refcounted_h *thing)
{
	return thing->refcount > 1 || thing->u.type_info & (GC_IMMUTABLE << GC_FLAGS_SHIFT);
}

/* States before there is an address. */
#define OPEN ((void *) 1)
#define DONE ((void *) 2)

static inline bool is_written(const larder_twice *one)
{
	return (uintptr_t) one->to > (uintptr_t) DONE;
}

/* Its place, or the empty one where it would be. */
static inline larder_twice *place_of(const larder_plan *plan, const void *thing)
{
	uint32_t i = (uint32_t) (((uint64_t) (uintptr_t) thing >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & plan->twice_mask;

	while (plan->twice[i].from && plan->twice[i].from != thing) {
		i = (i + 1) & plan->twice_mask;
	}

	return &plan->twice[i];
}

static void make_places(larder_plan *plan)
{
	larder_twice *old = plan->twice;
	uint32_t n = plan->twice_mask + 1;

	if (!old) {
		plan->twice = plan->few;
		plan->twice_mask = sizeof plan->few / sizeof *plan->few - 1;
		memset(plan->few, 0, sizeof plan->few);
		return;
	}
	plan->twice = ecalloc((size_t) n * 4, sizeof *plan->twice);
	plan->twice_mask = n * 4 - 1;
	for (uint32_t i = 0; i < n; i++) {
		if (old[i].from) {
			*place_of(plan, old[i].from) = old[i];
		}
	}
	if (old != plan->few) {
		efree(old);
	}
}

/* NULL if it was not there before. */
static inline larder_twice *note(larder_plan *plan, const void *thing, void *state)
{
	if (UNEXPECTED(plan->twice_used * 2 >= plan->twice_mask)) {
		make_places(plan);
	}
	larder_twice *one = place_of(plan, thing);
	if (one->from) {
		return one;
	}
	one->from = thing;
	one->to = state;
	plan->twice_used++;

	return NULL;
}

/* NULL: it does not occur twice. */
static inline larder_twice *noted(const larder_plan *plan, const zend_refcounted_h *thing)
{
	if (!may_occur_twice(thing) || !plan->twice) {
		return NULL;
	}
	larder_twice *one = place_of(plan, thing);

	return one->from ? one : NULL;
}

/* ---- the plan ---- */

typedef enum { PLAIN, MUST_BE_SERIALIZED, REFUSED } verdict;

static inline void plan_string(larder_plan *plan, const zend_string *string)
{
	if (!may_occur_twice(&string->gc) || !note(plan, string, DONE)) {
		plan->bytes += string_bytes(string);
	}
}

/* False: it contains itself. That takes a reference, and so it is counted twice. */
static bool plan_array(larder_plan *plan, const zend_array *array)
{
	if (may_occur_twice(&array->gc)) {
		const larder_twice *one = note(plan, array, OPEN);
		if (one) {
			return one->to == DONE;
		}
	}
	plan->bytes += ALIGN(sizeof(zend_array)) + ALIGN(array_data_bytes(array));
	larder_level *level = larder_push(&plan->stack);
	level->from = array;
	level->next = 0;

	return true;
}

static verdict plan_arrays(larder_plan *plan, const zend_array *outermost)
{
	plan_array(plan, outermost);
	while (plan->stack.depth) {
		uint32_t depth = plan->stack.depth, i = plan->stack.levels[depth - 1].next;
		const zend_array *array = plan->stack.levels[depth - 1].from;
		bool packed = HT_IS_PACKED(array);
		while (i < array->nNumUsed && plan->stack.depth == depth) {
			zval *value = packed ? &array->arPacked[i] : &array->arData[i].val;
			if (!packed && Z_TYPE_P(value) != IS_UNDEF && array->arData[i].key) {
				plan_string(plan, array->arData[i].key);
			}
			i++;
			if (Z_TYPE_P(value) == IS_STRING) {
				plan_string(plan, Z_STR_P(value));
				continue;
			}
			if (Z_TYPE_P(value) < IS_STRING) {
				continue;
			}
			value = behind(value);
			if (!value) {
				return MUST_BE_SERIALIZED;
			}
			switch (Z_TYPE_P(value)) {
				case IS_STRING:
					plan_string(plan, Z_STR_P(value));
					break;
				case IS_ARRAY:
					if (!plan_array(plan, Z_ARR_P(value))) {
						/* The engine's serializer knows how to say what a loop is. */
						return MUST_BE_SERIALIZED;
					}
					break;
				case IS_OBJECT: {
					zval object;
					ZVAL_COPY(&object, value);
					zend_hash_next_index_insert(&plan->objects, &object);
					break;
				}
				default:
					if (Z_TYPE_P(value) > IS_STRING) {
						return REFUSED;
					}
			}
		}
		if (plan->stack.depth > depth) {
			/* What lies in it is next; then this goes on. */
			plan->stack.levels[depth - 1].next = i;
			continue;
		}
		if (may_occur_twice(&array->gc)) {
			place_of(plan, array)->to = DONE;
		}
		plan->stack.depth--;
	}

	return PLAIN;
}

/* What the engine says of a class that refuses, with what to do; an exception of the application's own code stays what it is. */
static void explain(void)
{
	zval unused, *message;

	if (EG(exception)->ce != zend_ce_exception) {
		return;
	}
	message = zend_read_property_ex(zend_ce_exception, EG(exception), ZSTR_KNOWN(ZEND_STR_MESSAGE), true, &unused);
	if (Z_TYPE_P(message) == IS_STRING && zend_string_starts_with_literal(Z_STR_P(message), "Serialization of '")) {
		zend_throw_exception_ex(larder_exception_class, 0, "%s, so it cannot be stored in a segment: store what it can be made from", Z_STRVAL_P(message));
	}
}

static bool serialize(larder_plan *plan, zval *value)
{
	php_serialize_data_t data;
	smart_str text = {0};
	larder_apart outer = larder_set_apart();

	PHP_VAR_SERIALIZE_INIT(data);
	php_var_serialize(&text, value, &data);
	PHP_VAR_SERIALIZE_DESTROY(data);
	larder_put_back(&outer);
	if (EG(exception)) {
		smart_str_free(&text);
		explain();
		return false;
	}
	plan->serialized = smart_str_extract(&text);
	plan->bytes += string_bytes(plan->serialized);

	return true;
}

bool larder_plan_make(larder_plan *plan, zval *value)
{
	ZVAL_DEREF(value);
	plan->value = value;
	plan->looked = false;
	plan->serialized = NULL;
	plan->bytes = 0;
	switch (Z_TYPE_P(value)) {
		case IS_NULL:
			plan->kind = LARDER_NIL;
			return true;
		case IS_FALSE:
			plan->kind = LARDER_NO;
			return true;
		case IS_TRUE:
			plan->kind = LARDER_YES;
			return true;
		case IS_LONG:
			plan->kind = LARDER_INTEGER;
			return true;
		case IS_DOUBLE:
			plan->kind = LARDER_FLOAT;
			return true;
		case IS_STRING:
			plan->kind = LARDER_STRING;
			plan->bytes = string_bytes(Z_STR_P(value));
			return true;
		case IS_OBJECT:
			plan->kind = LARDER_OBJECT;
			return serialize(plan, value);
		case IS_ARRAY:
			break;
		default:
			zend_throw_exception_ex(larder_exception_class, 0, "A %s cannot be stored in a segment: it is this process's own, so store what it can be opened by", zend_zval_type_name(value));
			return false;
	}
	plan->kind = LARDER_ARRAY;
	plan->looked = true;
	plan->twice = NULL;
	plan->twice_used = plan->twice_mask = 0;
	larder_stack_init(&plan->stack);
	zend_hash_init(&plan->objects, 0, NULL, ZVAL_PTR_DTOR, 0);
	verdict found = plan_arrays(plan, Z_ARRVAL_P(value));
	bool good = true;
	if (found == REFUSED) {
		zend_throw_exception_ex(larder_exception_class, 0, "An array that holds a resource cannot be stored in a segment: it is this process's own, so store what it can be opened by");
		good = false;
	} else if (found == MUST_BE_SERIALIZED) {
		plan->kind = LARDER_OBJECT;
		plan->bytes = 0;
		good = serialize(plan, value);
	} else if (zend_hash_num_elements(&plan->objects)) {
		zval list;
		plan->kind = LARDER_MIXED;
		ZVAL_ARR(&list, &plan->objects);
		good = serialize(plan, &list);
	}
	if (!good) {
		larder_plan_free(plan);
	}

	return good;
}

void larder_plan_free(larder_plan *plan)
{
	if (plan->looked) {
		zend_hash_destroy(&plan->objects);
		larder_stack_free(&plan->stack);
		if (plan->twice && plan->twice != plan->few) {
			efree(plan->twice);
		}
		plan->looked = false;
	}
	if (plan->serialized) {
		zend_string_release(plan->serialized);
		plan->serialized = NULL;
	}
}

/* ---- writing ---- */

typedef struct {
	larder_plan *plan;
	char *next;                 /* free room, in the mapping that is written to */
	ptrdiff_t to_readers;       /* from there to the mapping that is read */
	uint32_t marker;
} writer;

static inline void *take(writer *w, size_t bytes)
{
	void *room = w->next;

	w->next += ALIGN(bytes);

	return room;
}

/* Where readers find what lies here. */
static inline void *address(const writer *w, void *here)
{
	return (char *) here + w->to_readers;
}

/* ---- UTF-8 ---- */

/* The compiler knows how each processor works on so many at once. */
typedef uint8_t bytes16 __attribute__((vector_size(16)));

static inline bytes16 sixteen(const unsigned char *at)
{
	bytes16 these;

	memcpy(&these, at, sizeof these);

	return these;
}

/* Whether any of these bits is set in any of the bytes. */
static inline bool any(bytes16 bytes, uint64_t bits)
{
	uint64_t half[2];

	memcpy(half, &bytes, sizeof half);

	return ((half[0] | half[1]) & bits) != 0;
}

#define HIGH_BITS UINT64_C(0x8080808080808080)
#define BLOCK 64

static inline bytes16 bits_of_block(const unsigned char *at)
{
	return sixteen(at) | sixteen(at + 16) | sixteen(at + 32) | sixteen(at + 48);
}

static bool is_ascii(const unsigned char *at, size_t length)
{
	const unsigned char *end = at + length;
	uint64_t bits = 0, eight;

	for (; end - at >= 4 * BLOCK; at += 4 * BLOCK) {
		if (any(bits_of_block(at) | bits_of_block(at + BLOCK) | bits_of_block(at + 2 * BLOCK) | bits_of_block(at + 3 * BLOCK), HIGH_BITS)) {
			return false;
		}
	}
	for (; end - at >= BLOCK; at += BLOCK) {
		if (any(bits_of_block(at), HIGH_BITS)) {
			return false;
		}
	}
	if (length >= 8) {
		for (; end - at > 8; at += 8) {
			memcpy(&eight, at, 8);
			bits |= eight;
		}
		/* The last eight, some of them once more. */
		at = end - 8;
		memcpy(&eight, at, 8);
		return !((bits | eight) & HIGH_BITS);
	}
	while (at < end) {
		bits |= *at++;
	}

	return !(bits & 0x80);
}

/* Which of sixteen bytes cannot come after the three before them, by the table of well-formed sequences (Unicode, 3.9). */
static inline bytes16 faults(const unsigned char *at)
{
	bytes16 byte = sixteen(at), first = sixteen(at - 1);
	bytes16 must_go_on = (bytes16) ((first >= 0xc0) | (sixteen(at - 2) >= 0xe0) | (sixteen(at - 3) >= 0xf0));
	bytes16 goes_on = (bytes16) ((byte & 0xc0) == 0x80);
	/* Too long a form, a surrogate, beyond U+10FFFF. */
	bytes16 second = (bytes16) (((first == 0xe0) & (byte < 0xa0)) | ((first == 0xed) & (byte >= 0xa0))
		| ((first == 0xf0) & (byte < 0x90)) | ((first == 0xf4) & (byte >= 0x90)));

	return (must_go_on ^ goes_on) | second | (bytes16) (((byte & 0xfe) == 0xc0) | (byte >= 0xf5));
}

/*
 * Whether a string is UTF-8 (RFC 3629). The engine never finds that out for an interned string by itself, and would
 * look at all of it for each pattern with /u. Branches for each character would take thirty times as long as the copy.
 */
bool larder_is_utf8(const zend_string *string)
{
	const unsigned char *at = (const unsigned char *) ZSTR_VAL(string);
	size_t length = ZSTR_LEN(string);
	/* A block at an edge, with zeros around it. */
	unsigned char edge[3 + BLOCK];
	bool is_open = false;

	if (is_ascii(at, length)) {
		return true;
	}
	for (size_t done = 0; done < length; done += BLOCK) {
		const unsigned char *block = at + done;
		size_t before = done ? 3 : 0, there = length - done < BLOCK ? length - done : BLOCK;
		if (there < BLOCK || !done) {
			memset(edge, 0, sizeof edge);
			memcpy(edge + 3 - before, block - before, before + there);
			block = edge + 3;
		}
		bool is_plain = !any(bits_of_block(block), HIGH_BITS);
		/* Nothing goes on into what comes after a block without any. */
		if (is_plain && !is_open) {
			continue;
		}
		is_open = !is_plain;
		if (any(faults(block) | faults(block + 16) | faults(block + 32) | faults(block + 48), ~UINT64_C(0))) {
			return false;
		}
	}

	/* It does not end within a character. */
	return at[length - 1] < 0xc0 && (length < 2 || at[length - 2] < 0xe0) && (length < 3 || at[length - 3] < 0xf0);
}

/* Refcount 2: SEPARATE_ARRAY() and its like look at nothing else. */
#ifdef LARDER_BROKEN_REFCOUNT
# define REFCOUNT 1
#else
# define REFCOUNT 2
#endif

/* Of what the engine knows or would ask. */
static inline uint32_t flags_of(const zend_string *string)
{
	return GC_FLAGS(string) & IS_STR_VALID_UTF8 || larder_is_utf8(string) ? IS_STR_VALID_UTF8 : 0;
}

static void *write_string(writer *w, zend_string *string, uint32_t flags)
{
	size_t length = ZSTR_LEN(string);
	zend_string *copy = take(w, offsetof(zend_string, val) + length + 1);

	/* Not the source's flags: they may say where its refcount is no refcount (IS_STR_CLASS_NAME_MAP_PTR). */
	GC_SET_REFCOUNT(copy, REFCOUNT);
	GC_TYPE_INFO(copy) = IS_STRING | ((IS_STR_INTERNED | flags) << GC_FLAGS_SHIFT);
	/* The engine would write it when it needs it, and cannot where it is read. */
	ZSTR_H(copy) = ZSTR_HASH(string);
	ZSTR_LEN(copy) = length;
	memcpy(ZSTR_VAL(copy), ZSTR_VAL(string), length + 1);

	return address(w, copy);
}

static inline void *write_once(writer *w, zend_string *string)
{
	larder_twice *one = noted(w->plan, &string->gc);

	if (!one) {
		return write_string(w, string, flags_of(string));
	}
	if (!is_written(one)) {
		one->to = write_string(w, string, flags_of(string));
	}

	return one->to;
}

/* All but the elements. */
static zend_array *begin_array(writer *w, const zend_array *array)
{
	zend_array *copy = take(w, sizeof *copy);
	char *data = take(w, array_data_bytes(array));

	memcpy(copy, array, sizeof *copy);
	GC_SET_REFCOUNT(copy, REFCOUNT);
	GC_TYPE_INFO(copy) = GC_ARRAY | ((IS_ARRAY_IMMUTABLE | GC_NOT_COLLECTABLE) << GC_FLAGS_SHIFT);
	HT_FLAGS(copy) = (HT_FLAGS(array) & HASH_FLAG_PACKED) | HASH_FLAG_STATIC_KEYS;
	copy->pDestructor = NULL;
	copy->nInternalPointer = 0;
	if (array->nNumUsed == 0) {
		/* The engine's block for empty arrays lies elsewhere in each process: this one has its own. */
		uint32_t *none = (uint32_t *) data;
		none[0] = none[1] = HT_INVALID_IDX;
		HT_FLAGS(copy) = HASH_FLAG_UNINITIALIZED | HASH_FLAG_STATIC_KEYS;
		copy->nTableMask = HT_MIN_MASK;
		copy->nTableSize = HT_MIN_SIZE;
		copy->nNumOfElements = 0;
		copy->arData = (Bucket *) address(w, data + sizeof(uint32_t) * 2);
	} else {
		memcpy(data, HT_GET_DATA_ADDR(array), HT_HASH_SIZE(array->nTableMask));
		copy->arData = (Bucket *) address(w, data + HT_HASH_SIZE(array->nTableMask));
	}
	larder_level *level = &w->plan->stack.levels[w->plan->stack.depth++];
	level->from = array;
	level->to = copy;
	level->next = 0;
	level->gaps = false;

	return copy;
}

/* The hash anew, without the elements that were left out. */
static void link_elements(const writer *w, zend_array *copy)
{
	Bucket *elements = (Bucket *) ((char *) copy->arData - w->to_readers);
	uint32_t *hash = (uint32_t *) elements;

	memset(hash + (int32_t) copy->nTableMask, 0xff, HT_HASH_SIZE(copy->nTableMask));
	for (uint32_t i = 0; i < copy->nNumUsed; i++) {
		if (Z_TYPE(elements[i].val) != IS_UNDEF) {
			uint32_t *head = &hash[(int32_t) (elements[i].h | copy->nTableMask)];
			Z_NEXT(elements[i].val) = *head;
			*head = HT_IDX_TO_HASH(i);
		}
	}
}

/* True: the element is an array that is to be written first, and is the innermost level now. */
static inline bool write_zval(writer *w, zend_array *parent, zval *to, zval *from)
{
	if (Z_TYPE_P(from) == IS_INDIRECT) {
		from = Z_INDIRECT_P(from);
	}
	/* No reference was shared when this was looked at. */
	ZVAL_DEREF(from);
	switch (Z_TYPE_P(from)) {
		case IS_STRING:
			Z_STR_P(to) = write_once(w, Z_STR_P(from));
			Z_TYPE_INFO_P(to) = IS_INTERNED_STRING_EX;
			return false;
		case IS_ARRAY: {
			larder_twice *one = noted(w->plan, &Z_ARR_P(from)->gc);
			/* Never ZVAL_ARR(), which would say that it is counted. */
			Z_TYPE_INFO_P(to) = IS_ARRAY;
			if (one && is_written(one)) {
				Z_ARR_P(to) = one->to;
				zend_array *there = (zend_array *) ((char *) one->to - w->to_readers);
				LARDER_NOTES(there) |= LARDER_TWICE;
				LARDER_NOTES(parent) |= LARDER_NOTES(there) & LARDER_PATH;
				return false;
			}
			Z_ARR_P(to) = address(w, begin_array(w, Z_ARR_P(from)));
			if (one) {
				one->to = Z_ARR_P(to);
			}
			return true;
		}
		case IS_OBJECT:
			Z_LVAL_P(to) = w->marker++;
			Z_TYPE_INFO_P(to) = LARDER_MARKER;
			LARDER_NOTES(parent) |= LARDER_PATH;
			return false;
		default:
			Z_LVAL_P(to) = Z_LVAL_P(from);
			Z_TYPE_INFO_P(to) = Z_TYPE_P(from);
			return false;
	}
}

static void write_arrays(writer *w, const zend_array *outermost)
{
	larder_stack *stack = &w->plan->stack;

	stack->depth = 0;
	begin_array(w, outermost);
	while (stack->depth) {
		larder_level *level = &stack->levels[stack->depth - 1];
		const zend_array *from = level->from;
		zend_array *copy = level->to;
		bool deeper = false;
		uint32_t i = level->next;
		if (HT_IS_PACKED(from)) {
			zval *to = (zval *) ((char *) copy->arPacked - w->to_readers);
			for (; i < from->nNumUsed && !deeper; i++) {
				Z_EXTRA(to[i]) = 0;
				deeper = write_zval(w, copy, &to[i], &from->arPacked[i]);
			}
		} else {
			Bucket *to = (Bucket *) ((char *) copy->arData - w->to_readers);
			for (; i < from->nNumUsed && !deeper; i++) {
				Bucket *element = &from->arData[i];
				/* What was unset has a key that may be gone. */
				bool there = Z_TYPE(element->val) != IS_UNDEF;
				to[i].h = element->h;
				to[i].key = there && element->key ? write_once(w, element->key) : NULL;
				Z_NEXT(to[i].val) = Z_NEXT(element->val);
				deeper = write_zval(w, copy, &to[i].val, &element->val);
				if (there && Z_TYPE(to[i].val) == IS_UNDEF) {
					/* A table of variables has one that is not set. */
					copy->nNumOfElements--;
					level->gaps = true;
				}
			}
		}
		if (deeper) {
			level->next = i;
			continue;
		}
		if (level->gaps) {
			link_elements(w, copy);
		}
		stack->depth--;
		if (stack->depth) {
			LARDER_NOTES(stack->levels[stack->depth - 1].to) |= LARDER_NOTES(copy) & LARDER_PATH;
		}
	}
}

void larder_persist(larder_plan *plan, seg *segment, seg_item *item)
{
	char *room = (char *) item + seg_item_head(item->key_length);
	writer w = {plan, room, (ptrdiff_t) (segment->header->base - (uint64_t) (uintptr_t) segment->rw), 0};

	item->kind = plan->kind;
	switch (plan->kind) {
		case LARDER_INTEGER:
			atomic_store_explicit(&item->number, Z_LVAL_P(plan->value), memory_order_relaxed);
			break;
		case LARDER_FLOAT: {
			int64_t bits;
			memcpy(&bits, &Z_DVAL_P(plan->value), sizeof bits);
			atomic_store_explicit(&item->number, bits, memory_order_relaxed);
			break;
		}
		case LARDER_STRING:
			if (Z_STRLEN_P(plan->value) < LARDER_LONG || GC_FLAGS(Z_STR_P(plan->value)) & IS_STR_VALID_UTF8) {
				write_string(&w, Z_STR_P(plan->value), flags_of(Z_STR_P(plan->value)));
			} else {
				write_string(&w, Z_STR_P(plan->value), 0);
				atomic_store_explicit(&item->number, LARDER_UNREAD, memory_order_relaxed);
			}
			break;
		case LARDER_ARRAY:
		case LARDER_MIXED:
			write_arrays(&w, Z_ARRVAL_P(plan->value));
			if (plan->kind == LARDER_MIXED) {
				atomic_store_explicit(&item->number, (int64_t) (w.next - (char *) item), memory_order_relaxed);
				write_string(&w, plan->serialized, 0);
			}
			break;
		case LARDER_OBJECT:
			write_string(&w, plan->serialized, 0);
			break;
	}
#ifdef LARDER_DEBUG
	if ((size_t) (w.next - room) != plan->bytes) {
		zend_error_noreturn(E_CORE_ERROR, "larder: a value that was to take %zu bytes took %zu", plan->bytes, (size_t) (w.next - room));
	}
#endif
}
