/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: cc4fc7126beadad6272b39341d154751a292a451 */

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Larder_Segment___construct, 0, 0, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Larder_Segment_open, 0, 1, Larder\\Segment, 0)
	ZEND_ARG_TYPE_INFO(0, path, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, bytes, IS_LONG, 0, "67108864")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Larder_Segment_build, 0, 0, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Larder_Segment_get, 0, 1, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, default, IS_MIXED, 0, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Larder_Segment_getMultiple, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, keys, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Larder_Segment_set, 0, 2, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, value, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, ttl, IS_LONG, 0, "0")
ZEND_END_ARG_INFO()

#define arginfo_class_Larder_Segment_add arginfo_class_Larder_Segment_set

#define arginfo_class_Larder_Segment_replace arginfo_class_Larder_Segment_set

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Larder_Segment_has, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Larder_Segment_delete arginfo_class_Larder_Segment_has

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Larder_Segment_increment, 0, 1, MAY_BE_LONG|MAY_BE_FALSE)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, by, IS_LONG, 0, "1")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, initial, IS_LONG, 0, "0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, ttl, IS_LONG, 0, "0")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Larder_Segment_flush, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Larder_Segment_trim, 0, 0, IS_VOID, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Larder_Segment_release arginfo_class_Larder_Segment_trim

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Larder_Segment_fill, 0, 6, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, value, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, ttl, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, position, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, guard, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, at, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Larder_Segment_raise, 0, 2, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, to, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Larder_Segment_drop, 0, 2, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, position, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Larder_Segment_stats, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Larder_Segment_check, 0, 0, IS_STRING, 1)
ZEND_END_ARG_INFO()

#define arginfo_class_Larder_Request_HitPath_get arginfo_class_Larder_Segment_get


ZEND_METHOD(Larder_Segment, __construct);
ZEND_METHOD(Larder_Segment, open);
ZEND_METHOD(Larder_Segment, build);
ZEND_METHOD(Larder_Segment, get);
ZEND_METHOD(Larder_Segment, getMultiple);
ZEND_METHOD(Larder_Segment, set);
ZEND_METHOD(Larder_Segment, add);
ZEND_METHOD(Larder_Segment, replace);
ZEND_METHOD(Larder_Segment, has);
ZEND_METHOD(Larder_Segment, delete);
ZEND_METHOD(Larder_Segment, increment);
ZEND_METHOD(Larder_Segment, flush);
ZEND_METHOD(Larder_Segment, trim);
ZEND_METHOD(Larder_Segment, release);
ZEND_METHOD(Larder_Segment, fill);
ZEND_METHOD(Larder_Segment, raise);
ZEND_METHOD(Larder_Segment, drop);
ZEND_METHOD(Larder_Segment, stats);
ZEND_METHOD(Larder_Segment, check);


static const zend_function_entry class_Larder_Segment_methods[] = {
	ZEND_ME(Larder_Segment, __construct, arginfo_class_Larder_Segment___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Larder_Segment, open, arginfo_class_Larder_Segment_open, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Larder_Segment, build, arginfo_class_Larder_Segment_build, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Larder_Segment, get, arginfo_class_Larder_Segment_get, ZEND_ACC_PUBLIC)
	ZEND_ME(Larder_Segment, getMultiple, arginfo_class_Larder_Segment_getMultiple, ZEND_ACC_PUBLIC)
	ZEND_ME(Larder_Segment, set, arginfo_class_Larder_Segment_set, ZEND_ACC_PUBLIC)
	ZEND_ME(Larder_Segment, add, arginfo_class_Larder_Segment_add, ZEND_ACC_PUBLIC)
	ZEND_ME(Larder_Segment, replace, arginfo_class_Larder_Segment_replace, ZEND_ACC_PUBLIC)
	ZEND_ME(Larder_Segment, has, arginfo_class_Larder_Segment_has, ZEND_ACC_PUBLIC)
	ZEND_ME(Larder_Segment, delete, arginfo_class_Larder_Segment_delete, ZEND_ACC_PUBLIC)
	ZEND_ME(Larder_Segment, increment, arginfo_class_Larder_Segment_increment, ZEND_ACC_PUBLIC)
	ZEND_ME(Larder_Segment, flush, arginfo_class_Larder_Segment_flush, ZEND_ACC_PUBLIC)
	ZEND_ME(Larder_Segment, trim, arginfo_class_Larder_Segment_trim, ZEND_ACC_PUBLIC)
	ZEND_ME(Larder_Segment, release, arginfo_class_Larder_Segment_release, ZEND_ACC_PUBLIC)
	ZEND_ME(Larder_Segment, fill, arginfo_class_Larder_Segment_fill, ZEND_ACC_PUBLIC)
	ZEND_ME(Larder_Segment, raise, arginfo_class_Larder_Segment_raise, ZEND_ACC_PUBLIC)
	ZEND_ME(Larder_Segment, drop, arginfo_class_Larder_Segment_drop, ZEND_ACC_PUBLIC)
	ZEND_ME(Larder_Segment, stats, arginfo_class_Larder_Segment_stats, ZEND_ACC_PUBLIC)
	ZEND_ME(Larder_Segment, check, arginfo_class_Larder_Segment_check, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Larder_SegmentException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Larder_Request_HitPath_methods[] = {
	ZEND_ABSTRACT_ME_WITH_FLAGS(Larder_Request_HitPath, get, arginfo_class_Larder_Request_HitPath_get, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_FE_END
};

static zend_class_entry *register_class_Larder_Segment(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Larder", "Segment", class_Larder_Segment_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;

	return class_entry;
}

static zend_class_entry *register_class_Larder_SegmentException(zend_class_entry *class_entry_RuntimeException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Larder", "SegmentException", class_Larder_SegmentException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);

	return class_entry;
}

static zend_class_entry *register_class_Larder_Request_HitPath(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Larder\\Request", "HitPath", class_Larder_Request_HitPath_methods);
	class_entry = zend_register_internal_interface(&ce);

	zval const_RUN_value;
	ZVAL_LONG(&const_RUN_value, 0);
	zend_string *const_RUN_name = zend_string_init_interned("RUN", sizeof("RUN") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_RUN_name, &const_RUN_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_RUN_name);

	return class_entry;
}
