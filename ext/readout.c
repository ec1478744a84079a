/* Values out of the segment: in place, by building the path to objects, or by copying all; see persist.h for the form. */
#include "persist.h"

#include "ext/standard/php_var.h"
#include "zend_exceptions.h"

static inline const char *blob_of(const seg_item *item)
{
	return (const char *) item + seg_item_head(item->key_length);
}

/* ---- objects ---- */

static bool unserialize(const zend_string *text, zval *to)
{
	php_unserialize_data_t data;
	const unsigned char *at = (const unsigned char *) ZSTR_VAL(text), *end = at + ZSTR_LEN(text);

	ZVAL_NULL(to);
	PHP_VAR_UNSERIALIZE_INIT(data);
	bool good = php_var_unserialize(to, &at, end, &data);
	PHP_VAR_UNSERIALIZE_DESTROY(data);
	if (!good && !EG(exception)) {
		zend_throw_exception_ex(zend_ce_exception, 0, "A value in the segment cannot be unserialized");
	}

	return good && !EG(exception);
}

/* ---- copying: pointers are those of the base, which this process does not have there ---- */

typedef struct {
	const char *rw;             /* where the file is here */
	uintptr_t base;             /* where it would be */
	HashTable *objects;         /* for the markers; NULL where there are none */
	bool in_place;              /* what has no object in it is shared */
} reader;

static inline const void *here(const reader *r, const void *pointer)
{
	return r->in_place ? pointer : r->rw + ((uintptr_t) pointer - r->base);
}

static void build_array(const reader *r, const zend_array *from, zval *to);

static void build_zval(const reader *r, const zval *from, zval *to)
{
	switch (Z_TYPE_P(from)) {
		case IS_STRING: {
			const zend_string *string = here(r, Z_STR_P(from));
			if (r->in_place) {
				ZVAL_INTERNED_STR(to, (zend_string *) string);
			} else {
				ZVAL_STRINGL(to, ZSTR_VAL(string), ZSTR_LEN(string));
			}
			break;
		}
		case IS_ARRAY: {
			const zend_array *array = here(r, Z_ARR_P(from));
			if (r->in_place && !LARDER_PATH(array)) {
				Z_ARR_P(to) = (zend_array *) array;
				Z_TYPE_INFO_P(to) = IS_ARRAY;
			} else {
				build_array(r, array, to);
			}
			break;
		}
		case LARDER_MARKER: {
			zval *object = r->objects ? zend_hash_index_find(r->objects, Z_LVAL_P(from)) : NULL;
			if (object) {
				ZVAL_COPY_DEREF(to, object);
			} else {
				ZVAL_NULL(to);
			}
			break;
		}
		default:
			ZVAL_COPY_VALUE(to, from);
			Z_TYPE_INFO_P(to) = Z_TYPE_P(from);
	}
}

static void build_array(const reader *r, const zend_array *from, zval *to)
{
	zval value;

	array_init_size(to, from->nNumOfElements);
	zend_array *array = Z_ARRVAL_P(to);
	if (from->nNumUsed && HT_IS_PACKED(from)) {
		const zval *element = here(r, from->arPacked);
		zend_hash_real_init_packed(array);
		for (uint32_t i = 0; i < from->nNumUsed; i++) {
			if (Z_TYPE(element[i]) != IS_UNDEF) {
				build_zval(r, &element[i], &value);
				zend_hash_index_add_new(array, i, &value);
			}
		}
	} else if (from->nNumUsed) {
		const Bucket *element = here(r, from->arData);
		for (uint32_t i = 0; i < from->nNumUsed; i++) {
			if (Z_TYPE(element[i].val) == IS_UNDEF) {
				continue;
			}
			build_zval(r, &element[i].val, &value);
			if (!element[i].key) {
				zend_hash_index_add_new(array, element[i].h, &value);
			} else if (r->in_place) {
				zend_hash_add_new(array, element[i].key, &value);
			} else {
				const zend_string *key = here(r, element[i].key);
				zend_hash_str_add_new(array, ZSTR_VAL(key), ZSTR_LEN(key), &value);
			}
		}
	}
	array->nNextFreeElement = from->nNextFreeElement;
}

static bool read_item(seg *segment, const seg_item *item, zval *to, bool in_place)
{
	const char *blob = blob_of(item);
	reader r = {segment->rw, (uintptr_t) segment->header->base, NULL, in_place};
	int64_t number = atomic_load_explicit((_Atomic int64_t *) &item->number, memory_order_relaxed);
	zval list;

	switch (item->kind) {
		case LARDER_NIL:
			ZVAL_NULL(to);
			return true;
		case LARDER_NO:
			ZVAL_FALSE(to);
			return true;
		case LARDER_YES:
			ZVAL_TRUE(to);
			return true;
		case LARDER_INTEGER:
			ZVAL_LONG(to, number);
			return true;
		case LARDER_FLOAT: {
			double real;
			memcpy(&real, &number, sizeof real);
			ZVAL_DOUBLE(to, real);
			return true;
		}
		case LARDER_STRING:
			if (in_place) {
				ZVAL_INTERNED_STR(to, (zend_string *) blob);
			} else {
				ZVAL_STRINGL(to, ZSTR_VAL((const zend_string *) blob), ZSTR_LEN((const zend_string *) blob));
			}
			return true;
		case LARDER_ARRAY:
			if (in_place) {
				Z_ARR_P(to) = (zend_array *) blob;
				Z_TYPE_INFO_P(to) = IS_ARRAY;
			} else {
				build_array(&r, (const zend_array *) blob, to);
			}
			return true;
		case LARDER_MIXED:
			if (!unserialize((const zend_string *) ((const char *) item + number), &list)) {
				zval_ptr_dtor(&list);
				return false;
			}
			if (Z_TYPE(list) != IS_ARRAY) {
				zval_ptr_dtor(&list);
				zend_throw_exception_ex(zend_ce_exception, 0, "A value in the segment is damaged");
				return false;
			}
			r.objects = Z_ARRVAL(list);
			build_array(&r, (const zend_array *) blob, to);
			zval_ptr_dtor(&list);
			return true;
		case LARDER_OBJECT:
			if (!unserialize((const zend_string *) blob, to)) {
				zval_ptr_dtor(to);
				ZVAL_NULL(to);
				return false;
			}
			return true;
	}
	zend_throw_exception_ex(zend_ce_exception, 0, "A value in the segment is of an unknown kind");

	return false;
}

bool larder_read_in_place(seg *segment, const seg_item *item, zval *to)
{
	return read_item(segment, item, to, true);
}

bool larder_read_copy(seg *segment, const seg_item *item, zval *to)
{
	return read_item(segment, item, to, false);
}
