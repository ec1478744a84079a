/*
 * A PHP value in the form in which the engine reads it, inside a block of the segment.
 *
 *   kind      number            blob
 *   NIL…YES                                          null, false, true
 *   INTEGER   the integer
 *   FLOAT     its bits
 *   STRING    UNREAD, or 0      zend_string
 *   ARRAY                       zend_array, and all it holds
 *   MIXED     offset of list    zend_array whose elements may be markers; and the objects' serialization
 *   OBJECT                      zend_string: the serialization
 *
 * Pointers in a blob are addresses of the read-only mapping, so that the engine follows them as they are. Strings and
 * arrays look like OPcache's constants (immutable, interned, refcount 2): the engine copies before it writes, and
 * neither counts nor frees them.
 *
 * An object cannot be shared. An array that holds some is MIXED: its object-free parts are shared, and only the arrays
 * on the way to the objects are built at each get. All its objects are one serialized list, so that two elements that
 * are the same object are so again; a marker is the number of one in that list.
 *
 * A value is gone through twice, in the same order: once to know how much room it takes, once to write it. Neither time
 * by recursion: arrays may be nested deeper than the stack is.
 */
#ifndef LARDER_PERSIST_H
#define LARDER_PERSIST_H

#include "php_larder.h"
#include "ext/standard/basic_functions.h"

enum { LARDER_NIL = 1, LARDER_NO, LARDER_YES, LARDER_INTEGER, LARDER_FLOAT, LARDER_STRING, LARDER_ARRAY, LARDER_MIXED, LARDER_OBJECT };

/* The type of a zval that stands for an object: none that the engine knows, and no reader but readout.c sees it. */
#define LARDER_MARKER 0x5f

/*
 * What is noted of an array in a byte of zend_array that PHP does not use: that it holds a marker, itself or deeper; that it
 * occurs more than once in its value, so that whoever builds it builds it once.
 */
#define LARDER_NOTES(ht) ((ht)->u.v._unused)
#define LARDER_PATH 1
#define LARDER_TWICE 2

/* An array that is being gone through: from where to where, and which element is next. */
typedef struct {
	const zend_array *from;
	zend_array *to;
	uint32_t next;
	bool gaps;                  /* elements were left out that the copied hash still names */
} larder_level;

/* The arrays from the outermost to the one at work. */
typedef struct {
	larder_level *levels;
	uint32_t depth, room;
	larder_level few[16];
} larder_stack;

/* A string or an array that may occur twice in the value, by its address; and where its copy is. */
typedef struct {
	const void *from;
	void *to;
} larder_twice;

typedef struct {
	uint16_t kind;
	bool looked;                /* what is below was set up */
	zval *value;
	zend_string *serialized;    /* of the objects, or of the whole */
	size_t bytes;
	larder_stack stack;
	larder_twice *twice;        /* a hash table with open addressing; NULL while it is empty */
	uint32_t twice_used, twice_mask;
	HashTable objects;          /* of a MIXED value, in the order of their markers */
	larder_twice few[64];
} larder_plan;

/* Looks at all of a value. False: an exception is thrown, and nothing has changed. */
bool larder_plan_make(larder_plan *plan, zval *value);
void larder_plan_free(larder_plan *plan);

/* Of so many bytes the first reader of a string finds out whether it is UTF-8, and notes it: its writer would take half as long again. */
#define LARDER_LONG 1024
/* A long string's number until then. */
#define LARDER_UNREAD 1

bool larder_is_utf8(const zend_string *string);

/* Puts it into a block that has plan->bytes at `room`. Cannot fail: it calls nothing of the engine that could. */
void larder_persist(larder_plan *plan, seg *segment, seg_item *item);

/* Room for one more level. Of the engine's memory: not under a lock. */
static inline larder_level *larder_push(larder_stack *stack)
{
	if (UNEXPECTED(stack->depth == stack->room)) {
		size_t more = (size_t) stack->room * 2;
		larder_level *levels = safe_emalloc(more, sizeof *levels, 0);
		memcpy(levels, stack->levels, stack->depth * sizeof *levels);
		if (stack->levels != stack->few) {
			efree(stack->levels);
		}
		stack->levels = levels;
		stack->room = (uint32_t) more;
	}

	return &stack->levels[stack->depth++];
}

static inline void larder_stack_init(larder_stack *stack)
{
	stack->levels = stack->few;
	stack->room = sizeof stack->few / sizeof *stack->few;
	stack->depth = 0;
}

static inline void larder_stack_free(larder_stack *stack)
{
	if (stack->levels != stack->few) {
		efree(stack->levels);
	}
}

/*
 * Around the engine's serializer, which runs objects' code. Code that the serializer runs for another value (Serializable's
 * methods, an error handler) may have come here: then it would take ours for a part of that value, and count its
 * references from there (php_var_serialize_init()). So it begins with nothing. If a fatal error leaves in between, the
 * engine forgets all of it when the next request begins.
 */
typedef struct {
	unsigned lock, out_level, in_level;
	struct php_serialize_data *out;
	struct php_unserialize_data *in;
} larder_apart;

static inline larder_apart larder_set_apart(void)
{
	larder_apart outer = {BG(serialize_lock), BG(serialize).level, BG(unserialize).level, BG(serialize).data, BG(unserialize).data};

	BG(serialize_lock) = BG(serialize).level = BG(unserialize).level = 0;
	BG(serialize).data = NULL;
	BG(unserialize).data = NULL;
	LARDER_G(at_work)++;

	return outer;
}

static inline void larder_put_back(const larder_apart *outer)
{
	LARDER_G(at_work)--;
	BG(serialize_lock) = outer->lock;
	BG(serialize).level = outer->out_level;
	BG(unserialize).level = outer->in_level;
	BG(serialize).data = outer->out;
	BG(unserialize).data = outer->in;
}

/* readout.c. False: an exception is thrown (an object's class would not be made). */
bool larder_read_in_place(seg *segment, const seg_item *item, zval *to);
bool larder_read_copy(seg *segment, const seg_item *item, zval *to);

#endif
