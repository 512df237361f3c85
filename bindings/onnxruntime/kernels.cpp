// A node in a session: its attributes once, then a call of the core for each run.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "operators.hpp"
#include "sowreap/error.hpp"
#include "sowreap/execute.hpp"
#include "sowreap/shape.hpp"
#include "sowreap/small.hpp"
#include "sowreap/threads.hpp"
#include "strings.hpp"
#include "tensor.hpp"

namespace sowreap::ort {
namespace {

constexpr std::int64_t most_threads = 1024;  // that work is divided among

struct Kernel {
  const TypedOp* type;
  Table table;
  std::size_t inputs = 0;
  std::int64_t axis = 0;  // or batch_dims
  Reduction reduction = Reduction::none;
  bool circular = false;
  bool visible = false;  // the output may be memory of the user
  int threads = 0;       // of the session; 0: unknown
  bool constant = false;
  std::vector<Bounds> bounds;  // of constant indices

  const Operator& op() const { return *type->op; }
  const Runtime& runtime() const { return *type->runtime; }
};

// ---- attributes ----

std::int64_t int_attribute(Table table, const KernelInfo* info, const char* name,
                           std::int64_t missing) {
  std::int64_t value = 0;
  return succeeded(table, get_int(table, info, name, &value)) ? value : missing;
}

std::string text_attribute(Table table, const KernelInfo* info, const char* name,
                           const char* missing) {
  std::size_t size = 0;
  if (!succeeded(table, get_text(table, info, name, nullptr, &size)) || size == 0) return missing;
  std::string text(size, '\0');
  if (!succeeded(table, get_text(table, info, name, text.data(), &size))) return missing;
  return text.c_str();  // the size counts a zero at the end
}

std::string node_name(Table table, const KernelInfo* info) {
  std::size_t size = 0;
  if (!succeeded(table, get_node_name(table, info, nullptr, &size)) || size == 0) return "";
  std::string text(size, '\0');
  if (!succeeded(table, get_node_name(table, info, text.data(), &size))) return "";
  return text.c_str();
}

Reduction parse_reduction(const char* op, const std::string& name) {
  if (name == "none") return Reduction::none;
  if (name == "add") return Reduction::add;
  if (name == "mul") return Reduction::mul;
  if (name == "min") return Reduction::min;
  if (name == "max") return Reduction::max;
  throw Error(Fault::argument, op, "reduction",
              "reduction = \"" + name +
                  "\" is unknown; use \"none\", \"add\", \"mul\", \"min\" or \"max\".");
}

bool parse_circular(const char* op, const std::string& mode) {
  if (mode == "linear") return false;
  if (mode == "circular") return true;
  throw Error(Fault::argument, op, "mode",
              "mode = \"" + mode + "\" is unknown; use \"linear\" or \"circular\".");
}

void read_attributes(Kernel& kernel, const KernelInfo* info) {
  const Table table = kernel.table;
  const Operator& op = kernel.op();
  const bool is_cache = op.kind == Kind::tensor_scatter;
  kernel.axis = op.kind == Kind::gather_nd ? int_attribute(table, info, "batch_dims", 0)
                                           : int_attribute(table, info, "axis", is_cache ? -2 : 0);
  kernel.visible = int_attribute(table, info, "visible", 0) != 0;
  // A model of a stranger may hold any number.
  kernel.threads = static_cast<int>(
      std::clamp<std::int64_t>(int_attribute(table, info, "threads", 0), 0, most_threads));
  if (is_cache) {
    kernel.circular = parse_circular(op.name, text_attribute(table, info, "mode", "linear"));
  } else if (op.kind == Kind::scatter_elements || op.kind == Kind::scatter_nd) {
    kernel.reduction = parse_reduction(op.name, text_attribute(table, info, "reduction", "none"));
  }
  const bool is_text = kernel.type->data->bytes == 0;
  const bool text_reducible = kernel.reduction <= Reduction::add;
  if (is_text ? !text_reducible : !is_reducible(kernel.type->data->dtype, kernel.reduction)) {
    throw Error(Fault::dtype, op.name, "reduction",
                "reduction is not defined for data of this type; strings have \"none\" and "
                "\"add\".");
  }
}

// Constant indices are looked at once.
void read_constant(Kernel& kernel, const KernelInfo* info) {
  if (kernel.op().kind == Kind::tensor_scatter) return;
  int is_constant = 0;
  const Value* value = nullptr;
  const auto position = static_cast<std::size_t>(kernel.op().indices);
  if (!succeeded(kernel.table,
                 get_constant_input(kernel.table, info, position, &is_constant, &value)) ||
      is_constant == 0 || value == nullptr)
    return;
  const Tensor indices(kernel.runtime(), value, *kernel.type->indices);
  if (kernel.op().tuples && indices.view().rank == 0) return;  // an error of the run
  kernel.bounds = find_bounds(indices.view(), kernel.op().tuples);
  kernel.constant = true;
}

// ---- a run ----

// The pool of the session, for the calls of one run.
class SessionPool {
 public:
  SessionPool(const Kernel& kernel, KernelContext* context)
      : table_(kernel.table),
        context_(context),
        executor_{kernel.threads > 0 ? kernel.threads : thread_count(), run, this},
        scope_(executor_) {}

 private:
  static void run(void* self, int workers, Executor::Work work, void* context) {
    const SessionPool& pool = *static_cast<SessionPool*>(self);
    Status* status = parallel_for(pool.table_, pool.context_, work,
                                  static_cast<std::size_t>(workers), 0, context);
    if (!succeeded(pool.table_, status)) work(context, 0);
  }

  Table table_;
  KernelContext* context_;
  Executor executor_;
  ExecutorScope scope_;
};

const Value* input(const Kernel& kernel, KernelContext* context, int position) {
  const auto at = static_cast<std::size_t>(position);
  if (at >= kernel.inputs) return nullptr;
  const Value* value = nullptr;
  check(kernel.table, get_input(kernel.table, context, at, &value));
  return value;
}

Value* output(const Kernel& kernel, KernelContext* context, const std::int64_t* sizes, int rank) {
  Value* value = nullptr;
  check(kernel.table,
        get_output(kernel.table, context, 0, sizes, static_cast<std::size_t>(rank), &value));
  return value;
}

Value* output(const Kernel& kernel, KernelContext* context, const Shape& shape) {
  return output(kernel, context, shape.sizes, shape.rank);
}

Value* output(const Kernel& kernel, KernelContext* context, const Tensor& like) {
  return output(kernel, context, like.view().shape, like.view().rank);
}

std::int64_t item_bytes(const Kernel& kernel) {
  const std::int64_t bytes = kernel.type->data->bytes;
  return bytes == 0 ? sizeof(std::string) : bytes;
}

// Before anything of the size of the output is allocated.
void check_output(const Kernel& kernel, const Shape& shape) {
  check_allocation(kernel.op().name, shape, item_bytes(kernel));
}

// (What is in memory has been counted; counting it again takes longer than small calls can spare.)
void check_output(const Kernel& kernel, const Tensor& like) {
  if (like.count() * item_bytes(kernel) > result_limit())
    check_output(kernel, shape_of(like.view()));
}

[[noreturn, gnu::cold]] void report_overlap(const Kernel& kernel, const char* name) {
  throw Error(Fault::argument, kernel.op().name, name,
              std::string(name) + " shares memory with the output that was bound" +
                  (is_gather(kernel.op().kind) ? "" : " without being all of data") +
                  ". Bind another one.");
}

// The memory of an output is the user's choice where it is bound.
void refuse_overlap(const Kernel& kernel, const Tensor& out, const Tensor& in, const char* name) {
  if (out.overlaps(in)) report_overlap(kernel, name);
}

Shape gathered_shape(const Kernel& kernel, const View& data, const View& indices) {
  switch (kernel.op().kind) {
    case Kind::gather:
      return gather_shape(data, indices, kernel.axis);
    case Kind::gather_elements:
      return gather_elements_shape(data, indices, kernel.axis);
    default:
      return gather_nd_shape(data, indices, kernel.axis);
  }
}

void check_scatter(const Kernel& kernel, const View& data, const View& indices,
                   const View& updates) {
  if (kernel.op().kind == Kind::scatter_nd) return check_scatter_nd(data, indices, updates);
  check_scatter_elements(kernel.op().name, data, indices, updates, kernel.axis);
}

// `other`: the output of a gather, the updates of a scatter. `target`: what a scatter writes.
Call make_call(const Kernel& kernel, const View& data, const View& indices, const View& other,
               const View* target) {
  const Operator& op = kernel.op();
  const bool scatter = target != nullptr;
  const View& addressed = scatter ? *target : data;
  const int axis = op.kind == Kind::scatter_nd  ? 0
                   : op.kind == Kind::gather_nd ? static_cast<int>(kernel.axis)
                                                : resolve_axis(op.name, kernel.axis, data, "data");
  const bool in_place = scatter && target->bytes == data.bytes;
  const IndexRule rule{op.name, &data, &indices, axis, op.tuples};
  // (Where constant tuples are expanded along their components, their bounds are too few.)
  const std::size_t components =
      op.tuples ? static_cast<std::size_t>(indices.shape[indices.rank - 1]) : 1;
  const bool good =
      kernel.constant && kernel.bounds.size() == components && are_within(kernel.bounds, rule);
  return {op.tuples                 ? plan_nd(addressed, indices, axis, other, scatter)
          : op.kind == Kind::gather ? plan_gather(data, indices, axis, other)
                                    : plan_elements(addressed, indices, axis, other, scatter),
          rule,
          data.dtype,
          scatter ? kernel.reduction : Reduction::none,
          scatter && !in_place ? &data : nullptr,
          scatter ? target : &other,
          (kernel.visible || in_place) && !good};
}

bool moved_if_small(const Kernel& kernel, const View& data, const View& indices, const View& other,
                    const View* target) {
  const Kind kind = kernel.op().kind;
  const bool tuples = kernel.op().tuples;
  if (kind == Kind::gather_nd && kernel.axis != 0) return false;
  const Address address = tuples                 ? Address::tuples
                          : kind == Kind::gather ? Address::cells
                                                 : Address::elements;
  const int axis = tuples ? 0 : resolve_axis(kernel.op().name, kernel.axis, data, "data");
  const bool scatter = target != nullptr, in_place = scatter && target->bytes == data.bytes;
  return move_if_small({address, axis, scatter, scatter ? target : &data, &indices, &other,
                        scatter && !in_place ? &data : nullptr});
}

// Plans a call and does it; one of few items without a plan. Of `other` and `target` see make_call.
void move(const Kernel& kernel, KernelContext* context, const View& data, const View& indices,
          const View& other, const View* target) {
  const bool plain = target == nullptr || kernel.reduction == Reduction::none;
  if (plain && moved_if_small(kernel, data, indices, other, target)) return;
  const SessionPool pool(kernel, context);
  Call call = make_call(kernel, data, indices, other, target);
  execute(call);
}

// Of the positions of strings.
Gather mover(const Kernel& kernel, KernelContext* context, const Tensor& indices) {
  return [&kernel, context, &indices](const View& positions, const View& picked) {
    move(kernel, context, positions, indices.view(), picked, nullptr);
  };
}

void read_indices(const Kernel& kernel, KernelContext* context, Tensor& indices) {
  indices.read(kernel.runtime(), input(kernel, context, 1), *kernel.type->indices);
  if (const Value* shape = input(kernel, context, kernel.op().inputs - 1))
    indices.expand(kernel.op().name, kernel.runtime(), shape);
}

void gather(const Kernel& kernel, KernelContext* context) {
  const ElementType& type = *kernel.type->data;
  const Tensor data(kernel.runtime(), input(kernel, context, 0), type);
  Tensor indices;
  read_indices(kernel, context, indices);
  const Shape shape = gathered_shape(kernel, data.view(), indices.view());
  check_output(kernel, shape);
  if (type.bytes == 0) {
    return gather_text(kernel.table, data, shape, mover(kernel, context, indices),
                       [&] { return output(kernel, context, shape); });
  }
  const Tensor out(kernel.runtime(), output(kernel, context, shape), type, shape);
  refuse_overlap(kernel, out, indices, "indices");
  refuse_overlap(kernel, out, data, "data");
  move(kernel, context, data.view(), indices.view(), out.view(), nullptr);
}

void scatter(const Kernel& kernel, KernelContext* context) {
  const ElementType& type = *kernel.type->data;
  const Tensor data(kernel.runtime(), input(kernel, context, 0), type);
  Tensor indices;
  read_indices(kernel, context, indices);
  const Tensor updates(kernel.runtime(), input(kernel, context, 2), type);
  check_scatter(kernel, data.view(), indices.view(), updates.view());
  check_output(kernel, data);
  if (type.bytes == 0) {
    return scatter_text(kernel.table, data, updates, kernel.reduction == Reduction::add,
                        mover(kernel, context, indices),
                        [&] { return output(kernel, context, data); });
  }
  const Tensor out(kernel.runtime(), output(kernel, context, data), data);
  refuse_overlap(kernel, out, indices, "indices");
  refuse_overlap(kernel, out, updates, "updates");
  if (out.view().bytes != data.view().bytes) refuse_overlap(kernel, out, data, "data");
  move(kernel, context, data.view(), indices.view(), updates.view(), &out.view());
}

// (What follows is apart from write_cache: nodes on a few items spend most of their time there.)
[[gnu::noinline]] void write_text_rows(const Kernel& kernel, KernelContext* context,
                                       const Tensor& past_cache, const Tensor& update,
                                       const View* starts, int axis) {
  const SessionPool pool(kernel, context);
  write_text_cache(kernel.table, past_cache, update, starts, axis, kernel.circular,
                   [&] { return output(kernel, context, past_cache); });
}

[[gnu::noinline]] void write_large(const Kernel& kernel, KernelContext* context,
                                   const CacheWrite& call) {
  const SessionPool pool(kernel, context);
  execute(call);
}

void write_cache(const Kernel& kernel, KernelContext* context) {
  const ElementType& type = *kernel.type->data;
  const Tensor past_cache(kernel.runtime(), input(kernel, context, 0), type);
  const Tensor update(kernel.runtime(), input(kernel, context, 1), type);
  Tensor write_indices;
  const Value* given = input(kernel, context, 2);
  if (given != nullptr) write_indices.read(kernel.runtime(), given, *kernel.type->indices);
  const View* starts = given != nullptr ? &write_indices.view() : nullptr;
  const int axis = check_tensor_scatter(past_cache.view(), update.view(), starts, kernel.axis);
  check_output(kernel, past_cache);
  if (type.bytes == 0) return write_text_rows(kernel, context, past_cache, update, starts, axis);
  const Tensor out(kernel.runtime(), output(kernel, context, past_cache), past_cache);
  if (given != nullptr) refuse_overlap(kernel, out, write_indices, "write_indices");
  refuse_overlap(kernel, out, update, "update");
  const bool in_place = out.view().bytes == past_cache.view().bytes;
  if (!in_place) refuse_overlap(kernel, out, past_cache, "past_cache");
  const CacheWrite call{&past_cache.view(), &update.view(), starts,  axis,
                        kernel.circular,    &out.view(),    in_place};
  if (!write_if_small(call)) write_large(kernel, context, call);
}

// Calls `work`; makes what it throws a status of the runtime.
template <class Work>
Status* guarded(Table table, std::string_view where, const Work& work) {
  try {
    work();
    return nullptr;
  } catch (const Error& error) {
    return create_status(table, invalid_argument, (std::string(where) + error.message).c_str());
  } catch (const Failure& failure) {
    return create_status(table, fail, failure.text.c_str());
  } catch (const std::bad_alloc&) {
    return create_status(table, fail, "sowreap: out of memory");
  } catch (const std::exception& error) {
    return create_status(table, runtime_exception, error.what());
  } catch (...) {
    return create_status(table, runtime_exception, "sowreap: an unknown error");
  }
}

}  // namespace

Status* SOWREAP_ORT_CALL create_kernel(const CustomOp* op, Table table, const KernelInfo* info,
                                       void** made) {
  const auto* type = static_cast<const TypedOp*>(op);
  std::string where;
  try {
    const std::string name = node_name(table, info);
    where = "node '" + name + "' (" + type->op->onnx_name + "): ";
  } catch (...) {
    return create_status(table, fail, "sowreap: out of memory");
  }
  return guarded(table, where, [&] {
    auto kernel = std::make_unique<Kernel>();
    kernel->type = type;
    kernel->table = table;
    check(table, get_input_count(table, info, &kernel->inputs));
    read_attributes(*kernel, info);
    read_constant(*kernel, info);
    *made = kernel.release();
  });
}

// Not instrumented, as whatever another library calls on its threads.
[[gnu::no_sanitize_thread]] Status* SOWREAP_ORT_CALL run_kernel(void* self,
                                                                KernelContext* context) {
  const Kernel& kernel = *static_cast<const Kernel*>(self);
  return guarded(kernel.table, "", [&] {
    const Kind kind = kernel.op().kind;
    if (kind == Kind::tensor_scatter) return write_cache(kernel, context);
    is_gather(kind) ? gather(kernel, context) : scatter(kernel, context);
  });
}

void SOWREAP_ORT_CALL destroy_kernel(void* kernel) { delete static_cast<Kernel*>(kernel); }

}  // namespace sowreap::ort
