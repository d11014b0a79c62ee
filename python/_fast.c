/* tutti._fast: the calls that programs make most often, without ctypes.
 *
 * A method of Calls runs a call, or returns NotImplemented where the caller must take the general
 * way: options, numbers, arrays that are not plain memory of the host, and wrong arguments, which
 * get their errors there. The module finds functions of libtutti_c.so by addresses that Python
 * passes to bind.
 *
 * All state is guarded by the GIL. A call that blocks gives the GIL back, and between slices its
 * turn.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <stdint.h>
#include <string.h>
#include <tutti.h>

#include "_fast_arrays.h"
#include "_fast_exports.h"
#include "_fast_pickles.h"
#include "_fast_turn.h"

/* Bound by Python. */
static tutti_status (*run_for)(tutti_communicator*, const tutti_call*, const tutti_options*,
                               int64_t, tutti_request**);
static tutti_status (*wait_for)(tutti_request*, int64_t);
static tutti_status (*test)(tutti_request*);
static void (*request_free)(tutti_request*);
static PyObject* fail;                /* raises the last error of the thread */
static PyObject* operators;           /* dict: name -> number */
static PyObject* visible_memory;      /* list, empty if no memory is visible */
static PyObject* is_visible;          /* whether an address is visible */
static tutti_options visible_options; /* options of calls on visible memory */
static int open_batches = 0;          /* the number of open batches of all threads */
static PyObject* name_value;

/* The calls of one communicator. */

typedef struct {
  PyObject_HEAD PyObject* handle; /* whose value is the communicator, or None after its end */
  Turn* turn;
  long rank;
  int copies_bytes; /* whether messages and broadcasts are bytes, for arrays of any type */
} Calls;

enum { kNotHere = -2 };

static PyObject* not_here(void) {
  return Py_NewRef(Py_NotImplemented);
}

/* Returns the pointer of a handle, or NULL, maybe with an exception. */
static void* pointer_of(PyObject* handle) {
  PyObject* const number = PyObject_GetAttr(handle, name_value);
  void* const pointer = number == NULL || number == Py_None ? NULL : PyLong_AsVoidPtr(number);
  Py_XDECREF(number);
  return pointer;
}

/* Waits for a call until it has ended. Returns its status, or -1 with an exception. */
static int finish(Turn* turn, tutti_request* request, int status) {
  while (status == TUTTI_PENDING) {
    if (pass_turn(turn) < 0) return -1;
    Py_BEGIN_ALLOW_THREADS status = wait_for(request, turn->slice);
    Py_END_ALLOW_THREADS
  }
  return status;
}

/* Returns whether options are needed for visible memory, or -1 with an exception. */
static int sees(const Array* array) {
  PyObject *address, *answer;
  int result;
  if (array == NULL || PyList_Size(visible_memory) <= 0) return 0;
  address = PyLong_FromVoidPtr(array->data);
  answer = address == NULL ? NULL : PyObject_CallFunctionObjArgs(is_visible, address, NULL);
  result = answer == NULL ? -1 : PyObject_IsTrue(answer);
  Py_XDECREF(answer);
  Py_XDECREF(address);
  return result;
}

/* Runs a call. Returns a status, -1 with an exception, or kNotHere. */
static int run(Calls* self, const tutti_call* call, const Array* key) {
  Turn* const turn = self->turn;
  tutti_communicator* communicator;
  tutti_request* pending = NULL;
  const int is_seen = sees(key);
  int status;
  if (is_seen < 0) return -1;
  if (!turn_try(turn, PyThread_get_thread_ident())) return kNotHere;
  communicator = turn->depth > 1 ? NULL : pointer_of(self->handle);
  if (communicator == NULL) {
    turn_leave(turn);
    return PyErr_Occurred() ? -1 : kNotHere;
  }
  Py_BEGIN_ALLOW_THREADS status =
      run_for(communicator, call, is_seen ? &visible_options : NULL, turn->slice, &pending);
  Py_END_ALLOW_THREADS if (status == TUTTI_PENDING) status = finish(turn, pending, status);
  if (pending != NULL) request_free(pending); /* a pending one fails its communicator */
  turn_leave(turn);
  return status;
}

/* Ends a call on arrays. result: a borrowed object that it returns. A wrong call has had no effect:
 * the general way finds what is wrong. */
static PyObject* ended(int status, Array* first, Array* second, PyObject* result) {
  if (first != NULL) release(first);
  if (second != NULL) release(second);
  if (status == TUTTI_OK) return Py_NewRef(result);
  if (status == kNotHere || status == TUTTI_INVALID_ARGUMENT) return not_here();
  return status == -1 ? NULL : PyObject_CallNoArgs(fail);
}

/* Returns whether x and out are arrays of one type. If not, both are released. */
static int read_pair(PyObject* x, PyObject* out, Array* from, Array* to) {
  if (!read_array(x, out == x, from)) {
    release(from);
    return 0;
  }
  if (out == x) {
    *to = *from;
    to->view.obj = NULL;
    return 1;
  }
  if (read_array(out, 1, to) && to->type == from->type) return 1;
  release(from);
  release(to);
  return 0;
}

/* Runs a collective on two arrays. Returns not_here() without out, or without an operator of the
 * name. */
static PyObject* run_pair(PyObject* self, tutti_collective collective, PyObject* x, PyObject* out,
                          PyObject* op) {
  Array from, to;
  tutti_call call = {.size = sizeof call, .collective = collective};
  if (open_batches > 0) return not_here();
  if (op != NULL) {
    PyObject* const number =
        PyUnicode_CheckExact(op) ? PyDict_GetItemWithError(operators, op) : NULL;
    if (number == NULL) return PyErr_Occurred() ? NULL : not_here();
    call.op = (tutti_op)PyLong_AsLong(number);
  }
  if (!read_pair(x, out, &from, &to)) return not_here();
  call.type = from.type;
  call.in = from.data;
  call.in_count = from.count;
  call.out = to.data;
  call.out_count = to.count;
  return ended(run((Calls*)self, &call, &from), &from, &to, out);
}

/* Runs a call on one array. peer: the root, or the other rank. */
static PyObject* run_one(PyObject* self, tutti_call* call, PyObject* x, int is_written,
                         PyObject* result) {
  Array array;
  if (open_batches > 0) return not_here();
  if (!read_array(x, is_written, &array)) {
    release(&array);
    return not_here();
  }
  if (((Calls*)self)->copies_bytes) {
    array.count *= array.item_bytes;
    array.type = TUTTI_U8;
  }
  call->size = sizeof *call;
  call->type = array.type;
  if (call->collective != TUTTI_RECV) call->in = array.data, call->in_count = array.count;
  if (call->collective != TUTTI_SEND) call->out = array.data, call->out_count = array.count;
  return ended(run((Calls*)self, call, &array), &array, NULL, result);
}

/* Returns whether an argument is a number of 32 bits. */
static int read_number(PyObject* object, int32_t* number) {
  const long value = PyLong_CheckExact(object) ? PyLong_AsLong(object) : -2;
  if (value == -1) PyErr_Clear();
  *number = (int32_t)value;
  return value >= 0 && value <= INT32_MAX;
}

/* Arguments are positional, and all are there: the module is called by Python code of tutti only.
 */
static int has_arguments(Py_ssize_t count, Py_ssize_t wanted) {
  if (count == wanted) return 1;
  PyErr_Format(PyExc_TypeError, "%zd arguments, expected %zd", count, wanted);
  return 0;
}

static PyObject* all_reduce(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (!has_arguments(count, 3)) return NULL;
  return run_pair(self, TUTTI_ALL_REDUCE, args[0], args[1] == Py_None ? args[0] : args[1], args[2]);
}

static PyObject* all_gather(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (!has_arguments(count, 2)) return NULL;
  if (args[1] == Py_None || args[1] == args[0]) return not_here();
  return run_pair(self, TUTTI_ALL_GATHER, args[0], args[1], NULL);
}

static PyObject* reduce_scatter(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (!has_arguments(count, 3)) return NULL;
  if (args[1] == args[0]) return not_here();
  return run_pair(self, TUTTI_REDUCE_SCATTER, args[0], args[1], args[2]);
}

static PyObject* broadcast(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  tutti_call call = {.collective = TUTTI_BROADCAST};
  if (!has_arguments(count, 2)) return NULL;
  if (!read_number(args[1], &call.root)) return not_here();
  return run_one(self, &call, args[0], call.root != ((Calls*)self)->rank, args[0]);
}

static PyObject* send(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  tutti_call call = {.collective = TUTTI_SEND};
  if (!has_arguments(count, 3)) return NULL;
  if (!read_number(args[1], &call.to) || !read_number(args[2], &call.tag)) return not_here();
  return run_one(self, &call, args[0], 0, Py_None);
}

static PyObject* recv(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  tutti_call call = {.collective = TUTTI_RECV};
  if (!has_arguments(count, 3)) return NULL;
  if (!read_number(args[1], &call.from) || !read_number(args[2], &call.tag)) return not_here();
  return run_one(self, &call, args[0], 1, args[0]);
}

static PyObject* copy_bytes(PyObject* self, PyObject* none) {
  (void)none;
  ((Calls*)self)->copies_bytes = 1;
  Py_RETURN_NONE;
}

static PyObject* barrier(PyObject* self, PyObject* none) {
  const tutti_call call = {.size = sizeof call, .collective = TUTTI_BARRIER};
  (void)none;
  if (open_batches > 0) return not_here();
  return ended(run((Calls*)self, &call, NULL), NULL, NULL, Py_None);
}

/* Tests or awaits a request of this communicator, by its handle. Returns True if it has ended. */
static PyObject* run_request(Calls* self, PyObject* handle, int may_wait) {
  Turn* const turn = self->turn;
  tutti_request* request;
  int status;
  if (!turn_try(turn, PyThread_get_thread_ident())) return not_here();
  request = turn->depth > 1 ? NULL : pointer_of(handle);
  if (request == NULL) {
    turn_leave(turn);
    return PyErr_Occurred() ? NULL : not_here();
  }
  Py_BEGIN_ALLOW_THREADS status = may_wait ? wait_for(request, turn->slice) : test(request);
  Py_END_ALLOW_THREADS if (may_wait && status == TUTTI_PENDING) status =
      finish(turn, request, status);
  turn_leave(turn);
  if (status == TUTTI_PENDING) Py_RETURN_FALSE;
  return ended(status, NULL, NULL, Py_True);
}

static PyObject* wait_request(PyObject* self, PyObject* handle) {
  return run_request((Calls*)self, handle, 1);
}

static PyObject* test_request(PyObject* self, PyObject* handle) {
  return run_request((Calls*)self, handle, 0);
}

#include "_fast_objects.h"

static PyObject* Calls_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject *handle, *turn;
  long rank;
  Calls* self;
  (void)kwargs;
  if (!PyArg_ParseTuple(args, "OOl", &handle, &turn, &rank)) return NULL;
  if (PyType_GetSlot(Py_TYPE(turn), Py_tp_new) != (void*)Turn_new) {
    PyErr_SetString(PyExc_TypeError, "turn is no tutti._fast.Turn");
    return NULL;
  }
  self = (Calls*)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == NULL) return NULL;
  self->handle = Py_NewRef(handle);
  self->turn = (Turn*)Py_NewRef(turn);
  self->rank = rank;
  self->copies_bytes = 0;
  return (PyObject*)self;
}

static void Calls_dealloc(PyObject* self) {
  Py_XDECREF(((Calls*)self)->handle);
  Py_XDECREF((PyObject*)((Calls*)self)->turn);
  free_object(self);
}

/* Signatures are in the form that inspect reads, and _fast.pyi has the same. */
#define FAST(name, arguments)                                \
  {                                                          \
#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, \
        #name "($self, " arguments ", /)\n--\n\n"            \
  }
static PyMethodDef call_methods[] = {
    FAST(all_reduce, "x, out, op"),
    FAST(all_gather, "x, out"),
    FAST(reduce_scatter, "x, out, op"),
    FAST(broadcast, "x, root"),
    FAST(send, "x, to, tag"),
    FAST(recv, "out, source, tag"),
    FAST(objects, "kind, root, peer, tag, given"),
    {"copy_bytes", copy_bytes, METH_NOARGS,
     "copy_bytes($self, /)\n--\n\nMakes messages and broadcasts bytes from now on, for any types."},
    {"barrier", barrier, METH_NOARGS, "barrier($self, /)\n--\n\n"},
    {"wait", wait_request, METH_O,
     "wait($self, handle, /)\n--\n\nhandle: of a request. Returns True."},
    {"test", test_request, METH_O,
     "test($self, handle, /)\n--\n\nhandle: of a request. Returns whether it has ended."},
    {NULL, NULL, 0, NULL}};
static PyType_Slot call_slots[] = {{Py_tp_new, (void*)Calls_new},
                                   {Py_tp_dealloc, (void*)Calls_dealloc},
                                   {Py_tp_methods, call_methods},
                                   {0, NULL}};
static PyType_Spec call_spec = {"tutti._fast.Calls", sizeof(Calls), 0, Py_TPFLAGS_DEFAULT,
                                call_slots};

/* The module. */

static PyObject* bind(PyObject* module, PyObject* args) {
  PyObject *raise, *names, *visible, *seen;
  unsigned long long run_address, wait_address, test_address, free_address, options_address;
  (void)module;
  if (!PyArg_ParseTuple(args, "KKKKKOO!O!O", &run_address, &wait_address, &test_address,
                        &free_address, &options_address, &raise, &PyDict_Type, &names, &PyList_Type,
                        &visible, &seen))
    return NULL;
  *(void**)&run_for = (void*)(uintptr_t)run_address;
  *(void**)&wait_for = (void*)(uintptr_t)wait_address;
  *(void**)&test = (void*)(uintptr_t)test_address;
  *(void**)&request_free = (void*)(uintptr_t)free_address;
  memcpy(&visible_options, (const void*)(uintptr_t)options_address, sizeof visible_options);
  fail = Py_NewRef(raise);
  operators = Py_NewRef(names);
  visible_memory = Py_NewRef(visible);
  is_visible = Py_NewRef(seen);
  Py_RETURN_NONE;
}

static PyObject* count_batches(PyObject* module, PyObject* more) {
  const long number = PyLong_AsLong(more);
  (void)module;
  if (number == -1 && PyErr_Occurred()) return NULL;
  open_batches += (int)number;
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"bind", bind, METH_VARARGS,
     "bind($module, run_for, wait_for, test, request_free, options, fail, operators, visible, "
     "is_visible, /)\n--\n\n"
     "Addresses of functions of libtutti_c.so, and of the tutti_options of visible memory; a "
     "function that\n"
     "raises the last error; the numbers of operators; the spans of visible memory, and what is "
     "visible."},
    {"bind_objects", bind_objects, METH_VARARGS,
     "bind_objects($module, start, wait_for, count, get, free, probe, call, pickler, pieces, join, "
     "loads, "
     "loads_with_buffers, fail, new_handle, /)\n--\n\n"
     "Addresses of functions of libtutti_c.so, and of a tutti_object_call with the members that "
     "are the same in all calls. Functions of tutti._pickles."},
    {"count_batches", count_batches, METH_O,
     "count_batches($module, more, /)\n--\n\n"
     "more: 1 or -1. While batches are open, all calls return NotImplemented."},
    {"free_exports_by", free_exports_by, METH_O,
     "free_exports_by($module, forget, /)\n--\n\n"
     "Returns the addresses of a deleter and a destructor of capsules, for tensors of DLPack. "
     "They\n"
     "call forget(address of a managed tensor)."},
    {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "tutti._fast", NULL, -1, functions, NULL, NULL, NULL, NULL};

static int add_type(PyObject* module, const char* name, PyType_Spec* spec) {
  PyObject* const type = PyType_FromSpec(spec);
  const int result = type == NULL ? -1 : PyModule_AddObjectRef(module, name, type);
  Py_XDECREF(type);
  return result;
}

PyMODINIT_FUNC PyInit__fast(void) {
  PyObject* const module = PyModule_Create(&definition);
  if (module == NULL) return NULL;
  name_value = PyUnicode_InternFromString("value");
  if (name_value != NULL && make_names() == 0 && make_pickle_names() == 0 &&
      add_type(module, "Turn", &turn_spec) == 0 && add_type(module, "Calls", &call_spec) == 0)
    return module;
  Py_DECREF(module);
  return NULL;
}
