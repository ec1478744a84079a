/* Values into the segment; see persist.h for the form. */
#include "persist.h"

#include "ext/standard/php_var.h"
#include "zend_exceptions.h"
#include "zend_smart_str.h"

#define ALIGN(bytes) (((bytes) + 7) & ~(size_t) 7)

static inline zend_ulong key_of(const void *pointer)
{
	return (zend_ulong) (uintptr_t) pointer >> 3;
}

static inline size_t string_bytes(const zend_string *string)
{
	return ALIGN(offsetof(zend_string, val) + ZSTR_LEN(string) + 1);
}

/* Of the hash part and the used elements: what lies behind is never looked at. */
static inline size_t array_data_bytes(const HashTable *ht)
{
	if (ht->nNumUsed == 0) {
		return sizeof(uint32_t) * 2;
	}
	if (HT_IS_PACKED(ht)) {
		return HT_PACKED_USED_SIZE(ht);
	}

	return HT_USED_SIZE(ht);
}

/* ---- the plan ---- */

typedef enum { PLAIN, HAS_OBJECTS, MUST_BE_SERIALIZED, REFUSED } verdict;

static verdict plan_zval(larder_plan *plan, zval *value, int depth);

static void plan_string(larder_plan *plan, zend_string *string)
{
	zval none;

	ZVAL_UNDEF(&none);
	ZVAL_NULL(&none);
	if (zend_hash_index_add(&plan->seen, key_of(string), &none)) {
		plan->bytes += string_bytes(string);
	}
}

static verdict plan_array(larder_plan *plan, HashTable *ht, int depth)
{
	verdict worst = PLAIN;
	zval *value, mark;
	zend_string *key;

	if (depth > 512 || GC_IS_RECURSIVE(ht)) {
		/* The engine's serializer knows what a loop is, and says so. */
		return MUST_BE_SERIALIZED;
	}
	ZVAL_NULL(&mark);
	if (!zend_hash_index_add(&plan->seen, key_of(ht), &mark)) {
		/* Stored once; whether it holds objects was found out then. */
		zval *found = zend_hash_index_find(&plan->seen, key_of(ht));
		return Z_TYPE_P(found) == IS_TRUE ? HAS_OBJECTS : PLAIN;
	}
	plan->bytes += ALIGN(sizeof(zend_array)) + ALIGN(array_data_bytes(ht));
	GC_TRY_PROTECT_RECURSION(ht);
	ZEND_HASH_FOREACH_STR_KEY_VAL(ht, key, value) {
		if (key) {
			plan_string(plan, key);
		}
		verdict one = plan_zval(plan, value, depth + 1);
		if (one > worst) {
			worst = one;
			if (worst >= MUST_BE_SERIALIZED) {
				break;
			}
		}
	} ZEND_HASH_FOREACH_END();
	GC_TRY_UNPROTECT_RECURSION(ht);
	if (worst == HAS_OBJECTS) {
		ZVAL_TRUE(zend_hash_index_find(&plan->seen, key_of(ht)));
	}

	return worst;
}

static verdict plan_zval(larder_plan *plan, zval *value, int depth)
{
	switch (Z_TYPE_P(value)) {
		case IS_UNDEF:
		case IS_NULL:
		case IS_FALSE:
		case IS_TRUE:
		case IS_LONG:
		case IS_DOUBLE:
			return PLAIN;
		case IS_STRING:
			plan_string(plan, Z_STR_P(value));
			return PLAIN;
		case IS_ARRAY:
			return plan_array(plan, Z_ARRVAL_P(value), depth);
		case IS_INDIRECT:
			return plan_zval(plan, Z_INDIRECT_P(value), depth);
		case IS_REFERENCE:
			/* Nobody else refers to it: it is a value. */
			return Z_REFCOUNT_P(value) == 1 ? plan_zval(plan, Z_REFVAL_P(value), depth) : MUST_BE_SERIALIZED;
		case IS_OBJECT: {
			zval object;
			ZVAL_COPY(&object, value);
			zend_hash_next_index_insert(&plan->objects, &object);
			return HAS_OBJECTS;
		}
		default:
			return REFUSED;
	}
}

static bool serialize(larder_plan *plan, zval *value)
{
	php_serialize_data_t data;
	smart_str text = {0};

	PHP_VAR_SERIALIZE_INIT(data);
	php_var_serialize(&text, value, &data);
	PHP_VAR_SERIALIZE_DESTROY(data);
	if (EG(exception)) {
		smart_str_free(&text);
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
	plan->serialized = NULL;
	plan->bytes = 0;
	plan->kind = 0;
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
			zend_throw_exception_ex(zend_ce_value_error, 0, "A %s cannot be stored in a segment", zend_zval_type_name(value));
			return false;
	}
	plan->kind = LARDER_ARRAY;
	zend_hash_init(&plan->seen, 64, NULL, NULL, 0);
	zend_hash_init(&plan->objects, 0, NULL, ZVAL_PTR_DTOR, 0);
	verdict found = plan_array(plan, Z_ARRVAL_P(value), 0);
	bool good = true;
	if (found == HAS_OBJECTS) {
		zval list;
		plan->kind = LARDER_MIXED;
		ZVAL_ARR(&list, &plan->objects);
		good = serialize(plan, &list);
	} else if (found == MUST_BE_SERIALIZED) {
		plan->kind = LARDER_OBJECT;
		plan->bytes = 0;
		good = serialize(plan, value);
	} else if (found == REFUSED) {
		zend_throw_exception_ex(zend_ce_value_error, 0, "An array that holds a resource cannot be stored in a segment");
		good = false;
	}
	if (!good) {
		larder_plan_free(plan);
		plan->kind = 0;
	}

	return good;
}

void larder_plan_free(larder_plan *plan)
{
	if (plan->kind >= LARDER_ARRAY && Z_TYPE_P(plan->value) == IS_ARRAY) {
		zend_hash_destroy(&plan->seen);
		zend_hash_destroy(&plan->objects);
	}
	if (plan->serialized) {
		zend_string_release(plan->serialized);
		plan->serialized = NULL;
	}
}

/* ---- writing ---- */

typedef struct {
	seg *segment;
	HashTable *seen;
	char *next;                 /* free room, in the mapping that is written to */
	uint32_t marker;
} writer;

static inline void *take(writer *w, size_t bytes)
{
	void *room = w->next;

	w->next += ALIGN(bytes);

	return room;
}

/* Where readers find what lies here. */
static inline void *address(const writer *w, const void *here)
{
	return (void *) (uintptr_t) (w->segment->header->base + seg_of(w->segment, here));
}

/* Whether these bytes are UTF-8 (RFC 3629): the engine never finds that out for an interned string by itself. */
static bool is_utf8(const unsigned char *at, size_t length)
{
	const unsigned char *end = at + length;

	while (at < end) {
		unsigned char first = *at++;
		if (first < 0x80) {
			continue;
		}
		int more = first >= 0xc2 && first < 0xe0 ? 1 : first < 0xf0 && first >= 0xe0 ? 2 : first < 0xf5 && first >= 0xf0 ? 3 : 0;
		if (!more || end - at < more) {
			return false;
		}
		/* The second byte's range keeps out what is too long, the surrogates, and what lies beyond U+10FFFF. */
		unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80, high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
		if (*at < low || *at > high) {
			return false;
		}
		at++;
		while (--more) {
			if ((*at++ & 0xc0) != 0x80) {
				return false;
			}
		}
	}

	return true;
}

static void *write_string(writer *w, const zend_string *string, zval *seen)
{
	if (seen && Z_TYPE_P(seen) == IS_PTR) {
		return Z_PTR_P(seen);
	}
	zend_string *copy = take(w, offsetof(zend_string, val) + ZSTR_LEN(string) + 1);
	/* Not the source's flags: they may say where its refcount is no refcount (IS_STR_CLASS_NAME_MAP_PTR). */
	GC_SET_REFCOUNT(copy, 2);
	GC_TYPE_INFO(copy) = IS_STRING | ((IS_STR_INTERNED
		| (is_utf8((const unsigned char *) ZSTR_VAL(string), ZSTR_LEN(string)) ? IS_STR_VALID_UTF8 : 0)) << GC_FLAGS_SHIFT);
	ZSTR_H(copy) = zend_hash_func(ZSTR_VAL(string), ZSTR_LEN(string));
	ZSTR_LEN(copy) = ZSTR_LEN(string);
	memcpy(ZSTR_VAL(copy), ZSTR_VAL(string), ZSTR_LEN(string) + 1);
	if (seen) {
		ZVAL_PTR(seen, address(w, copy));
	}

	return address(w, copy);
}

static bool write_zval(writer *w, zval *to, zval *from);

static zend_array *write_array(writer *w, HashTable *ht, bool *path)
{
	zval *seen = zend_hash_index_find(w->seen, key_of(ht));

	if (Z_TYPE_P(seen) == IS_PTR) {
		zend_array *there = Z_PTR_P(seen);
		*path = LARDER_PATH((zend_array *) (w->segment->rw + ((uintptr_t) there - w->segment->header->base)));
		return there;
	}
	zend_array *copy = take(w, sizeof *copy);
	char *data = take(w, array_data_bytes(ht));

	ZVAL_PTR(seen, address(w, copy));
	memcpy(copy, ht, sizeof *copy);
	/* Refcount 2: SEPARATE_ARRAY() looks at nothing else. */
	GC_SET_REFCOUNT(copy, 2);
	GC_TYPE_INFO(copy) = GC_ARRAY | ((IS_ARRAY_IMMUTABLE | GC_NOT_COLLECTABLE) << GC_FLAGS_SHIFT);
	HT_FLAGS(copy) = (HT_FLAGS(ht) & HASH_FLAG_PACKED) | HASH_FLAG_STATIC_KEYS;
	copy->u.v._unused = 0;
	copy->u.v.nIteratorsCount = 0;
	copy->u.v._unused2 = 0;
	copy->pDestructor = NULL;
	copy->nInternalPointer = 0;
	*path = false;
	if (ht->nNumUsed == 0) {
		/* The engine's block for empty arrays lies elsewhere in each process: this one has its own. */
		uint32_t *none = (uint32_t *) data;
		none[0] = none[1] = HT_INVALID_IDX;
		HT_FLAGS(copy) = HASH_FLAG_UNINITIALIZED | HASH_FLAG_STATIC_KEYS;
		copy->nTableMask = HT_MIN_MASK;
		copy->nTableSize = HT_MIN_SIZE;
		copy->nNumOfElements = 0;
		copy->arData = (Bucket *) address(w, data + sizeof(uint32_t) * 2);
		return address(w, copy);
	}
	if (HT_IS_PACKED(ht)) {
		memcpy(data, HT_GET_DATA_ADDR(ht), HT_PACKED_USED_SIZE(ht));
		zval *elements = (zval *) (data + HT_HASH_SIZE(ht->nTableMask));
		copy->arPacked = address(w, elements);
		for (uint32_t i = 0; i < ht->nNumUsed; i++) {
			*path |= write_zval(w, &elements[i], &ht->arPacked[i]);
		}
	} else {
		memcpy(data, HT_GET_DATA_ADDR(ht), HT_USED_SIZE(ht));
		Bucket *elements = (Bucket *) (data + HT_HASH_SIZE(ht->nTableMask));
		copy->arData = address(w, elements);
		for (uint32_t i = 0; i < ht->nNumUsed; i++) {
			uint32_t next = Z_NEXT(elements[i].val);
			if (elements[i].key) {
				elements[i].key = write_string(w, ht->arData[i].key, zend_hash_index_find(w->seen, key_of(ht->arData[i].key)));
			}
			*path |= write_zval(w, &elements[i].val, &ht->arData[i].val);
			Z_NEXT(elements[i].val) = next;
		}
	}
	LARDER_PATH(copy) = *path;

	return address(w, copy);
}

/* Whether an object lies here or deeper. */
static bool write_zval(writer *w, zval *to, zval *from)
{
	bool path = false;

	if (Z_TYPE_P(from) == IS_INDIRECT) {
		from = Z_INDIRECT_P(from);
	}
	ZVAL_DEREF(from);
	switch (Z_TYPE_P(from)) {
		case IS_STRING:
			Z_STR_P(to) = write_string(w, Z_STR_P(from), zend_hash_index_find(w->seen, key_of(Z_STR_P(from))));
			Z_TYPE_INFO_P(to) = IS_INTERNED_STRING_EX;
			break;
		case IS_ARRAY:
			/* Never ZVAL_ARR(), which would say that it is counted. */
			Z_ARR_P(to) = write_array(w, Z_ARRVAL_P(from), &path);
			Z_TYPE_INFO_P(to) = IS_ARRAY;
			break;
		case IS_OBJECT:
			Z_LVAL_P(to) = w->marker++;
			Z_TYPE_INFO_P(to) = LARDER_MARKER;
			path = true;
			break;
		default:
			Z_LVAL_P(to) = Z_LVAL_P(from);
			Z_TYPE_INFO_P(to) = Z_TYPE_P(from);
	}

	return path;
}

void larder_persist(larder_plan *plan, seg *segment, seg_item *item)
{
	writer w = {segment, &plan->seen, (char *) item + seg_item_head(item->key_length), 0};
	bool path;

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
			write_string(&w, Z_STR_P(plan->value), NULL);
			break;
		case LARDER_ARRAY:
		case LARDER_MIXED:
			write_array(&w, Z_ARRVAL_P(plan->value), &path);
			if (plan->kind == LARDER_MIXED) {
				atomic_store_explicit(&item->number, (int64_t) (w.next - (char *) item), memory_order_relaxed);
				write_string(&w, plan->serialized, NULL);
			}
			break;
		case LARDER_OBJECT:
			write_string(&w, plan->serialized, NULL);
			break;
	}
}
