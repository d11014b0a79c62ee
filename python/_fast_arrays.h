/* Arrays: the elements of arrays of other libraries. Part of _fast.c. */

typedef struct {
  void* data;
  size_t count, item_bytes;
  tutti_datatype type;
  int is_read_only;
  Py_buffer view; /* obj is NULL if there is none */
} Array;

/* As DLPack 1.3 defines them: https://dmlc.github.io/dlpack/latest/c_api.html */
typedef struct {
  void* data;
  int32_t device_type, device_id;
  int32_t dimensions;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} Tensor;
typedef struct {
  uint32_t major, minor;
  void* previous;
  void *allocate, *managed_of, *object_of;
  int (*tensor_of)(void* object, Tensor* tensor);
  void* stream_of;
} ExchangeTable;

static PyObject *name_requires_grad, *name_is_neg, *name_set_mask, *name_exchange, *name_dict;

/* Returns 0, or -1 with an exception. */
static int make_names(void) {
  name_requires_grad = PyUnicode_InternFromString("requires_grad");
  name_is_neg = PyUnicode_InternFromString("is_neg");
  name_set_mask = PyUnicode_InternFromString("__setmask__");
  name_exchange = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  name_dict = PyUnicode_InternFromString("__dict__");
  return name_requires_grad != NULL && name_is_neg != NULL && name_set_mask != NULL &&
                 name_exchange != NULL && name_dict != NULL
             ? 0
             : -1;
}

/* The ways to find the elements of a type's objects. */
typedef struct {
  PyTypeObject* type;
  const ExchangeTable* exchange; /* or NULL */
  int has_buffer, has_gradient, has_negation;
} Importer;
enum { kImporters = 16 };
static Importer importers[kImporters];
static int next_importer = 0;

/* Subclasses may keep their elements elsewhere, so only a type's own table counts. */
static const ExchangeTable* exchange_of(PyTypeObject* type) {
  const ExchangeTable* table = NULL;
  PyObject* const own = PyObject_GetAttr((PyObject*)type, name_dict);
  PyObject* const capsule = own == NULL ? NULL : PyObject_GetItem(own, name_exchange);
  if (capsule != NULL && PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
    table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
  Py_XDECREF(capsule);
  Py_XDECREF(own);
  PyErr_Clear();
  return table != NULL && table->major == 1 && table->tensor_of != NULL ? table : NULL;
}

static Importer importer_of(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  Importer *importer, found;
  PyObject* old;
  int i;
  for (i = 0; i < kImporters; ++i)
    if (importers[i].type == type) return importers[i];
  importer = &importers[next_importer];
  next_importer = (next_importer + 1) % kImporters;
  old = (PyObject*)importer->type;
  importer->type = (PyTypeObject*)Py_NewRef((PyObject*)type);
  importer->has_buffer = /* false for a masked array, whose buffer has no mask */
      PyObject_CheckBuffer(object) && !PyObject_HasAttr((PyObject*)type, name_set_mask);
  importer->exchange = importer->has_buffer ? NULL : exchange_of(type);
  importer->has_gradient = PyObject_HasAttr((PyObject*)type, name_requires_grad);
  importer->has_negation = PyObject_HasAttr((PyObject*)type, name_is_neg);
  found = *importer;
  Py_XDECREF(old);
  return found;
}

/* Returns the type of elements, or -1. kind: 'i', 'u', 'f', 'b' of bfloat16, 'c' of complex, '?'.
 */
static int datatype_of(char kind, size_t bytes) {
  const int power = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : -1;
  if (kind == '?') return bytes == 1 ? TUTTI_BOOL : -1;
  if (kind == 'c') return bytes == 8 ? TUTTI_C32 : bytes == 16 ? TUTTI_C64 : -1;
  if (power < 0) return -1;
  if (kind == 'i') return TUTTI_I8 + power;
  if (kind == 'u') return TUTTI_U8 + power;
  if (kind == 'b') return bytes == 2 ? TUTTI_BF16 : -1;
  if (kind != 'f') return -1;
  return bytes == 2 ? TUTTI_F16 : bytes == 4 ? TUTTI_F32 : bytes == 8 ? TUTTI_F64 : -1;
}

static int datatype_of_format(const char* format, size_t bytes) {
  if (format == NULL) return TUTTI_U8;
  if (*format == '@' || *format == '=' || (*format == '<' && PY_LITTLE_ENDIAN)) ++format;
  if (*format == 'Z' && format[1] != 0 && format[2] == 0) return datatype_of('c', bytes);
  if (*format == 0 || format[1] != 0) return -1;
  if (*format == '?') return datatype_of('?', bytes);
  if (strchr("bhilqn", *format) != NULL) return datatype_of('i', bytes);
  if (strchr("BHILQN", *format) != NULL) return datatype_of('u', bytes);
  return strchr("efd", *format) != NULL ? datatype_of('f', bytes) : -1;
}

/* Both return whether this module can read the array. */

static int read_buffer(PyObject* object, Array* array) {
  int type;
  if (PyObject_GetBuffer(object, &array->view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0) {
    PyErr_Clear();
    array->view.obj = NULL;
    return 0;
  }
  type = datatype_of_format(array->view.format, (size_t)array->view.itemsize);
  if (type < 0) return 0;
  array->data = array->view.buf;
  array->count = (size_t)(array->view.len / array->view.itemsize);
  array->item_bytes = (size_t)array->view.itemsize;
  array->type = (tutti_datatype)type;
  array->is_read_only = array->view.readonly;
  return 1;
}

static int read_tensor(const ExchangeTable* exchange, PyObject* object, Array* array) {
  static const char kinds[] = {'i', 'u', 'f', 0, 'b', 0, '?'};
  Tensor tensor;
  int64_t step = 1;
  int type, i;
  if (exchange->tensor_of(object, &tensor) != 0) {
    PyErr_Clear();
    return 0;
  }
  if (tensor.device_type != 1 || tensor.lanes != 1 || tensor.code >= sizeof kinds) return 0;
  type = datatype_of(kinds[tensor.code], tensor.bits / 8u);
  if (type < 0) return 0;
  for (i = tensor.dimensions - 1; i >= 0; --i) {
    if (tensor.strides != NULL && tensor.shape[i] != 1 && tensor.strides[i] != step) return 0;
    step *= tensor.shape[i];
  }
  array->data = (char*)tensor.data + tensor.byte_offset;
  array->count = (size_t)step;
  array->item_bytes = tensor.bits / 8u;
  array->type = (tutti_datatype)type;
  array->is_read_only = 0;
  return 1;
}

static int needs_gradient(PyObject* object) {
  PyObject* const answer = PyObject_GetAttr(object, name_requires_grad);
  const int is_needed = answer != Py_False;
  Py_XDECREF(answer);
  PyErr_Clear();
  return is_needed;
}

/* Returns whether memory has the negative of the elements, as for the imaginary part of a
 * conjugated array. */
static int is_negated(PyObject* object) {
  PyObject* const method = PyObject_GetAttr(object, name_is_neg);
  PyObject* const answer = method == NULL ? NULL : PyObject_CallNoArgs(method);
  const int is_so = answer != Py_False;
  Py_XDECREF(answer);
  Py_XDECREF(method);
  PyErr_Clear();
  return is_so;
}

static int read_array(PyObject* object, int is_written, Array* array) {
  const Importer importer = importer_of(object);
  array->view.obj = NULL;
  if (importer.has_buffer)
    return read_buffer(object, array) && !(is_written && array->is_read_only);
  if (importer.exchange == NULL || !read_tensor(importer.exchange, object, array)) return 0;
  if (importer.has_negation && is_negated(object)) return 0;
  return !(is_written && importer.has_gradient && needs_gradient(object));
}

static void release(Array* array) {
  if (array->view.obj != NULL) PyBuffer_Release(&array->view);
}
