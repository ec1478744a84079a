/*
 * A PHP value in the form in which the engine reads it, inside a block of the segment.
 *
 *   kind      number            blob
 *   NIL…YES                                          null, false, true
 *   INTEGER   the integer
 *   FLOAT     its bits
 *   STRING                      zend_string
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
 */
#ifndef LARDER_PERSIST_H
#define LARDER_PERSIST_H

#include "php.h"
#include "segment/segment.h"

enum { LARDER_NIL = 1, LARDER_NO, LARDER_YES, LARDER_INTEGER, LARDER_FLOAT, LARDER_STRING, LARDER_ARRAY, LARDER_MIXED, LARDER_OBJECT };

/* The type of a zval that stands for an object: none that the engine knows, and no reader but readout.c sees it. */
#define LARDER_MARKER 0x5f

/* Of an array that holds a marker, itself or deeper: in a byte of zend_array that is nobody's. */
#define LARDER_PATH(ht) ((ht)->u.v._unused)

typedef struct {
	uint16_t kind;
	zval *value;
	zend_string *serialized;    /* of the objects, or of the whole */
	HashTable seen;             /* strings and arrays by their address: what occurs twice is stored once */
	HashTable objects;          /* of a MIXED value, in the order of their markers */
	size_t bytes;
} larder_plan;

/* Looks at all of a value. False: an exception is thrown, and nothing has changed. */
bool larder_plan_make(larder_plan *plan, zval *value);
void larder_plan_free(larder_plan *plan);

/* Puts it into a block that has plan->bytes at `room`. Cannot fail: it calls nothing of the engine that could. */
void larder_persist(larder_plan *plan, seg *segment, seg_item *item);

/* readout.c. False: an exception is thrown (an object's class would not be made). */
bool larder_read_in_place(seg *segment, const seg_item *item, zval *to);
bool larder_read_copy(seg *segment, const seg_item *item, zval *to);

#endif
