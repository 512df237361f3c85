// The operators: arrays to views, one call of the core, the output back.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <thread>

#include "arrays.hpp"
#include "attributes.hpp"
#include "register.hpp"
#include "sowreap/error.hpp"
#include "sowreap/execute.hpp"
#include "sowreap/shape.hpp"
#include "sowreap/stop.hpp"

namespace sowreap::python {
namespace {

// What the functions return, by the name that type checkers know.
class Array : public nb::object {
  NB_OBJECT(Array, nb::object, "numpy.typing.NDArray[typing.Any]", is_array)

  static bool is_array(nb::handle object) { return PyArray_Check(object.ptr()); }
};

Array as_array(nb::object object) { return nb::steal<Array>(object.release()); }

// Below, giving the interpreter lock away costs more than the call.
constexpr double release_bytes = 64 << 10;

// A call that moves less is over before a signal could be answered.
constexpr double stoppable_bytes = 1 << 20;

// What a gather does with an index out of range.
struct OutOfRange {
  Mode mode;
  nb::handle name;
  nb::object fill;  // the item of an absent cell: an array of rank 0 like data, or None

  // Reading fill_value may run code of the user: like the arrays, it is read before any is looked
  // at.
  OutOfRange(const char* op, const Input& data, nb::handle mode_in, nb::handle fill_value)
      : mode(parse_mode(op, mode_in, "fill")), name(mode_in), fill(nb::none()) {
    if (mode == Mode::absent) {
      fill = nb::module_::import_("sowreap._arrays")
                 .attr("as_fill")(op, fill_value,
                                  nb::handle(reinterpret_cast<PyObject*>(data.descr())));
    } else if (!is_zero(fill_value)) {
      throw Error(Fault::argument, op, "fill_value",
                  "fill_value = " + shown(fill_value) + " has no effect in mode = " + shown(name) +
                      ". Pass mode = \"fill\", or leave fill_value out.");
    }
  }

  const char* item(const char* op, const Input& data) const {
    if (fill.is_none()) return nullptr;
    auto* array = reinterpret_cast<PyArrayObject*>(fill.ptr());
    if (PyArray_EquivTypes(PyArray_DESCR(array), data.descr())) return PyArray_BYTES(array);
    throw Error(Fault::dtype, op, "data", "data got another dtype while fill_value was read.");
  }

 private:
  static bool is_zero(nb::handle value) {
    const int equal = PyObject_RichCompareBool(value.ptr(), nb::int_(0).ptr(), Py_EQ);
    if (equal < 0) PyErr_Clear();  // an array, say: not a number
    return equal == 1;
  }
};

void check_indices_dtype(const char* op, const Input& indices) {
  if (is_index(indices.view().dtype)) return;
  const std::string name = indices.name();
  throw Error(
      Fault::dtype, op, indices.name(),
      name + " has dtype " + indices.dtype_name() +
          "; an integer dtype of 8 to 64 bits in native byte order is needed. Convert it with " +
          name + ".astype(\"int64\").");
}

// Whether items hold references, or are strings whose width changes: Python moves those
// (sowreap._objects).
bool needs_objects(const Input& data, const Input& updates, Reduction reduction) {
  if (!data.is_plain()) return true;
  return data.is_text() && data.descr()->type_num == updates.descr()->type_num &&
         (reduction != Reduction::none || data.view().item != updates.view().item);
}

template <class... Arguments>
Array run_objects(const char* name, const Arguments&... arguments) {
  return as_array(nb::module_::import_("sowreap._objects").attr(name)(arguments...));
}

void check_update_dtype(const char* op, const Input& data, const Input& updates) {
  if (PyArray_EquivTypes(data.descr(), updates.descr())) return;
  throw Error(Fault::dtype, op, updates.name(),
              std::string(updates.name()) + " has dtype " + updates.dtype_name() + " but " +
                  data.name() + " has dtype " + data.dtype_name() +
                  "; they must be equal. Convert with " + updates.name() + ".astype(" +
                  data.name() + ".dtype).");
}

void check_reducible(const char* op, const Input& data, Reduction reduction, nb::handle name) {
  if (is_reducible(data.view().dtype, reduction)) return;
  throw Error(Fault::dtype, op, "reduction",
              "reduction = " + shown(name) + " is not defined for data of dtype " +
                  data.dtype_name() + ".");
}

// At the end of the process Python ends daemon threads here by unwinding their stack, which must
// not pass the frames above: they touch objects, and some may not be unwound. Such a thread stays
// here.
void take_lock(PyThreadState* state) {
  try {
    PyEval_RestoreThread(state);
  } catch (...) {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
}

// The handlers of signals, which run in the main thread alone, for a call without the lock.
class Signals {
 public:
  explicit Signals(PyThreadState* state) : state_(state) {}

  PyThreadState* state() const { return state_; }
  bool raised() const { return raised_; }  // the error of Python is set

  // Runs handlers, and says whether one raised.
  static bool ask(void* self) { return static_cast<Signals*>(self)->handle(); }

 private:
  bool handle() {
    if (elsewhere_) return false;
    take_lock(state_);
    try {
      raised_ = PyErr_CheckSignals() != 0;
      if (!raised_) elsewhere_ = !is_main_thread();
    } catch (nb::python_error& error) {
      error.restore();
      raised_ = true;
    }
    state_ = PyEval_SaveThread();
    return raised_;
  }

  static bool is_main_thread() {
    const nb::module_ threading = nb::module_::import_("threading");
    return threading.attr("get_ident")().equal(threading.attr("main_thread")().attr("ident"));
  }

  PyThreadState* state_;
  bool elsewhere_ = false, raised_ = false;
};

// The lock is back before anything else of Python is touched again.
template <class AnyCall>
void run(AnyCall& call) {
  const double bytes = work_bytes(call);
  if (bytes < release_bytes) return execute(call);
  Signals signals(PyEval_SaveThread());
  std::exception_ptr failure;
  for (bool done = false; !done;) {
    Stop stop(&Signals::ask, &signals);
    const StopScope scope(bytes < stoppable_bytes ? nullptr : &stop);
    done = true;
    try {
      execute(call);
    } catch (const Stopped&) {
      done = signals.raised();  // otherwise a handler forked, and this is the child: begin again
    } catch (...) {
      failure = std::current_exception();
    }
  }
  take_lock(signals.state());
  if (signals.raised()) nb::raise_python_error();
  if (failure) std::rethrow_exception(failure);
}

// The end of all gathers, once shapes are checked. `make_plan` takes the view of the output. (The
// plan is large; made in place, it is never copied.)
template <class MakePlan>
Array finish_gather(const char* op, const Input& data, const Input& indices, const Shape& shape,
                    int axis, bool tuples, const OutOfRange& rule, const Out& out,
                    const MakePlan& make_plan) {
  Output output(op, out, shape, data, nullptr, {&data, &indices});
  Call call{make_plan(output.view()),
            {op, &data.view(), &indices.view(), axis, tuples, rule.mode},
            data.view().dtype,
            Reduction::none,
            nullptr,
            &output.view(),
            output.given(),
            true,
            rule.item(op, data)};
  run(call);
  return as_array(output.result());
}

Shape shape_of(const View& v) {
  Shape shape;
  for (int d = 0; d < v.rank; ++d) shape.append(v.shape[d]);
  return shape;
}

// How a scatter joins values, and what it does with an index out of range.
struct Joining {
  Reduction reduction;
  bool include_self;
  Mode mode;
  nb::handle reduction_name;

  Joining(const char* op, nb::handle reduction_in, nb::handle include_self_in, nb::handle mode_in)
      : reduction(Reduction::none),
        include_self(true),
        mode(parse_mode(op, mode_in, "drop")),
        reduction_name(reduction_in) {
    include_self = parse_include_self(op, include_self_in);
    reduction = parse_reduction(op, reduction_in);
  }
};

template <class MakePlan>
Array finish_scatter(const char* op, const Input& data, const Input& indices, const Input& updates,
                     const Joining& joining, int axis, bool tuples, const Out& out,
                     const MakePlan& make_plan) {
  check_update_dtype(op, data, updates);
  check_reducible(op, data, joining.reduction, joining.reduction_name);
  Output output(op, out, shape_of(data.view()), data, &data, {&data, &indices, &updates});
  Call call{make_plan(output.view()),
            {op, &data.view(), &indices.view(), axis, tuples, joining.mode},
            data.view().dtype,
            joining.reduction,
            output.is_base() ? nullptr : &data.view(),
            &output.view(),
            output.given(),
            joining.include_self};
  run(call);
  return as_array(output.result());
}

Array gather(nb::handle data_in, nb::handle indices_in, nb::handle axis_in, nb::handle mode,
             nb::handle fill_value, nb::handle out_in) {
  const char* op = "gather";
  Input data(op, "data", data_in), indices(op, "indices", indices_in);
  const OutOfRange rule(op, data, mode, fill_value);
  const std::int64_t given_axis = integer(op, "axis", axis_in);
  const Out out(op, out_in, data);
  look(op, out, {&data, &indices}, {axis_in, mode, fill_value, rule.fill});
  check_indices_dtype(op, indices);
  const Shape shape = gather_shape(data.view(), indices.view(), given_axis);
  const int axis = resolve_axis(op, given_axis, data.view(), "data");
  if (!data.is_plain())
    return run_objects("gather", data.object(), indices.object(), axis, rule.name, rule.fill,
                       out.given);
  return finish_gather(op, data, indices, shape, axis, false, rule, out, [&](const View& output) {
    return plan_gather(data.view(), indices.view(), axis, output);
  });
}

Array gather_elements(nb::handle data_in, nb::handle indices_in, nb::handle axis_in,
                      nb::handle mode, nb::handle fill_value, nb::handle out_in) {
  const char* op = "gather_elements";
  Input data(op, "data", data_in), indices(op, "indices", indices_in);
  const OutOfRange rule(op, data, mode, fill_value);
  const std::int64_t given_axis = integer(op, "axis", axis_in);
  const Out out(op, out_in, data);
  look(op, out, {&data, &indices}, {axis_in, mode, fill_value, rule.fill});
  check_indices_dtype(op, indices);
  const Shape shape = gather_elements_shape(data.view(), indices.view(), given_axis);
  const int axis = resolve_axis(op, given_axis, data.view(), "data");
  if (!data.is_plain())
    return run_objects("gather_elements", data.object(), indices.object(), axis, rule.name,
                       rule.fill, out.given);
  return finish_gather(op, data, indices, shape, axis, false, rule, out, [&](const View& output) {
    return plan_elements(data.view(), indices.view(), axis, output, false);
  });
}

Array gather_nd(nb::handle data_in, nb::handle indices_in, nb::handle batch_dims_in,
                nb::handle mode, nb::handle fill_value, nb::handle out_in) {
  const char* op = "gather_nd";
  Input data(op, "data", data_in), indices(op, "indices", indices_in);
  const OutOfRange rule(op, data, mode, fill_value);
  const std::int64_t batch_dims = integer(op, "batch_dims", batch_dims_in);
  const Out out(op, out_in, data);
  look(op, out, {&data, &indices}, {batch_dims_in, mode, fill_value, rule.fill});
  check_indices_dtype(op, indices);
  const Shape shape = gather_nd_shape(data.view(), indices.view(), batch_dims);
  const int batches = static_cast<int>(batch_dims);
  if (!data.is_plain())
    return run_objects("gather_nd", data.object(), indices.object(), batches, rule.name, rule.fill,
                       out.given);
  return finish_gather(op, data, indices, shape, batches, true, rule, out, [&](const View& output) {
    return plan_nd(data.view(), indices.view(), batches, output, false);
  });
}

Array scatter_along(const char* op, nb::handle data_in, nb::handle indices_in,
                    nb::handle updates_in, nb::handle axis_in, nb::handle reduction_in,
                    nb::handle include_self, nb::handle mode, nb::handle out_in) {
  Input data(op, "data", data_in), indices(op, "indices", indices_in),
      updates(op, "updates", updates_in, &data);
  const Joining joining(op, reduction_in, include_self, mode);
  const std::int64_t given_axis = integer(op, "axis", axis_in);
  const Out out(op, out_in, data);
  look(op, out, {&data, &indices, &updates}, {axis_in, reduction_in, include_self, mode});
  check_indices_dtype(op, indices);
  check_scatter_elements(op, data.view(), indices.view(), updates.view(), given_axis);
  const int axis = resolve_axis(op, given_axis, data.view(), "data");
  if (needs_objects(data, updates, joining.reduction)) {
    return run_objects("scatter_elements", op, data.object(), indices.object(), updates.object(),
                       axis, reduction_in, joining.include_self, mode, out.given);
  }
  return finish_scatter(op, data, indices, updates, joining, axis, false, out,
                        [&](const View& output) {
                          return plan_elements(output, indices.view(), axis, updates.view(), true);
                        });
}

Array scatter(nb::handle data, nb::handle indices, nb::handle updates, nb::handle axis,
              nb::handle mode, nb::handle out) {
  return scatter_along("scatter", data, indices, updates, axis, nb::str("none"),
                       nb::handle(Py_True), mode, out);
}

Array scatter_elements(nb::handle data, nb::handle indices, nb::handle updates, nb::handle axis,
                       nb::handle reduction, nb::handle include_self, nb::handle mode,
                       nb::handle out) {
  return scatter_along("scatter_elements", data, indices, updates, axis, reduction, include_self,
                       mode, out);
}

Array scatter_nd(nb::handle data_in, nb::handle indices_in, nb::handle updates_in,
                 nb::handle reduction_in, nb::handle include_self, nb::handle mode,
                 nb::handle out_in) {
  const char* op = "scatter_nd";
  Input data(op, "data", data_in), indices(op, "indices", indices_in),
      updates(op, "updates", updates_in, &data);
  const Joining joining(op, reduction_in, include_self, mode);
  const Out out(op, out_in, data);
  look(op, out, {&data, &indices, &updates}, {reduction_in, include_self, mode});
  check_indices_dtype(op, indices);
  check_scatter_nd(data.view(), indices.view(), updates.view());
  if (needs_objects(data, updates, joining.reduction)) {
    return run_objects("scatter_nd", data.object(), indices.object(), updates.object(),
                       reduction_in, joining.include_self, mode, out.given);
  }
  return finish_scatter(op, data, indices, updates, joining, 0, true, out, [&](const View& output) {
    return plan_nd(output, indices.view(), 0, updates.view(), true);
  });
}

bool parse_circular(const char* op, nb::handle mode) {
  if (is(mode, "linear")) return false;
  if (is(mode, "circular")) return true;
  throw Error(Fault::argument, op, "mode",
              "mode = " + shown(mode) + " is unknown; use \"linear\" or \"circular\".");
}

Array tensor_scatter(nb::handle past_cache_in, nb::handle update_in, nb::handle write_indices_in,
                     nb::handle axis_in, nb::handle mode, nb::handle out_in) {
  const char* op = "tensor_scatter";
  Input past_cache(op, "past_cache", past_cache_in), update(op, "update", update_in, &past_cache);
  std::optional<Input> write_indices;
  if (!write_indices_in.is_none()) write_indices.emplace(op, "write_indices", write_indices_in);
  const bool circular = parse_circular(op, mode);
  const std::int64_t given_axis = integer(op, "axis", axis_in);
  const Out out(op, out_in, past_cache);
  // Without write_indices the update stands in for it.
  Input& third = write_indices ? *write_indices : update;
  look(op, out, {&past_cache, &update, &third}, {mode, axis_in});
  if (write_indices) check_indices_dtype(op, *write_indices);
  const View* starts = write_indices ? &write_indices->view() : nullptr;
  const int axis = check_tensor_scatter(past_cache.view(), update.view(), starts, given_axis);
  if (needs_objects(past_cache, update, Reduction::none)) {
    return run_objects("tensor_scatter", past_cache.object(), update.object(),
                       write_indices ? write_indices->object() : nb::none(), axis, mode, out.given);
  }
  check_update_dtype(op, past_cache, update);
  Output output(op, out, shape_of(past_cache.view()), past_cache, &past_cache,
                {&past_cache, &update, &third});
  const CacheWrite call{&past_cache.view(), &update.view(), starts,           axis,
                        circular,           &output.view(), output.is_base(), output.given()};
  run(call);
  return as_array(output.result());
}

}  // namespace

void register_functions(nb::module_& m) {
  // Everything may be None here: what it then means, or the error, is for the functions above to
  // say.
  const auto arg = [](const char* name) { return nb::arg(name).none(); };
  m.def("gather", &gather, arg("data"), arg("indices"), arg("axis"), arg("mode"), arg("fill_value"),
        arg("out"));
  m.def("gather_elements", &gather_elements, arg("data"), arg("indices"), arg("axis"), arg("mode"),
        arg("fill_value"), arg("out"));
  m.def("gather_nd", &gather_nd, arg("data"), arg("indices"), arg("batch_dims"), arg("mode"),
        arg("fill_value"), arg("out"));
  m.def("scatter", &scatter, arg("data"), arg("indices"), arg("updates"), arg("axis"), arg("mode"),
        arg("out"));
  m.def("scatter_elements", &scatter_elements, arg("data"), arg("indices"), arg("updates"),
        arg("axis"), arg("reduction"), arg("include_self"), arg("mode"), arg("out"));
  m.def("scatter_nd", &scatter_nd, arg("data"), arg("indices"), arg("updates"), arg("reduction"),
        arg("include_self"), arg("mode"), arg("out"));
  m.def("tensor_scatter", &tensor_scatter, arg("past_cache"), arg("update"), arg("write_indices"),
        arg("axis"), arg("mode"), arg("out"));
}

}  // namespace sowreap::python
