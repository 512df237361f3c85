// NumPy's C interface, shared by the files of this folder.
#pragma once

#include <Python.h>

#define PY_ARRAY_UNIQUE_SYMBOL sowreap_numpy_api
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#ifndef SOWREAP_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
