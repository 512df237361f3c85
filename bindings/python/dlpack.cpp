// Structures and constants are those of DLPack 1.3,
// https://dmlc.github.io/dlpack/latest/c_api.html.
#include "dlpack.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "arrays.hpp"
#include "register.hpp"
#include "results.hpp"
#include "sowreap/array_view.hpp"
#include "sowreap/result_pool.hpp"

namespace sowreap::python {
namespace {

struct DLDevice {
  std::int32_t type, id;
};
struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t *shape, *strides;  // in items; without strides: row-major
  std::uint64_t byte_offset;
};
struct DLVersion {
  std::uint32_t major, minor;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  DLVersion version;
  void* context;
  void (*deleter)(DLManagedTensorVersioned*);
  std::uint64_t flags;
  DLTensor tensor;
};
struct DLExchangeApi {
  DLVersion version;
  DLExchangeApi* previous;
  void* allocate;
  void* managed_from_object;
  int (*object_from_managed)(DLManagedTensorVersioned*, void** object);
  int (*tensor_from_object)(void* object, DLTensor*);  // may be null
  void* current_stream;
};

constexpr std::int32_t device_cpu = 1, device_cuda_host = 3, device_rocm_host = 11;
constexpr std::uint64_t flag_read_only = 1, flag_padded = 4;
constexpr DLVersion own_version{1, 3};
enum Code : std::uint8_t { code_int = 0, code_uint, code_float, code_complex = 5 };

struct Format {
  Dtype dtype;
  std::uint8_t code, bits;
  int number;        // NumPy's, or -1
  const char* name;  // of ml_dtypes where NumPy has none
};

constexpr Format formats[] = {
    {Dtype::int8, code_int, 8, NPY_INT8, nullptr},
    {Dtype::int16, code_int, 16, NPY_INT16, nullptr},
    {Dtype::int32, code_int, 32, NPY_INT32, nullptr},
    {Dtype::int64, code_int, 64, NPY_INT64, nullptr},
    {Dtype::uint8, code_uint, 8, NPY_UINT8, nullptr},
    {Dtype::uint16, code_uint, 16, NPY_UINT16, nullptr},
    {Dtype::uint32, code_uint, 32, NPY_UINT32, nullptr},
    {Dtype::uint64, code_uint, 64, NPY_UINT64, nullptr},
    {Dtype::float16, code_float, 16, NPY_FLOAT16, nullptr},
    {Dtype::float32, code_float, 32, NPY_FLOAT32, nullptr},
    {Dtype::float64, code_float, 64, NPY_FLOAT64, nullptr},
    {Dtype::complex64, code_complex, 64, NPY_COMPLEX64, nullptr},
    {Dtype::complex128, code_complex, 128, NPY_COMPLEX128, nullptr},
    {Dtype::boolean, 6, 8, NPY_BOOL, nullptr},
    {Dtype::bfloat16, 4, 16, -1, "bfloat16"},
    {Dtype::float8_e3m4, 7, 8, -1, "float8_e3m4"},
    {Dtype::float8_e4m3, 8, 8, -1, "float8_e4m3"},
    {Dtype::float8_e4m3b11fnuz, 9, 8, -1, "float8_e4m3b11fnuz"},
    {Dtype::float8_e4m3fn, 10, 8, -1, "float8_e4m3fn"},
    {Dtype::float8_e4m3fnuz, 11, 8, -1, "float8_e4m3fnuz"},
    {Dtype::float8_e5m2, 12, 8, -1, "float8_e5m2"},
    {Dtype::float8_e5m2fnuz, 13, 8, -1, "float8_e5m2fnuz"},
    {Dtype::float8_e8m0fnu, 14, 8, -1, "float8_e8m0fnu"},
    // Below: less than a byte, and read only where each has a byte of its own.
    {Dtype::float6_e2m3fn, 15, 6, -1, "float6_e2m3fn"},
    {Dtype::float6_e3m2fn, 16, 6, -1, "float6_e3m2fn"},
    {Dtype::float4_e2m1fn, 17, 4, -1, "float4_e2m1fn"},
    {Dtype::int4, code_int, 4, -1, "int4"},
    {Dtype::uint4, code_uint, 4, -1, "uint4"},
    {Dtype::int2, code_int, 2, -1, "int2"},
    {Dtype::uint2, code_uint, 2, -1, "uint2"},
};

const Format* format_of(DLDataType type) {
  if (type.lanes != 1) return nullptr;
  for (const Format& format : formats) {
    if (format.code == type.code && format.bits == type.bits) return &format;
  }
  return nullptr;
}

const Format* format_of(Dtype dtype) {
  for (const Format& format : formats) {
    if (format.dtype == dtype) return &format;
  }
  return nullptr;
}

// The dtype of ml_dtypes; without that package one of ours that holds an item of the same width,
// which no user meets: items leave as they came.
nb::object make_descr(const Format& format) {
  try {
    const nb::object type = nb::module_::import_("ml_dtypes").attr(format.name);
    return nb::module_::import_("numpy").attr("dtype")(type);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError) && !error.matches(PyExc_AttributeError)) throw;
  }
  const std::string width = format.bits > 8 ? "V2" : "V1";
  nb::list fields;
  fields.append(nb::make_tuple(nb::str(format.name), nb::str(width.c_str())));
  return nb::module_::import_("numpy").attr("dtype")(fields);
}

std::atomic<PyArray_Descr*> made[std::size(formats)];  // kept for the life of the process

PyArray_Descr* descr_of(const Format& format) {
  if (format.number >= 0) return PyArray_DescrFromType(format.number);
  std::atomic<PyArray_Descr*>& slot = made[&format - formats];
  PyArray_Descr* descr = slot.load(std::memory_order_acquire);
  if (descr == nullptr) {
    auto* fresh = reinterpret_cast<PyArray_Descr*>(make_descr(format).release().ptr());
    if (slot.compare_exchange_strong(descr, fresh, std::memory_order_acq_rel)) {
      descr = fresh;
    } else {
      Py_DECREF(reinterpret_cast<PyObject*>(fresh));
    }
  }
  Py_INCREF(reinterpret_cast<PyObject*>(descr));
  return descr;
}

bool is_on_host(DLDevice device) {
  return device.type == device_cpu || device.type == device_cuda_host ||
         device.type == device_rocm_host;
}

// Where the items of a tensor of at most 64 axes lie; null if nowhere.
template <class Size>
char* read_layout(const DLTensor& tensor, std::int64_t item, Size* shape, Size* strides) {
  static char nothing;  // an array without items points somewhere too
  bool empty = false;
  // Without sign, as the stride of an axis of one item may be any number.
  const auto bytes = static_cast<std::uint64_t>(item);
  std::uint64_t step = bytes;
  for (int d = tensor.ndim - 1; d >= 0; --d) {
    shape[d] = tensor.shape[d];
    empty = empty || shape[d] == 0;
    strides[d] = static_cast<Size>(
        tensor.strides != nullptr ? static_cast<std::uint64_t>(tensor.strides[d]) * bytes : step);
    step *= static_cast<std::uint64_t>(shape[d]);
  }
  if (empty) return &nothing;
  return tensor.data == nullptr ? nullptr : static_cast<char*>(tensor.data) + tensor.byte_offset;
}

// An ndarray that keeps `owner` alive.
nb::object make_array(PyArray_Descr* descr, int rank, const npy_intp* shape,
                      const npy_intp* strides, char* data, bool writable, nb::object owner) {
  nb::object array =
      nb::steal(PyArray_NewFromDescr(&PyArray_Type, descr, rank, shape, strides, data,
                                     writable ? NPY_ARRAY_WRITEABLE : 0, nullptr));
  if (!array.is_valid() || PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.ptr()),
                                                 owner.release().ptr()) != 0)
    nb::raise_python_error();
  return array;
}

// --- tensors of torch, in C

struct Torch {
  PyTypeObject* tensor;  // the class, and its methods: kept for the life of the process
  const DLExchangeApi* api;
  PyObject *is_neg, *is_conj, *has_mode, *increment_version;
};
std::atomic<const Torch*> torch{nullptr};
PyObject* requires_grad;  // the name

// What torch has by this path; kept.
PyObject* keep(nb::handle from, std::initializer_list<const char*> path) {
  nb::object found = nb::borrow(from);
  for (const char* name : path) found = found.attr(name);
  return found.release().ptr();
}

// The class torch.Tensor once one of its instances is met, and only if it has the interface.
const Torch* meet_torch(PyTypeObject* type) {
  const nb::handle cls(reinterpret_cast<PyObject*>(type));
  const nb::object module = nb::getattr(cls, "__module__", nb::none());
  const nb::object name = nb::getattr(cls, "__qualname__", nb::none());
  if (!module.equal(nb::str("torch")) || !name.equal(nb::str("Tensor"))) return nullptr;
  const nb::object capsule = nb::getattr(cls, "__dlpack_c_exchange_api__", nb::none());
  if (!PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) return nullptr;
  const auto* api =
      static_cast<const DLExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (api != nullptr && api->version.major != own_version.major) api = api->previous;
  if (api == nullptr || api->tensor_from_object == nullptr) return nullptr;
  Py_INCREF(cls.ptr());
  Py_INCREF(capsule.ptr());
  const nb::object library = nb::module_::import_("torch");
  const Torch* expected = nullptr;
  const auto* found = new Torch{type,
                                api,
                                keep(cls, {"is_neg"}),
                                keep(cls, {"is_conj"}),
                                keep(library, {"_C", "_is_torch_function_mode_enabled"}),
                                keep(library, {"autograd", "graph", "increment_version"})};
  return torch.compare_exchange_strong(expected, found) ? found : expected;
}

bool is_true(PyObject* value) {  // steals
  if (value == nullptr) {
    PyErr_Clear();
    return true;
  }
  const bool result = value != Py_False;
  Py_DECREF(value);
  return result;
}

bool is_true(PyObject* method, nb::handle self) {
  PyObject* const arguments[] = {self.ptr()};
  return is_true(PyObject_Vectorcall(method, arguments, 1, nullptr));
}

// Null where the memory cannot be read.
const Format* read_torch(nb::handle object, DLTensor& tensor) {
  const Torch* known = torch.load(std::memory_order_acquire);
  if (known->api->tensor_from_object(object.ptr(), &tensor) != 0) {
    PyErr_Clear();
    return nullptr;
  }
  const Format* format = format_of(tensor.dtype);
  const bool readable = format != nullptr && format->bits >= 8 && is_on_host(tensor.device) &&
                        tensor.ndim <= max_rank;
  return readable ? format : nullptr;
}

// --- arrays out

// A tensor for others, which keeps the ndarray.
template <class Managed>
struct Lent {
  Managed managed;
  PyObject* array;
  std::int64_t shape[max_rank], strides[max_rank];  // strides in items

  static void release(Managed* managed) {
    const std::unique_ptr<Lent> self(static_cast<Lent*>(managed->context));
    // The array may outlive the interpreter; its memory then goes with the process.
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(self->array);
    PyGILState_Release(state);
  }
};

template <class Managed>
std::unique_ptr<Lent<Managed>> lend(const nb::object& object) {
  auto* array = reinterpret_cast<PyArrayObject*>(object.ptr());
  const Format* format = format_of(dtype_of(PyArray_DESCR(array)));
  const std::int64_t item = PyArray_ITEMSIZE(array);
  if (format == nullptr) {
    throw nb::buffer_error(("DLPack has no type for items of dtype " +
                            nb::cast<std::string>(nb::str(nb::object(object.attr("dtype")))) + ".")
                               .c_str());
  }
  std::unique_ptr<Lent<Managed>> lent(new Lent<Managed>);
  const int rank = PyArray_NDIM(array);
  for (int d = 0; d < rank; ++d) {
    lent->shape[d] = PyArray_DIM(array, d);
    lent->strides[d] = PyArray_STRIDE(array, d) / item;
    if (PyArray_STRIDE(array, d) % item != 0)
      throw nb::buffer_error("DLPack has no strides that are not whole items.");
  }
  lent->array = object.ptr();
  Py_INCREF(lent->array);
  lent->managed.context = lent.get();
  lent->managed.deleter = &Lent<Managed>::release;
  lent->managed.tensor = {
      PyArray_DATA(array), {device_cpu, 0}, rank, {format->code, format->bits, 1},
      lent->shape,         lent->strides,   0};
  if constexpr (requires { lent->managed.version; }) {
    lent->managed.version = own_version;
    lent->managed.flags =
        (PyArray_ISWRITEABLE(array) ? 0 : flag_read_only) | (format->bits < 8 ? flag_padded : 0);
  } else if (format->bits < 8) {
    throw nb::buffer_error("DLPack before 1.0 has no items of less than a byte.");
  }
  return lent;
}

constexpr const char* plain_name = "dltensor";
constexpr const char* versioned_name = "dltensor_versioned";

// A capsule that nobody has taken frees what it holds. An error may be on its way meanwhile, which
// has to stay.
template <class Managed>
void free_capsule(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  if (name == nullptr || std::string_view(name).starts_with("used_")) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <class Managed>
nb::object export_as(const nb::object& array, const char* name) {
  auto lent = lend<Managed>(array);
  PyObject* capsule = PyCapsule_New(&lent->managed, name, &free_capsule<Managed>);
  if (capsule == nullptr) nb::raise_python_error();
  lent.release();
  return nb::steal(capsule);
}

nb::object to_dlpack(nb::handle array, bool versioned) {
  if (!PyArray_Check(array.ptr())) throw nb::type_error("an ndarray is needed");
  const nb::object object = nb::borrow(array);
  return versioned ? export_as<DLManagedTensorVersioned>(object, versioned_name)
                   : export_as<DLManagedTensor>(object, plain_name);
}

// --- arrays in

template <class Managed>
void free_taken(PyObject* capsule) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, "sowreap_taken"));
  if (managed->deleter != nullptr) managed->deleter(managed);
}

template <class Managed>
nb::object import_from(nb::handle capsule, const char* name, const char* used, bool writable) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  const nb::object owner = nb::steal(PyCapsule_New(managed, "sowreap_taken", &free_taken<Managed>));
  if (!owner.is_valid() || PyCapsule_SetName(capsule.ptr(), used) != 0) nb::raise_python_error();
  bool padded = false;
  if constexpr (requires { managed->version; }) {
    if (managed->version.major != own_version.major)
      throw nb::buffer_error("its version of DLPack is not 1");
    writable = (managed->flags & flag_read_only) == 0;
    padded = (managed->flags & flag_padded) != 0;
  }
  const DLTensor& tensor = managed->tensor;
  if (!is_on_host(tensor.device)) throw nb::buffer_error("its memory is not that of the processor");
  const Format* format = format_of(tensor.dtype);
  if (format == nullptr || (format->bits < 8 && !padded)) {
    throw nb::buffer_error(("its items have DLPack's type code " +
                            std::to_string(tensor.dtype.code) + ", bits " +
                            std::to_string(tensor.dtype.bits) + ", lanes " +
                            std::to_string(tensor.dtype.lanes) + ", which is not supported")
                               .c_str());
  }
  if (tensor.ndim < 0 || tensor.ndim > max_rank) throw nb::buffer_error("it has more than 64 axes");
  if (tensor.ndim > 0 && tensor.shape == nullptr) throw nb::buffer_error("it has no shape");
  npy_intp shape[max_rank], strides[max_rank];
  char* data = read_layout(tensor, (format->bits + 7) / 8, shape, strides);
  if (data == nullptr) throw nb::buffer_error("it has no memory");
  return make_array(descr_of(*format), tensor.ndim, shape, strides, data, writable, owner);
}

nb::object from_dlpack(nb::handle capsule, bool writable) {
  if (PyCapsule_IsValid(capsule.ptr(), versioned_name))
    return import_from<DLManagedTensorVersioned>(capsule, versioned_name, "used_dltensor_versioned",
                                                 writable);
  if (PyCapsule_IsValid(capsule.ptr(), plain_name))
    return import_from<DLManagedTensor>(capsule, plain_name, "used_dltensor", writable);
  throw nb::buffer_error("what __dlpack__ returned is no capsule of DLPack");
}

}  // namespace

Dtype stand_in_of(PyArray_Descr* descr) {
  for (const Format& format : formats) {
    if (made[&format - formats].load(std::memory_order_acquire) == descr) return format.dtype;
  }
  return Dtype::opaque;
}

bool is_torch_tensor(nb::handle object) {
  PyTypeObject* type = Py_TYPE(object.ptr());
  const Torch* known = torch.load(std::memory_order_acquire);
  return known != nullptr ? known->tensor == type : meet_torch(type) != nullptr;
}

bool is_more_than_memory(nb::handle tensor, Dtype dtype) {
  const std::uint8_t code = format_of(dtype)->code;
  if (code == code_int || code == code_uint) return false;
  if (is_true(PyObject_GetAttr(tensor.ptr(), requires_grad))) return true;
  const Torch* known = torch.load(std::memory_order_acquire);
  return is_true(known->is_neg, tensor) ||
         (code == code_complex && is_true(known->is_conj, tensor));
}

bool torch_runs_code() {
  const Torch* known = torch.load(std::memory_order_acquire);
  return is_true(PyObject_Vectorcall(known->has_mode, nullptr, 0, nullptr));
}

nb::object dtype_to_descr(Dtype dtype) {
  return nb::steal(reinterpret_cast<PyObject*>(descr_of(*format_of(dtype))));
}

nb::object view_to_array(const View& view, nb::handle owner) {
  static_assert(sizeof(npy_intp) == sizeof(std::int64_t));
  return make_array(
      descr_of(*format_of(view.dtype)), view.rank, reinterpret_cast<const npy_intp*>(view.shape),
      reinterpret_cast<const npy_intp*>(view.strides), view.bytes, true, nb::borrow(owner));
}

bool OwnedView::look_at_tensor(nb::handle object) {
  DLTensor tensor;
  const Format* format = read_torch(object, tensor);
  if (format == nullptr) return false;
  view_.item = format->bits / 8;
  view_.bytes = read_layout(tensor, view_.item, shape_, strides_);
  view_.rank = tensor.ndim;
  view_.shape = shape_;
  view_.strides = strides_;
  view_.dtype = format->dtype;
  return view_.bytes != nullptr;
}

bool note_write_of_torch(nb::handle tensor) {
  if (!is_torch_tensor(tensor)) return false;
  const Torch* known = torch.load(std::memory_order_acquire);
  PyObject* const arguments[] = {tensor.ptr()};
  const nb::object done =
      nb::steal(PyObject_Vectorcall(known->increment_version, arguments, 1, nullptr));
  if (!done.is_valid()) PyErr_Clear();
  return done.is_valid();
}

// What torch is given, then its shape and its strides in items, then the items unless they are in
// the pool, where `context` points.
struct NewTensor::Block {
  DLManagedTensorVersioned managed;

  std::int64_t* sizes() { return reinterpret_cast<std::int64_t*>(this + 1); }

  static void release(DLManagedTensorVersioned* managed) {
    give_result(managed->context);
    std::free(managed);
  }
};

void NewTensor::Free::operator()(Block* block) const { Block::release(&block->managed); }

NewTensor::NewTensor(Dtype dtype, std::int64_t item, const Shape& shape) {
  std::size_t items = 1;
  for (int d = 0; d < shape.rank; ++d) items *= static_cast<std::size_t>(shape.sizes[d]);
  const std::size_t bytes = items * static_cast<std::size_t>(item);
  const bool pooled = belongs_in_pool(bytes);
  const std::size_t header =
      sizeof(Block) + 2 * sizeof(std::int64_t) * static_cast<std::size_t>(shape.rank);
  static_assert(sizeof(Block) % alignof(std::max_align_t) == 0);
  void* memory = std::malloc(header + (pooled ? 0 : bytes));
  if (memory == nullptr) throw std::bad_alloc();
  block_.reset(new (memory) Block{});
  DLManagedTensorVersioned& managed = block_->managed;
  if (pooled && (managed.context = take_result(bytes)) == nullptr) throw std::bad_alloc();
  std::int64_t *sizes = block_->sizes(), *strides = sizes + shape.rank, step = 1;
  for (int d = shape.rank - 1; d >= 0; --d) {
    sizes[d] = shape.sizes[d];
    strides[d] = step;
    step *= std::max<std::int64_t>(sizes[d], 1);
  }
  const Format& format = *format_of(dtype);
  managed.version = own_version;
  managed.deleter = &Block::release;
  managed.tensor = {pooled ? managed.context : static_cast<char*>(memory) + header,
                    {device_cpu, 0},
                    shape.rank,
                    {format.code, format.bits, 1},
                    sizes,
                    strides,
                    0};
}

char* NewTensor::bytes() const { return static_cast<char*>(block_->managed.tensor.data); }

nb::object NewTensor::release() {
  void* tensor = nullptr;
  const DLExchangeApi* api = torch.load(std::memory_order_acquire)->api;
  // From here on the memory is torch's, also where this fails.
  if (api->object_from_managed(&block_.release()->managed, &tensor) != 0) nb::raise_python_error();
  return nb::steal(static_cast<PyObject*>(tensor));
}

void register_dlpack(nb::module_& m) {
  requires_grad = PyUnicode_InternFromString("requires_grad");
  if (requires_grad == nullptr) nb::raise_python_error();
  m.def("to_dlpack", &to_dlpack, nb::arg("array"), nb::arg("versioned"),
        "A DLPack capsule of the memory of an ndarray.");
  m.def("from_dlpack", &from_dlpack, nb::arg("capsule").none(), nb::arg("writable"),
        nb::sig(
            "def from_dlpack(capsule: object | None, writable: bool) -> numpy.typing.NDArray[Any]"),
        "An ndarray of the memory of a DLPack capsule, which is used up. A capsule before DLPack "
        "1.0 does not say whether the memory is writable; `writable` does.");
}

}  // namespace sowreap::python
