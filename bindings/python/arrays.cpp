#include "arrays.hpp"

#include <nanobind/stl/string.h>

#include <atomic>
#include <string>
#include <string_view>

#include "dlpack.hpp"
#include "register.hpp"
#include "results.hpp"
#include "sowreap/error.hpp"
#include "sowreap/plan.hpp"
#include "sowreap/shape.hpp"

namespace sowreap::python {
namespace {

static_assert(sizeof(npy_intp) == sizeof(std::int64_t), "arrays are described by 64-bit sizes");

struct SmallName {
  std::string_view name;
  Dtype dtype;
};

constexpr SmallName ml_dtypes_names[] = {
    {"bfloat16", Dtype::bfloat16},
    {"float8_e3m4", Dtype::float8_e3m4},
    {"float8_e4m3", Dtype::float8_e4m3},
    {"float8_e4m3b11fnuz", Dtype::float8_e4m3b11fnuz},
    {"float8_e4m3fn", Dtype::float8_e4m3fn},
    {"float8_e4m3fnuz", Dtype::float8_e4m3fnuz},
    {"float8_e5m2", Dtype::float8_e5m2},
    {"float8_e5m2fnuz", Dtype::float8_e5m2fnuz},
    {"float8_e8m0fnu", Dtype::float8_e8m0fnu},
    {"float6_e2m3fn", Dtype::float6_e2m3fn},
    {"float6_e3m2fn", Dtype::float6_e3m2fn},
    {"float4_e2m1fn", Dtype::float4_e2m1fn},
    {"int2", Dtype::int2},
    {"uint2", Dtype::uint2},
    {"int4", Dtype::int4},
    {"uint4", Dtype::uint4},
};

// A dtype that a package has registered: one of ml_dtypes by its name, otherwise bytes.
Dtype find_registered(PyArray_Descr* descr) {
  const nb::handle scalar(reinterpret_cast<PyObject*>(descr->typeobj));
  const auto module = nb::cast<std::string>(nb::str(scalar.attr("__module__")));
  if (module.rfind("ml_dtypes", 0) != 0) return Dtype::opaque;
  const auto name = nb::cast<std::string>(nb::str(scalar.attr("__name__")));
  for (const SmallName& known : ml_dtypes_names) {
    if (known.name == name) return known.dtype;
  }
  return Dtype::opaque;
}

Dtype registered(PyArray_Descr* descr) {
  static std::atomic<int> found[64];  // by type number; 0: not asked yet
  const int slot = descr->type_num - NPY_USERDEF;
  if (slot >= 64) return find_registered(descr);
  int known = found[slot].load(std::memory_order_relaxed);
  if (known == 0) {
    known = 1 + static_cast<int>(find_registered(descr));
    found[slot].store(known, std::memory_order_relaxed);
  }
  return static_cast<Dtype>(known - 1);
}

Dtype signed_of(std::size_t bytes) {
  return bytes == 1   ? Dtype::int8
         : bytes == 2 ? Dtype::int16
         : bytes == 4 ? Dtype::int32
                      : Dtype::int64;
}
Dtype unsigned_of(std::size_t bytes) {
  return bytes == 1   ? Dtype::uint8
         : bytes == 2 ? Dtype::uint16
         : bytes == 4 ? Dtype::uint32
                      : Dtype::uint64;
}

}  // namespace

Dtype dtype_of(PyArray_Descr* descr) {
  if (!PyArray_ISNBO(descr->byteorder)) return Dtype::opaque;
  switch (descr->type_num) {
    case NPY_BOOL:
      return Dtype::boolean;
    case NPY_BYTE:
      return Dtype::int8;
    case NPY_SHORT:
      return signed_of(sizeof(npy_short));
    case NPY_INT:
      return signed_of(sizeof(npy_int));
    case NPY_LONG:
      return signed_of(sizeof(npy_long));
    case NPY_LONGLONG:
      return signed_of(sizeof(npy_longlong));
    case NPY_UBYTE:
      return Dtype::uint8;
    case NPY_USHORT:
      return unsigned_of(sizeof(npy_ushort));
    case NPY_UINT:
      return unsigned_of(sizeof(npy_uint));
    case NPY_ULONG:
      return unsigned_of(sizeof(npy_ulong));
    case NPY_ULONGLONG:
      return unsigned_of(sizeof(npy_ulonglong));
    case NPY_HALF:
      return Dtype::float16;
    case NPY_FLOAT:
      return Dtype::float32;
    case NPY_DOUBLE:
      return Dtype::float64;
    case NPY_LONGDOUBLE:
      return Dtype::longdouble;
    case NPY_CFLOAT:
      return Dtype::complex64;
    case NPY_CDOUBLE:
      return Dtype::complex128;
    case NPY_CLONGDOUBLE:
      return Dtype::clongdouble;
    case NPY_VOID:
      return stand_in_of(descr);
    default:
      return descr->type_num >= NPY_USERDEF && descr->type_num < NPY_VSTRING ? registered(descr)
                                                                             : Dtype::opaque;
  }
}

namespace {

Error unreadable(const char* op, const char* name) {
  return {Fault::dtype, op, name, std::string(name) + " cannot be read as an array."};
}

nb::object helper(const char* name) { return nb::module_::import_("sowreap._arrays").attr(name); }

// Whether two positions can be one place in memory. Enough, not exact: dimensions sorted by stride,
// each must step over all that lies within the smaller ones.
bool may_overlap_itself(const View& v) {
  int order[max_rank];
  int count = 0;
  for (int d = 0; d < v.rank; ++d) {
    if (v.shape[d] == 0) return false;
    if (v.shape[d] == 1) continue;
    int at = count++;
    for (; at > 0 && magnitude(v.strides[order[at - 1]]) > magnitude(v.strides[d]); --at)
      order[at] = order[at - 1];
    order[at] = d;
  }
  std::int64_t reach = v.item;
  for (int i = 0; i < count; ++i) {
    const std::int64_t step = magnitude(v.strides[order[i]]);
    if (step < reach) return true;
    reach += (v.shape[order[i]] - 1) * step;
  }
  return false;
}

struct Extent {
  const char *begin, *end;
};

Extent extent_of(const View& v) {
  Extent e{v.bytes, v.bytes + v.item};
  for (int d = 0; d < v.rank; ++d) {
    if (v.shape[d] == 0) return {v.bytes, v.bytes};
    const std::int64_t reach = (v.shape[d] - 1) * v.strides[d];
    (reach < 0 ? e.begin : e.end) += reach;
  }
  return e;
}

bool extents_meet(const View& a, const View& b) {
  const Extent x = extent_of(a), y = extent_of(b);
  return x.begin < y.end && y.begin < x.end;
}

bool is_same_memory(const View& a, const View& b) {
  if (a.bytes != b.bytes || a.rank != b.rank) return false;
  for (int d = 0; d < a.rank; ++d) {
    if (a.shape[d] != b.shape[d] || (a.shape[d] > 1 && a.strides[d] != b.strides[d])) return false;
  }
  return true;
}

bool same_shape(const View& v, const Shape& shape) {
  if (v.rank != shape.rank) return false;
  for (int d = 0; d < v.rank; ++d) {
    if (v.shape[d] != shape.sizes[d]) return false;
  }
  return true;
}

PyArrayObject* as_array(const nb::object& object) {
  return reinterpret_cast<PyArrayObject*>(object.ptr());
}

std::string name_of(PyArray_Descr* descr) {
  return nb::cast<std::string>(nb::str(reinterpret_cast<PyObject*>(descr)));
}

}  // namespace

void OwnedView::look_at(PyArrayObject* array) {
  view_.bytes = PyArray_BYTES(array);
  view_.rank = PyArray_NDIM(array);
  for (int d = 0; d < view_.rank; ++d) {
    shape_[d] = PyArray_DIM(array, d);
    strides_[d] = PyArray_STRIDE(array, d);
  }
  view_.shape = shape_;
  view_.strides = strides_;
  view_.dtype = dtype_of(PyArray_DESCR(array));
  view_.item = PyArray_ITEMSIZE(array);
}

void OwnedView::look_at_new(char* bytes, Dtype dtype, std::int64_t item, const Shape& shape) {
  view_.bytes = bytes;
  view_.rank = shape.rank;
  std::int64_t step = item;
  for (int d = shape.rank - 1; d >= 0; --d) {
    shape_[d] = shape.sizes[d];
    strides_[d] = step;
    step *= shape_[d];
  }
  view_.shape = shape_;
  view_.strides = strides_;
  view_.dtype = dtype;
  view_.item = item;
}

Input::Input(const char* op, const char* name, nb::handle object, const Input* like) : name_(name) {
  if (PyArray_CheckExact(object.ptr())) {
    object_ = nb::borrow(object);
    return;
  }
  if (take_tensor(object)) return;
  read_in_c_ = false;
  const nb::object dtype =
      like == nullptr ? nb::none() : nb::borrow(reinterpret_cast<PyObject*>(like->descr()));
  const nb::object array = helper("as_array")(op, name, object, dtype);
  if (take_tensor(array)) return;  // one with more to it, made plain
  if (!PyArray_CheckExact(array.ptr())) throw unreadable(op, name);
  object_ = array;
  if (!nb::cast<bool>(helper("is_foreign")(object))) return;
  kind_ = Kind::other;
  given_ = nb::borrow(object);
}

bool Input::take_tensor(nb::handle object) {
  if (!is_torch_tensor(object) || !owned_.look_at_tensor(object)) return false;
  const Dtype dtype = view().dtype;
  if (is_more_than_memory(object, dtype)) return false;
  descr_ = dtype_to_descr(dtype);
  kind_ = Kind::torch;
  given_ = nb::borrow(object);
  return true;
}

const nb::object& Input::object() const {
  if (object_.is_valid()) return object_;
  OwnedView now;
  if (!now.look_at_tensor(given_)) throw unreadable("sowreap", name_);
  return object_ = view_to_array(now.view(), given_);
}

nb::object Input::seen() const {
  return kind_ == Kind::torch ? view_to_array(view(), given_) : object_;
}

PyArray_Descr* Input::descr() const {
  return kind_ == Kind::torch ? reinterpret_cast<PyArray_Descr*>(descr_.ptr())
                              : PyArray_DESCR(array());
}

void Input::look(const char* op, bool again) {
  if (kind_ != Kind::torch) {
    owned_.look_at(array());
  } else if (again && (!owned_.look_at_tensor(given_) || view().dtype != dtype_of(descr()))) {
    throw unreadable(op, name_);  // as code has changed it
  }
  if (view().item == 0) {
    throw Error(Fault::dtype, op, name_,
                std::string(name_) + " has dtype " + dtype_name() +
                    ", whose items have no bytes; there is nothing to move.");
  }
}

bool Input::is_text() const {
  return descr()->type_num == NPY_UNICODE || descr()->type_num == NPY_STRING;
}

bool Input::is_plain() const {
  const int type = descr()->type_num;
  const bool known =
      (type >= 0 && type < NPY_NTYPES_LEGACY) || (type >= NPY_USERDEF && type < NPY_VSTRING);
  return known && !PyDataType_REFCHK(descr());
}

std::string Input::dtype_name() const { return name_of(descr()); }

void Output::check(const char* op, const Shape& shape, const Input& data) const {
  if (!same_shape(view(), shape)) {
    throw Error(
        Fault::shape, op, "out",
        "out has shape " + text_of(view()) + " but the result has shape " + text_of(shape) + ".");
  }
  const nb::object kept = is_tensor() ? dtype_to_descr(view().dtype) : nb::object();
  auto* descr =
      is_tensor() ? reinterpret_cast<PyArray_Descr*>(kept.ptr()) : PyArray_DESCR(as_array(array_));
  if (!PyArray_EquivTypes(descr, data.descr())) {
    throw Error(
        Fault::dtype, op, "out",
        "out has dtype " + name_of(descr) + " but the result has dtype " + data.dtype_name() + ".");
  }
  if (!is_tensor() && !PyArray_ISWRITEABLE(as_array(array_))) {
    throw Error(Fault::argument, op, "out",
                "out is read-only. Pass a writable array, such as out.copy().");
  }
  if (may_overlap_itself(view())) {
    throw Error(Fault::argument, op, "out",
                "out has strides " + text_of(view().strides, view().rank) +
                    " by which several of its items may share memory. Pass an array of its own.");
  }
}

Out::Out(const char* op, nb::handle out, const Input& data) : given(nb::borrow(out)), plain(given) {
  if (out.is_none() || PyArray_CheckExact(out.ptr())) return;
  if (data.kind() == Kind::torch && out.is(data.given())) {
    kind = Kind::torch;
    return;
  }
  if (take_tensor(out)) return;
  is_read_in_c = false;
  plain = helper("as_out")(op, out);
  if (take_tensor(plain)) return;
  if (!PyArray_CheckExact(plain.ptr())) throw unreadable(op, "out");
  kind = nb::cast<bool>(helper("is_foreign")(out)) ? Kind::other : Kind::numpy;
}

bool Out::take_tensor(nb::handle object) {
  OwnedView seen;
  if (!is_torch_tensor(object) || !seen.look_at_tensor(object)) return false;
  if (is_more_than_memory(object, seen.view().dtype)) return false;
  kind = Kind::torch;
  return true;
}

namespace {

// Arrays of NumPy go with those of any library, and those with no others.
void check_kinds(const char* op, std::initializer_list<Input*> inputs, const Out& out) {
  bool any_other = out.kind == Kind::other;
  for (const Input* input : inputs) any_other = any_other || input->kind() == Kind::other;
  if (!any_other) return;
  nb::list foreign;
  for (const Input* input : inputs) {
    if (input->kind() != Kind::numpy) foreign.append(nb::make_tuple(input->name(), input->given()));
  }
  if (out.kind != Kind::numpy) foreign.append(nb::make_tuple("out", out.given));
  helper("check_kinds")(op, foreign);
}

bool is_read_without_code(nb::handle attribute) {
  PyObject* value = attribute.ptr();
  return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) ||
         PyUnicode_CheckExact(value);
}

// Whether code of Python, and so perhaps of the user, has run while the arguments were read.
bool has_code_run(const Out& out, std::initializer_list<Input*> inputs,
                  std::initializer_list<nb::handle> attributes) {
  bool in_c = out.is_read_in_c, asked = out.kind == Kind::torch;
  for (const Input* input : inputs) {
    in_c = in_c && input->is_read_in_c();
    asked = asked || (input->kind() == Kind::torch && !is_index(input->view().dtype));
  }
  for (nb::handle attribute : attributes) in_c = in_c && is_read_without_code(attribute);
  return !in_c || (asked && torch_runs_code());
}

}  // namespace

void look(const char* op, const Out& out, std::initializer_list<Input*> inputs,
          std::initializer_list<nb::handle> attributes) {
  check_kinds(op, inputs, out);
  const bool again = has_code_run(out, inputs, attributes);
  for (Input* input : inputs) input->look(op, again);
}

void Output::look(const char* op) {
  if (!is_tensor()) {
    array_ = out_.plain;
    owned_.look_at(as_array(array_));
  } else if (!owned_.look_at_tensor(out_.plain)) {
    throw unreadable(op, "out");
  }
}

Output::Output(const char* op, const Out& out, const Shape& shape, const Input& data,
               const Input* base, std::initializer_list<const Input*> inputs)
    : out_(out), data_(data) {
  if (out.given.is_none()) {
    const View& like = data.view();
    check_allocation(op, shape, like.item);
    if (is_tensor()) {
      tensor_ = NewTensor(like.dtype, like.item, shape);
      owned_.look_at_new(tensor_.bytes(), like.dtype, like.item, shape);
    } else {
      array_ = new_result(data.descr(), shape);
      owned_.look_at(as_array(array_));
    }
    return;
  }
  given_ = true;
  look(op);
  check(op, shape, data);
  is_base_ = base != nullptr && is_same_memory(view(), base->view());
  for (const Input* input : inputs) {
    if (is_base_ && input == base) continue;
    if (!extents_meet(view(), input->view())) continue;
    const nb::object seen = is_tensor() ? view_to_array(view(), out_.plain) : array_;
    if (nb::cast<bool>(helper("share_memory")(seen, input->seen()))) {
      throw Error(
          Fault::argument, op, "out",
          std::string("out shares memory with ") + input->name() +
              (base != nullptr ? std::string(" without being ") + base->name() + " itself" : "") +
              ". Pass another array, or none.");
    }
  }
}

nb::object Output::result() {
  if (given_) {
    if (out_.kind != Kind::numpy && !note_write_of_torch(out_.given))
      helper("note_write")(out_.given);
    return out_.given;
  }
  if (is_tensor()) return tensor_.release();
  if (data_.kind() == Kind::other) return helper("as_kind")(data_.given(), array_);
  return array_;
}

std::int64_t integer(const char* op, const char* name, nb::handle value) {
  const nb::object number =
      PyBool_Check(value.ptr()) ? nb::object() : nb::steal(PyNumber_Index(value.ptr()));
  if (!number.is_valid()) {
    // What else __index__ raises (KeyboardInterrupt, MemoryError) is not about the argument.
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
    PyErr_Clear();
    throw Error(Fault::dtype, op, name,
                std::string(name) + " must be an integer, not " +
                    nb::cast<std::string>(nb::steal(PyObject_ASCII(value.ptr()))) + ".");
  }
  int overflow = 0;
  const long long result = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0) {
    const nb::object digits = nb::steal(PyObject_Str(number.ptr()));
    if (!digits.is_valid()) PyErr_Clear();  // more of them than Python writes
    throw Error(Fault::argument, op, name,
                std::string(name) + " = " +
                    (digits.is_valid() ? nb::cast<std::string>(digits) : "(thousands of digits)") +
                    " is far out of range.");
  }
  return result;
}

void register_arrays(nb::module_& m) {
  const auto view_of = [](nb::handle array, OwnedView& owned) -> const View& {
    if (!PyArray_Check(array.ptr())) throw nb::type_error("an ndarray is needed");
    owned.look_at(reinterpret_cast<PyArrayObject*>(array.ptr()));
    return owned.view();
  };
  m.def(
      "repeats_memory",
      [view_of](nb::handle array) {
        OwnedView owned;
        return may_overlap_itself(view_of(array, owned));
      },
      nb::arg("array"), "Whether two positions of an ndarray may be one place in memory.");
  m.def(
      "is_same_memory",
      [view_of](nb::handle a, nb::handle b) {
        OwnedView first, second;
        return is_same_memory(view_of(a, first), view_of(b, second));
      },
      nb::arg("a"), nb::arg("b"), "Whether two ndarrays show the same items at the same places.");
}

}  // namespace sowreap::python
