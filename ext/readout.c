/* Values out of the segment: in place, by building the path to objects, or by copying all; see persist.h for the form. */
#include "persist.h"

#include "ext/standard/php_var.h"
#include "php_larder.h"
#include "zend_exceptions.h"

static inline const char *blob_of(const seg_item *item)
{
	return (const char *) item + seg_item_head(item->key_length);
}

static inline int64_t number_of(const seg_item *item)
{
	return atomic_load_explicit((_Atomic int64_t *) &item->number, memory_order_relaxed);
}

/* ---- objects ---- */

static bool unserialize(const zend_string *text, zval *to)
{
	php_unserialize_data_t data;
	const unsigned char *at = (const unsigned char *) ZSTR_VAL(text), *end = at + ZSTR_LEN(text);

	larder_apart outer = larder_set_apart();

	ZVAL_NULL(to);
	PHP_VAR_UNSERIALIZE_INIT(data);
	bool good = php_var_unserialize(to, &at, end, &data);
	PHP_VAR_UNSERIALIZE_DESTROY(data);
	larder_put_back(&outer);
	if (!good && !EG(exception)) {
		zend_throw_exception_ex(larder_exception_class, 0, "A value in the segment cannot be unserialized: a class of its objects has changed since it was stored, or PHP's unserialize_max_depth is too small; delete it, or store it anew");
	}

	return good && !EG(exception);
}

/* ---- copying: pointers are those of the base, which this process does not have there ---- */

typedef struct {
	const char *rw;             /* where the file is here */
	uintptr_t base;             /* where it would be */
	HashTable *objects;         /* for the markers; NULL where there are none */
	bool in_place;              /* what has no object in it is shared */
	HashTable *built;           /* arrays that occur more than once, by where they lie; NULL before the first */
} reader;

static inline const void *here(const reader *r, const void *pointer)
{
	return r->in_place ? pointer : r->rw + ((uintptr_t) pointer - r->base);
}

/* An array of the engine's own, as large as that of the segment, and the innermost level now. */
static void begin_array(larder_stack *stack, const zend_array *from, zval *to)
{
	array_init_size(to, from->nNumOfElements);
	if (from->nNumUsed && HT_IS_PACKED(from)) {
		zend_hash_real_init_packed(Z_ARRVAL_P(to));
	}
	larder_level *level = larder_push(stack);
	level->from = from;
	level->to = Z_ARRVAL_P(to);
	level->next = 0;
}

static inline zend_ulong place_of(const zend_array *array)
{
	return (zend_ulong) (uintptr_t) array >> 3;
}

/* Twenty levels of arrays that hold the next one twice are a million arrays, if each is built where it is found. */
static zend_array *built_before(reader *r, const zend_array *array)
{
	if (!r->built) {
		ALLOC_HASHTABLE(r->built);
		zend_hash_init(r->built, 8, NULL, NULL, 0);
	}

	return zend_hash_index_find_ptr(r->built, place_of(array));
}

/* True: the value is an array that is built now, and is the innermost level. */
static bool build_zval(reader *r, larder_stack *stack, const zval *from, zval *to)
{
	switch (Z_TYPE_P(from)) {
		case IS_STRING: {
			const zend_string *string = here(r, Z_STR_P(from));
			if (r->in_place) {
				ZVAL_INTERNED_STR(to, (zend_string *) string);
			} else {
				ZVAL_STRINGL(to, ZSTR_VAL(string), ZSTR_LEN(string));
			}
			return false;
		}
		case IS_ARRAY: {
			const zend_array *array = here(r, Z_ARR_P(from));
			if (r->in_place && !(LARDER_NOTES(array) & LARDER_PATH)) {
				Z_ARR_P(to) = (zend_array *) array;
				Z_TYPE_INFO_P(to) = IS_ARRAY;
				return false;
			}
			zend_array *again = LARDER_NOTES(array) & LARDER_TWICE ? built_before(r, array) : NULL;
			if (again) {
				GC_ADDREF(again);
				ZVAL_ARR(to, again);
				return false;
			}
			begin_array(stack, array, to);
			if (r->built && LARDER_NOTES(array) & LARDER_TWICE) {
				zend_hash_index_add_new_ptr(r->built, place_of(array), Z_ARRVAL_P(to));
			}
			return true;
		}
		case LARDER_MARKER: {
			zval *object = r->objects ? zend_hash_index_find(r->objects, Z_LVAL_P(from)) : NULL;
			if (object) {
				ZVAL_COPY_DEREF(to, object);
			} else {
				ZVAL_NULL(to);
			}
			return false;
		}
		default:
			ZVAL_COPY_VALUE(to, from);
			Z_TYPE_INFO_P(to) = Z_TYPE_P(from);
			return false;
	}
}

static void build_array(reader *r, const zend_array *outermost, zval *to)
{
	larder_stack stack;

	larder_stack_init(&stack);
	begin_array(&stack, outermost, to);
	while (stack.depth) {
		uint32_t depth = stack.depth, i = stack.levels[depth - 1].next;
		const zend_array *from = stack.levels[depth - 1].from;
		zend_array *array = stack.levels[depth - 1].to;
		bool packed = HT_IS_PACKED(from), deeper = false;
		const void *elements = from->nNumUsed ? here(r, from->arData) : NULL;
		for (; i < from->nNumUsed && !deeper; i++) {
			const Bucket *element = packed ? NULL : (const Bucket *) elements + i;
			const zval *value = packed ? (const zval *) elements + i : &element->val;
			zval copy;
			if (Z_TYPE_P(value) == IS_UNDEF) {
				continue;
			}
			deeper = build_zval(r, &stack, value, &copy);
			if (packed) {
				zend_hash_index_add_new(array, i, &copy);
			} else if (!element->key) {
				zend_hash_index_add_new(array, element->h, &copy);
			} else if (r->in_place) {
				zend_hash_add_new(array, element->key, &copy);
			} else {
				const zend_string *key = here(r, element->key);
				zend_hash_str_add_new(array, ZSTR_VAL(key), ZSTR_LEN(key), &copy);
			}
		}
		if (deeper) {
			stack.levels[depth - 1].next = i;
			continue;
		}
		array->nNextFreeElement = from->nNextFreeElement;
		stack.depth--;
	}
	larder_stack_free(&stack);
	if (r->built) {
		zend_hash_destroy(r->built);
		FREE_HASHTABLE(r->built);
		r->built = NULL;
	}
}

/* No other process changes it, and a reader in between does not mind: it would find out the same. */
static void find_out(const seg *segment, const seg_item *item)
{
	seg_item *own = (seg_item *) (segment->rw + ((const char *) item - segment->view));
	zend_string *string = (zend_string *) blob_of(own);

	if (larder_is_utf8(string)) {
		__atomic_fetch_or(&GC_TYPE_INFO(string), IS_STR_VALID_UTF8 << GC_FLAGS_SHIFT, __ATOMIC_RELAXED);
	}
	atomic_store_explicit(&own->number, 0, memory_order_relaxed);
}

static bool read_item(seg *segment, const seg_item *item, zval *to, bool in_place)
{
	const char *blob = blob_of(item);
	reader r = {segment->rw, (uintptr_t) segment->header->base, NULL, in_place, NULL};
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
			ZVAL_LONG(to, number_of(item));
			return true;
		case LARDER_FLOAT: {
			int64_t bits = number_of(item);
			double real;
			memcpy(&real, &bits, sizeof real);
			ZVAL_DOUBLE(to, real);
			return true;
		}
		case LARDER_STRING:
			if (in_place) {
				if (UNLIKELY(number_of(item) == LARDER_UNREAD)) {
					find_out(segment, item);
				}
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
			if (!unserialize((const zend_string *) ((const char *) item + number_of(item)), &list)) {
				zval_ptr_dtor(&list);
				return false;
			}
			if (Z_TYPE(list) != IS_ARRAY) {
				zval_ptr_dtor(&list);
				zend_throw_exception_ex(larder_exception_class, 0, "A value in the segment is damaged: delete it, or store it anew");
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
	zend_throw_exception_ex(larder_exception_class, 0, "A value in the segment is of an unknown kind: delete it, or store it anew");

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
