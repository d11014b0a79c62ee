/* The calls that move objects. Part of _fast.c. */

/* Bound by Python. */
static tutti_status (*objects_start)(tutti_communicator*, const tutti_object_call*,
                                     tutti_objects**);
static tutti_status (*objects_wait_for)(tutti_objects*, int64_t);
static size_t (*objects_count)(const tutti_objects*);
static tutti_status (*objects_get)(const tutti_objects*, size_t, const void**, size_t*);
static void (*objects_free)(tutti_objects*);
static tutti_status (*probe)(tutti_communicator*, int32_t, int32_t, int64_t, tutti_arrival*);
static tutti_object_call object_defaults;
static PyObject* new_handle; /* a handle for an ended call, of its turn */

enum { kAnyRank = -1, kProbe = 1000000 /* nanoseconds */ };

/* The bytes of objects: the memory of buffers. */
typedef struct {
  tutti_object* objects;
  tutti_piece* pieces;
  Py_buffer* views;
  size_t count, view_count;
} Given;

static void free_given(Given* given) {
  while (given->view_count > 0) PyBuffer_Release(&given->views[--given->view_count]);
  PyMem_Free(given->objects);
  PyMem_Free(given->pieces);
  PyMem_Free(given->views);
}

static size_t count_pieces(PyObject* encoded) {
  const Py_ssize_t count = PyList_Size(encoded);
  Py_ssize_t pieces = 0, i;
  for (i = 0; i < count; ++i) pieces += PyList_Size(PyList_GetItem(encoded, i));
  return (size_t)pieces;
}

/* encoded: a list of lists of buffers. Returns 0, or -1 with an exception. */
static int read_given(PyObject* encoded, Given* given) {
  const size_t pieces = count_pieces(encoded);
  size_t i, j;
  given->count = (size_t)PyList_Size(encoded);
  given->objects = PyMem_Malloc(given->count * sizeof *given->objects);
  given->pieces = PyMem_Malloc(pieces * sizeof *given->pieces);
  given->views = PyMem_Malloc(pieces * sizeof *given->views);
  if (given->objects == NULL || given->pieces == NULL || given->views == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  for (i = 0; i < given->count; ++i) {
    PyObject* const object = PyList_GetItem(encoded, (Py_ssize_t)i);
    const size_t count = (size_t)PyList_Size(object);
    given->objects[i] = (tutti_object){given->pieces + given->view_count, count};
    for (j = 0; j < count; ++j, ++given->view_count) {
      Py_buffer* const view = &given->views[given->view_count];
      if (PyObject_GetBuffer(PyList_GetItem(object, (Py_ssize_t)j), view, PyBUF_SIMPLE) < 0)
        return -1;
      given->pieces[given->view_count] = (tutti_piece){view->buf, (size_t)view->len};
    }
  }
  return 0;
}

/* Starts a call in slices, without the GIL. A receive from any rank becomes one from the rank whose
 * message is there. Returns kNotHere if none comes soon. */
static int start_within(tutti_communicator* communicator, tutti_object_call* call, int64_t slice,
                        tutti_objects** received) {
  int status;
  if (call->kind == TUTTI_OBJECT_RECV && call->peer == kAnyRank) {
    tutti_arrival arrival = {.size = sizeof arrival};
    if (probe(communicator, kAnyRank, call->tag, kProbe, &arrival) != TUTTI_OK) return kNotHere;
    call->peer = arrival.from;
  }
  status = objects_start(communicator, call, received);
  if (status == TUTTI_INVALID_ARGUMENT) return kNotHere;
  return status == TUTTI_OK ? objects_wait_for(*received, slice) : status;
}

/* Starts a call. Returns a status (that of its end, if it has ended), -1 with an exception, or
 * kNotHere. received: to be freed, unless NULL. */
static int start_objects(Calls* self, tutti_object_call* call, PyObject* encoded,
                         tutti_objects** received) {
  tutti_communicator* const communicator = self->turn->depth > 1 ? NULL : pointer_of(self->handle);
  Given given = {0};
  int status = -1;
  if (communicator == NULL) return PyErr_Occurred() ? -1 : kNotHere;
  if (read_given(encoded, &given) == 0) {
    call->objects = given.objects;
    call->count = given.count;
    Py_BEGIN_ALLOW_THREADS status = start_within(communicator, call, self->turn->slice, received);
    Py_END_ALLOW_THREADS
  }
  free_given(&given);
  return status;
}

/* Returns the pickles of all objects that came, or NULL as pickle_in. */
static PyObject* pickles_in(const tutti_objects* received) {
  const size_t count = objects_count(received);
  PyObject* const list = PyList_New((Py_ssize_t)count);
  size_t i;
  for (i = 0; list != NULL && i < count; ++i) {
    const void* data;
    size_t bytes;
    PyObject* const pickle = objects_get(received, i, &data, &bytes) == TUTTI_OK
                                 ? pickle_in(data, bytes)
                                 : PyObject_CallNoArgs(fail);
    if (pickle == NULL) {
      Py_DECREF(list);
      return NULL;
    }
    PyList_SetItem(list, (Py_ssize_t)i, pickle);
  }
  return list;
}

/* Returns a handle that owns a call, or NULL with an exception. No Python code runs after the
 * handle owns the call. */
static PyObject* handle_of(Calls* self, tutti_objects* received) {
  PyObject* const handle = PyObject_CallFunctionObjArgs(new_handle, self->turn, NULL);
  PyObject* const address = handle == NULL ? NULL : PyLong_FromVoidPtr(received);
  if (address != NULL && PyObject_SetAttr(handle, name_value, address) == 0) {
    Py_DECREF(address);
    return handle;
  }
  Py_XDECREF(address);
  Py_XDECREF(handle);
  return NULL;
}

/* Runs a call in its turn. Returns a list of pickles, or, if Python must read the received bytes,
 * the handle of the ended call. */
static PyObject* exchange(Calls* self, tutti_object_call* call, PyObject* encoded) {
  Turn* const turn = self->turn;
  tutti_objects* received = NULL;
  PyObject* result = NULL;
  int status;
  if (pointer_of(self->handle) == NULL) /* in a forked child no thread would leave the turn */
    return PyErr_Occurred() ? NULL : not_here();
  if (turn_enter(turn, -1) < 0) return NULL;
  status = start_objects(self, call, encoded, &received);
  while (status == TUTTI_PENDING) {
    if (pass_turn(turn) < 0) status = -1;
    else {
      Py_BEGIN_ALLOW_THREADS status = objects_wait_for(received, turn->slice);
      Py_END_ALLOW_THREADS
    }
  }
  if (status == TUTTI_OK) {
    result = pickles_in(received);
    if (result == NULL && !PyErr_Occurred()) {
      result = handle_of(self, received);
      if (result != NULL) received = NULL;
    }
  } else if (status == kNotHere) {
    result = not_here();
  } else if (status != -1) {
    result = PyObject_CallNoArgs(fail);
  }
  if (received != NULL) objects_free(received); /* a pending one fails its communicator */
  turn_leave(turn);
  return result;
}

/* Encodes objects in place. Returns 0, or -1 with an exception. */
static int encode_all(PyObject* objects) {
  const Py_ssize_t count = PyList_Size(objects);
  Py_ssize_t i;
  for (i = 0; i < count; ++i) {
    PyObject* const pieces = encode(PyList_GetItem(objects, i));
    if (pieces == NULL) return -1;
    PyList_SetItem(objects, i, pieces);
  }
  return 0;
}

/* Decodes pickles in place. sender: of all, or -1 if each rank sent one. Returns 0,
 * or -1 with an exception. */
static int decode_all(PyObject* pickles, long sender) {
  const Py_ssize_t count = PyList_Size(pickles);
  Py_ssize_t i;
  for (i = 0; i < count; ++i) {
    PyObject* const object = decode(PyList_GetItem(pickles, i), sender < 0 ? (long)i : sender);
    if (object == NULL) return -1;
    PyList_SetItem(pickles, i, object);
  }
  return 0;
}

/* Returns the rank whose objects a call receives, or -1 if each rank gives one. */
static long sender_of(const tutti_object_call* call) {
  if (call->kind == TUTTI_OBJECT_RECV) return call->peer;
  return call->kind == TUTTI_OBJECT_BROADCAST || call->kind == TUTTI_OBJECT_SCATTER ? call->root
                                                                                    : -1;
}

/* given: a list of objects, which the function copies. Returns the list of received objects or, if
 * Python must decode them, the handle of the ended call and their sender. Returns not_here() if an
 * object cannot be encoded: the general way then gives all ranks the reason. */
static PyObject* objects(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  tutti_object_call call = object_defaults;
  PyObject *given, *result = NULL;
  int32_t kind;
  if (!has_arguments(count, 5)) return NULL;
  if (!read_number(args[0], &kind) || !read_number(args[1], &call.root) ||
      !(read_number(args[2], &call.peer) || call.peer == kAnyRank) ||
      !read_number(args[3], &call.tag))
    return not_here();
  call.kind = (tutti_object_kind)kind;
  given = PyList_GetSlice(args[4], 0, PY_SSIZE_T_MAX);
  if (given == NULL) return NULL;
  if (encode_all(given) == 0) {
    result = exchange((Calls*)self, &call, given);
  } else if (PyErr_ExceptionMatches(PyExc_Exception)) {
    PyErr_Clear();
    result = not_here();
  }
  Py_DECREF(given);
  if (result == NULL || result == Py_NotImplemented) return result;
  if (!PyList_CheckExact(result)) return Py_BuildValue("Nl", result, sender_of(&call));
  if (decode_all(result, sender_of(&call)) < 0) Py_CLEAR(result);
  return result;
}

static PyObject* bind_objects(PyObject* module, PyObject* args) {
  unsigned long long start, wait, number, get, release_all, look, call;
  PyObject *functions[7],
      **const bound[] = {&pickler_type,       &pieces_type,    &join_buffers, &loads,
                         &loads_with_buffers, &fail_to_decode, &new_handle};
  int i;
  (void)module;
  if (!PyArg_ParseTuple(args, "KKKKKKKOOOOOOO", &start, &wait, &number, &get, &release_all, &look,
                        &call, &functions[0], &functions[1], &functions[2], &functions[3],
                        &functions[4], &functions[5], &functions[6]))
    return NULL;
  *(void**)&objects_start = (void*)(uintptr_t)start;
  *(void**)&objects_wait_for = (void*)(uintptr_t)wait;
  *(void**)&objects_count = (void*)(uintptr_t)number;
  *(void**)&objects_get = (void*)(uintptr_t)get;
  *(void**)&objects_free = (void*)(uintptr_t)release_all;
  *(void**)&probe = (void*)(uintptr_t)look;
  memcpy(&object_defaults, (const void*)(uintptr_t)call, sizeof object_defaults);
  for (i = 0; i < 7; ++i) *bound[i] = Py_NewRef(functions[i]);
  Py_RETURN_NONE;
}
