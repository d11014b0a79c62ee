/* The functions that free exports of memory by DLPack. Part of _fast.c.
 *
 * Other libraries free an export at any time, also while an exception is raised, which a function
 * of Python would lose. */

static PyObject*
    forget_export; /* a function of tutti._dlpack: of the address of a managed tensor */

/* The deleter of DLPack. Any thread may call it. */
static void delete_export(void* managed) {
  PyObject *type, *value, *traceback, *address, *result;
  PyGILState_STATE state;
  if (!Py_IsInitialized()) return;
  state = PyGILState_Ensure();
  PyErr_Fetch(&type, &value, &traceback);
  address = PyLong_FromVoidPtr(managed);
  result = address == NULL ? NULL : PyObject_CallFunctionObjArgs(forget_export, address, NULL);
  if (result == NULL) PyErr_WriteUnraisable(forget_export);
  Py_XDECREF(result);
  Py_XDECREF(address);
  PyErr_Restore(type, value, traceback);
  PyGILState_Release(state);
}

/* The destructor of a capsule: frees a tensor that no consumer has taken out of it. */
static void destroy_capsule(PyObject* capsule) {
  static const char* const names[] = {"dltensor_versioned", "dltensor"};
  size_t i;
  for (i = 0; i < 2; ++i)
    if (PyCapsule_IsValid(capsule, names[i]))
      delete_export(PyCapsule_GetPointer(capsule, names[i]));
}

/* free_exports_by(forget): returns the addresses of delete_export and destroy_capsule. */
static PyObject* free_exports_by(PyObject* module, PyObject* forget) {
  (void)module;
  Py_XDECREF(forget_export);
  forget_export = Py_NewRef(forget);
  return Py_BuildValue("NN", PyLong_FromVoidPtr((void*)(size_t)delete_export),
                       PyLong_FromVoidPtr((void*)(size_t)destroy_capsule));
}
