// Arrays in and out. No rule of an operator is here.
#pragma once

#include <nanobind/nanobind.h>

#include <initializer_list>

#include "dlpack.hpp"
#include "numpy.hpp"
#include "sowreap/array_view.hpp"

namespace sowreap::python {

namespace nb = nanobind;

// A view whose shape and strides are its own: those of an array may be changed by other threads.
class OwnedView {
 public:
  OwnedView() = default;
  OwnedView(const OwnedView&) = delete;
  OwnedView& operator=(const OwnedView&) = delete;

  void look_at(PyArrayObject* array);
  bool look_at_tensor(nb::handle tensor);  // of torch; false where its memory is none for us
  void look_at_new(char* bytes, Dtype dtype, std::int64_t item, const Shape& shape);
  const View& view() const { return view_; }

 private:
  View view_;
  std::int64_t shape_[max_rank], strides_[max_rank];
};

// Whose array an argument is. Those of other libraries than torch are known to sowreap._arrays.
enum class Kind : std::uint8_t { numpy, torch, other };

// An argument as an ndarray that lives as long as this object. Making one may run code of the user,
// which may change arrays; so all arguments are read before any of them is looked at (a tensor:
// looked at for good), and none of that code runs from there until the work is done.
class Input {
 public:
  // Anything but a plain ndarray goes through sowreap._arrays. `like`: the array whose dtype a list
  // or scalar takes.
  Input(const char* op, const char* name, nb::handle object, const Input* like = nullptr);

  PyArrayObject* array() const { return reinterpret_cast<PyArrayObject*>(object().ptr()); }
  const nb::object& object() const;
  // Of the memory that was looked at. Unlike `object` it never runs code of the user.
  nb::object seen() const;
  Kind kind() const { return kind_; }
  const nb::object& given() const { return given_; }  // of another kind than numpy
  bool is_read_in_c() const { return read_in_c_; }    // no code of Python has read it
  // The view is good from here on. `again`: code has run since a tensor was read.
  void look(const char* op, bool again);
  const View& view() const { return owned_.view(); }
  const char* name() const { return name_; }
  PyArray_Descr* descr() const;

  bool is_text() const;   // U or S: fixed width, padded with zeros
  bool is_plain() const;  // an item is its bytes: no references, no storage elsewhere
  std::string dtype_name() const;

 private:
  bool take_tensor(nb::handle object);

  mutable nb::object object_;  // of a tensor made when it is asked for
  nb::object given_, descr_;   // descr_: of a tensor
  Kind kind_ = Kind::numpy;
  bool read_in_c_ = true;
  const char* name_;
  OwnedView owned_;
};

// The argument `out`, read but not looked at.
struct Out {
  nb::object given;  // what the call returns
  nb::object plain;  // the same memory as a plain ndarray or tensor; None where none was given
  Kind kind = Kind::numpy;
  bool is_read_in_c = true;

  Out(const char* op, nb::handle out, const Input& data);  // which it may be

 private:
  bool take_tensor(nb::handle object);
};

// Looks at all arguments once the last code of the user has run: the check that their libraries go
// together. `attributes` are the others, as given, whose reading may have run such code.
void look(const char* op, const Out& out, std::initializer_list<Input*> inputs,
          std::initializer_list<nb::handle> attributes);

// The array that a call writes: a new one, or `out` after all its checks.
class Output {
 public:
  // `inputs` are what `out` may not overlap, but for `base`, which it may be.
  Output(const char* op, const Out& out, const Shape& shape, const Input& data, const Input* base,
         std::initializer_list<const Input*> inputs);

  const View& view() const { return owned_.view(); }
  bool given() const { return given_; }
  bool is_base() const { return is_base_; }
  // The array as the caller gets it: `out`, or one of the kind of `data`.
  nb::object result();

 private:
  void look(const char* op);
  void check(const char* op, const Shape& shape, const Input& data) const;
  bool is_tensor() const { return given_ ? out_.kind == Kind::torch : data_.kind() == Kind::torch; }

  nb::object array_;  // unless it is a tensor
  NewTensor tensor_;  // where a new one is
  const Out& out_;
  const Input& data_;
  OwnedView owned_;
  bool given_ = false, is_base_ = false;
};

// A Python integer (or what turns into one) as an attribute.
std::int64_t integer(const char* op, const char* name, nb::handle value);

}  // namespace sowreap::python
