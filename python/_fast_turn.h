/* Turns: the right to use a communicator, which one thread has at a time. A thread that gives its
 * turn back and asks again comes after the threads that wait. The GIL guards the members. Part of
 * _fast.c. */

static const int64_t kSlice = 50000000; /* nanoseconds between two looks for signals */
static const int64_t kSharedSlice =
    1000000; /* the slice if several threads wait for each other's slices */

typedef struct {
  PyObject_HEAD PyThread_type_lock next, now;
  unsigned long owner, last; /* threads, or 0 */
  int depth, waiters;
  int64_t slice;
} Turn;

static int turn_try(Turn* turn, unsigned long thread) {
  if (turn->owner == thread) {
    ++turn->depth;
    return 1;
  }
  if (turn->waiters > 0 || !PyThread_acquire_lock(turn->now, NOWAIT_LOCK)) return 0;
  turn->owner = thread;
  turn->depth = 1;
  if (turn->last != thread) {
    turn->slice = turn->last == 0 ? kSlice : kSharedSlice;
    turn->last = thread;
  }
  return 1;
}

static void turn_leave(Turn* turn) {
  if (--turn->depth > 0) return;
  turn->owner = 0;
  PyThread_release_lock(turn->now);
}

/* Returns 1, 0 after microseconds (-1: no limit), or -1 with an exception, such as that of Ctrl-C.
 */
static int lock_within(PyThread_type_lock lock, long long microseconds) {
  const long long slice = kSlice / 1000;
  for (;;) {
    const long long now = microseconds < 0 || microseconds > slice ? slice : microseconds;
    PyLockStatus status;
    Py_BEGIN_ALLOW_THREADS status = PyThread_acquire_lock_timed(lock, now, 0);
    Py_END_ALLOW_THREADS if (status == PY_LOCK_ACQUIRED) return 1;
    if (PyErr_CheckSignals() < 0) return -1;
    if (microseconds >= 0 && (microseconds -= now) <= 0) return 0;
  }
}

static int turn_enter(Turn* turn, long long microseconds) {
  const unsigned long thread = PyThread_get_thread_ident();
  int result;
  if (turn_try(turn, thread)) return 1;
  ++turn->waiters;
  result = lock_within(turn->next, microseconds);
  if (result == 1) {
    result = lock_within(turn->now, microseconds);
    PyThread_release_lock(turn->next);
  }
  --turn->waiters;
  if (result != 1) return result;
  turn->owner = turn->last = thread;
  turn->depth = 1;
  turn->slice = kSharedSlice;
  return 1;
}

/* Gives other threads their turn, and looks for signals. Returns 0, or -1 with an exception. It has
 * the turn in both cases, since a request is freed in it. */
static int pass_turn(Turn* turn) {
  PyObject *type = NULL, *value, *trace;
  turn_leave(turn);
  if (PyErr_CheckSignals() < 0) PyErr_Fetch(&type, &value, &trace);
  while (turn_enter(turn, -1) < 0) {
    if (type == NULL) PyErr_Fetch(&type, &value, &trace);
    else PyErr_Clear();
  }
  if (type == NULL) return 0;
  PyErr_Restore(type, value, trace);
  return -1;
}

static PyObject* Turn_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  Turn* turn;
  (void)args, (void)kwargs;
  turn = (Turn*)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (turn == NULL) return NULL;
  turn->next = PyThread_allocate_lock();
  turn->now = PyThread_allocate_lock();
  turn->slice = kSlice;
  if (turn->next != NULL && turn->now != NULL) return (PyObject*)turn;
  Py_DECREF(turn);
  return PyErr_NoMemory();
}

static void free_object(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static void Turn_dealloc(PyObject* self) {
  Turn* const turn = (Turn*)self;
  if (turn->next != NULL) PyThread_free_lock(turn->next);
  if (turn->now != NULL) PyThread_free_lock(turn->now);
  free_object(self);
}

static PyObject* Turn_enter(PyObject* self, PyObject* none) {
  (void)none;
  if (turn_enter((Turn*)self, -1) < 0) return NULL;
  Py_RETURN_NONE;
}

static PyObject* Turn_exit(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  (void)args, (void)count;
  turn_leave((Turn*)self);
  Py_RETURN_NONE;
}

/* Takes the turn for good: the thread never gives it back. */
static PyObject* Turn_keep(PyObject* self, PyObject* seconds) {
  Turn* const turn = (Turn*)self;
  const double time = PyFloat_AsDouble(seconds);
  int result;
  if (time == -1 && PyErr_Occurred()) return NULL;
  result = turn_enter(turn, time > 0 ? (long long)(time * 1e6) : 0);
  return result < 0 ? NULL : PyBool_FromLong(result);
}

static PyObject* Turn_slice(PyObject* self, void* none) {
  (void)none;
  return PyLong_FromLongLong(((Turn*)self)->slice);
}

static PyMethodDef turn_methods[] = {
    {"__enter__", Turn_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))Turn_exit, METH_FASTCALL, NULL},
    {"keep", Turn_keep, METH_O,
     "keep($self, seconds, /)\n--\n\nEnters for good, if that is possible within a time."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef turn_members[] = {
    {"slice", Turn_slice, NULL, "Nanoseconds for which a call may keep its turn.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot turn_slots[] = {{Py_tp_new, (void*)Turn_new},
                                   {Py_tp_dealloc, (void*)Turn_dealloc},
                                   {Py_tp_methods, turn_methods},
                                   {Py_tp_getset, turn_members},
                                   {0, NULL}};
static PyType_Spec turn_spec = {"tutti._fast.Turn", sizeof(Turn), 0, Py_TPFLAGS_DEFAULT,
                                turn_slots};
