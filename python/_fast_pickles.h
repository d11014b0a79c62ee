/* Pickles of objects, in the form that tutti._pickles describes. Part of _fast.c.
 *
 * A Pickler and its lists are used again, since a new one costs as much as a small pickle. */

enum {
  kHeader = 8,
  kAlignment = 16,
  kReusedBytes =
      1 << 11, /* a larger pickle may have many objects, of which the Pickler keeps a table */
  kCopiedBytes = 1 << 14,
  kSharedBytes = 1 << 20
};

/* Bound by Python. */
static PyObject* pickler_type;       /* pickle.Pickler */
static PyObject* pieces_type;        /* the type of the list to which a Pickler writes */
static PyObject* join_buffers;       /* joins the pieces of a pickle, and its buffers */
static PyObject* loads;              /* pickle.loads */
static PyObject* loads_with_buffers; /* makes the object of a pickle and its buffers */
static PyObject*
    fail_to_decode; /* raises an error; arguments: a result of pickle_in, a sender, a cause */

static PyObject *no_buffers, *name_dump, *name_clear_memo, *name_raw;

static uint64_t padded(uint64_t length) {
  return length + -length % kAlignment;
}

typedef struct {
  PyObject *pickler, *pieces, *buffers;
} Encoder;
static Encoder idle_encoder;

static int make_pickle_names(void) {
  static const char zeros[kHeader];
  no_buffers = PyBytes_FromStringAndSize(zeros, kHeader);
  name_dump = PyUnicode_InternFromString("dump");
  name_clear_memo = PyUnicode_InternFromString("clear_memo");
  name_raw = PyUnicode_InternFromString("raw");
  return no_buffers != NULL && name_dump != NULL && name_clear_memo != NULL && name_raw != NULL
             ? 0
             : -1;
}

/* The callback of a Pickler: True if a buffer is copied into the pickle, since it is small or not
 * contiguous. */
static PyObject* add_buffer(PyObject* buffers, PyObject* buffer) {
  Py_buffer view;
  Py_ssize_t bytes;
  PyObject* raw;
  int result;
  if (PyObject_GetBuffer(buffer, &view, PyBUF_ANY_CONTIGUOUS) < 0) {
    if (!PyErr_ExceptionMatches(PyExc_BufferError)) return NULL;
    PyErr_Clear();
    Py_RETURN_TRUE;
  }
  bytes = view.len;
  PyBuffer_Release(&view);
  if (bytes < kCopiedBytes) Py_RETURN_TRUE;
  raw = PyObject_CallMethodObjArgs(buffer, name_raw, NULL);
  result = raw == NULL ? -1 : PyList_Append(buffers, raw);
  Py_XDECREF(raw);
  if (result < 0) return NULL;
  Py_RETURN_FALSE;
}
static PyMethodDef add_buffer_method = {"add_buffer", add_buffer, METH_O, NULL};

static void free_encoder(Encoder* encoder) {
  Py_CLEAR(encoder->pickler);
  Py_CLEAR(encoder->pieces);
  Py_CLEAR(encoder->buffers);
}

/* Returns whether there is an encoder; sets an exception if not. */
static int borrow_encoder(Encoder* encoder) {
  PyObject *callback, *args;
  *encoder = idle_encoder;
  memset(&idle_encoder, 0, sizeof idle_encoder);
  if (encoder->pickler != NULL) return 1;
  encoder->pieces = PyObject_CallNoArgs(pieces_type);
  encoder->buffers = PyList_New(0);
  callback =
      encoder->buffers == NULL ? NULL : PyCFunction_New(&add_buffer_method, encoder->buffers);
  args = callback == NULL || encoder->pieces == NULL
             ? NULL
             : Py_BuildValue("OiOO", encoder->pieces, 5, Py_True, callback);
  if (args != NULL) encoder->pickler = PyObject_Call(pickler_type, args, NULL);
  Py_XDECREF(args);
  Py_XDECREF(callback);
  if (encoder->pickler != NULL) return 1;
  free_encoder(encoder);
  return 0;
}

/* Keeps an encoder for the next object. */
static void return_encoder(Encoder* encoder) {
  PyObject* const answer = PyObject_CallMethodObjArgs(encoder->pickler, name_clear_memo, NULL);
  if (answer == NULL || PyList_SetSlice(encoder->pieces, 0, PY_SSIZE_T_MAX, NULL) < 0 ||
      idle_encoder.pickler != NULL) {
    PyErr_Clear();
    free_encoder(encoder);
  } else {
    idle_encoder = *encoder;
    memset(encoder, 0, sizeof *encoder);
  }
  Py_XDECREF(answer);
}

/* Returns a list of the pieces of an object, or NULL with an exception. */
static PyObject* encode(PyObject* object) {
  Encoder encoder;
  PyObject *answer, *result = NULL;
  if (!borrow_encoder(&encoder)) return NULL;
  answer = PyObject_CallMethodObjArgs(encoder.pickler, name_dump, object, NULL);
  if (answer != NULL) {
    PyObject* const first = PyList_GetItem(encoder.pieces, 0);
    if (PyList_Size(encoder.pieces) == 1 && PyList_Size(encoder.buffers) == 0 &&
        PyObject_Size(first) < kCopiedBytes) {
      result = PyList_New(2);
      if (result != NULL) {
        PyList_SetItem(result, 0, Py_NewRef(no_buffers));
        PyList_SetItem(result, 1, Py_NewRef(first));
      }
      if (result != NULL && PyObject_Size(first) < kReusedBytes) return_encoder(&encoder);
    } else {
      result = PyObject_CallFunctionObjArgs(join_buffers, encoder.pieces, encoder.buffers, NULL);
    }
  }
  Py_XDECREF(answer);
  free_encoder(&encoder);
  return result;
}

/* Returns copies of the buffers behind a pickle, or NULL with an exception. lengths: of the
 * buffers; unaligned. */
static PyObject* copied_buffers(const char* lengths, size_t count, const char* buffer) {
  PyObject* const list = PyList_New((Py_ssize_t)count);
  size_t i;
  for (i = 0; list != NULL && i < count; ++i) {
    uint64_t length;
    PyObject* copy;
    memcpy(&length, lengths + i * sizeof length, sizeof length);
    copy = PyByteArray_FromStringAndSize(buffer, (Py_ssize_t)length);
    if (copy == NULL) {
      Py_DECREF(list);
      return NULL;
    }
    PyList_SetItem(list, (Py_ssize_t)i, copy);
    buffer += padded(length);
  }
  return list;
}

/* Returns the pickle in received bytes and a list of its buffers, or the pickle alone if it has
 * none. Returns NULL without an exception if Python must read the bytes, because they are large or
 * wrong. */
static PyObject* pickle_in(const char* data, size_t bytes) {
  uint64_t count, length;
  size_t begin, left, i;
  if (bytes < kHeader || bytes >= kSharedBytes) return NULL;
  memcpy(&count, data, sizeof count);
  if (count >= bytes / kHeader) return NULL;
  begin = (size_t)(count + 1) * kHeader;
  left = bytes - begin;
  for (i = 1; i <= count; ++i) {
    memcpy(&length, data + i * kHeader, sizeof length);
    if (length > left || padded(length) > left) return NULL;
    left -= padded(length);
  }
  if (count == 0) return PyBytes_FromStringAndSize(data + begin, (Py_ssize_t)left);
  return Py_BuildValue("y#N", data + begin, (Py_ssize_t)left,
                       copied_buffers(data + kHeader, count, data + begin + left));
}

/* Returns the object of a result of pickle_in, or NULL with an exception. sender: a rank. */
static PyObject* decode(PyObject* pickle, long sender) {
  PyObject *type, *value, *trace;
  PyObject* const object = PyBytes_CheckExact(pickle)
                               ? PyObject_CallFunctionObjArgs(loads, pickle, NULL)
                               : PyObject_CallObject(loads_with_buffers, pickle);
  if (object != NULL || !PyErr_ExceptionMatches(PyExc_Exception)) return object;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != NULL) PyException_SetTraceback(value, trace);
  Py_XDECREF(PyObject_CallFunction(fail_to_decode, "OlO", pickle, sender, value));
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return NULL;
}
