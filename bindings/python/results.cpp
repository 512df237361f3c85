#include "results.hpp"

#include <cstring>

#include "register.hpp"
#include "sowreap/result_pool.hpp"

namespace sowreap::python {
namespace {

namespace nb = nanobind;

void* pool_malloc(void*, std::size_t bytes) { return take_result(bytes); }

void* pool_calloc(void*, std::size_t count, std::size_t size) {
  if (size != 0 && count > static_cast<std::size_t>(-1) / size) return nullptr;
  void* memory = take_result(count * size);
  return memory == nullptr ? nullptr : std::memset(memory, 0, count * size);
}

void* pool_realloc(void*, void* old, std::size_t bytes) { return resize_result(old, bytes); }

void pool_free(void*, void* memory, std::size_t) { give_result(memory); }

// NumPy keeps the handler with each array that was made under it.
PyDataMem_Handler handler = {
    "sowreap result pool", 1, {nullptr, pool_malloc, pool_calloc, pool_realloc, pool_free}};

PyObject* handler_capsule;  // kept for the life of the process

nb::object new_array(PyArray_Descr* descr, const Shape& shape) {
  Py_INCREF(reinterpret_cast<PyObject*>(descr));
  nb::object array = nb::steal(PyArray_NewFromDescr(&PyArray_Type, descr, shape.rank,
                                                    reinterpret_cast<const npy_intp*>(shape.sizes),
                                                    nullptr, nullptr, 0, nullptr));
  if (!array.is_valid()) nb::raise_python_error();
  return array;
}

}  // namespace

bool belongs_in_pool(std::size_t bytes) { return bytes >= pooled_bytes && result_pool_limit() > 0; }

namespace {

bool belongs_in_pool(PyArray_Descr* descr, const Shape& shape) {
  auto bytes = static_cast<std::size_t>(PyDataType_ELSIZE(descr));
  for (int d = 0; d < shape.rank; ++d) bytes *= static_cast<std::size_t>(shape.sizes[d]);
  if (!python::belongs_in_pool(bytes) || PyDataType_REFCHK(descr)) return false;
  // A user may have an allocator of his own for arrays.
  const nb::object current = nb::steal(PyDataMem_GetHandler());
  if (!current.is_valid()) nb::raise_python_error();
  return current.is(PyDataMem_DefaultHandler);
}

}  // namespace

nb::object new_result(PyArray_Descr* descr, const Shape& shape) {
  if (!belongs_in_pool(descr, shape)) return new_array(descr, shape);
  const nb::object before = nb::steal(PyDataMem_SetHandler(handler_capsule));
  if (!before.is_valid()) nb::raise_python_error();
  struct Restore {
    PyObject* before;
    ~Restore() {
      nb::error_scope keep;  // of a failure to make the array
      Py_XDECREF(PyDataMem_SetHandler(before));
    }
  } restore{before.ptr()};
  return new_array(descr, shape);
}

void register_results(nb::module_& m) {
  handler_capsule = PyCapsule_New(&handler, "mem_handler", nullptr);
  if (handler_capsule == nullptr) nb::raise_python_error();
  m.def("pool_limit", &result_pool_limit, "Unused bytes of results that are kept at most.");
  m.def("set_pool_limit", &set_result_pool_limit, nb::arg("limit"),
        "Keep at most `limit` unused bytes of results.");
  m.def("pool_held", &result_pool_held, "Unused bytes of results that are kept now.");
}

}  // namespace sowreap::python
