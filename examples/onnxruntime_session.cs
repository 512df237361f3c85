// A converted model in C#, through onnxruntime's C interface, with nothing of Python in the process.
//
//   sowreap convert model.onnx -o converted.onnx
//   mcs onnxruntime_session.cs
//   mono onnxruntime_session.exe LIBONNXRUNTIME LIBSOWREAP converted.onnx
//
// LIBONNXRUNTIME is onnxruntime's shared library (the wheel from PyPI has it in onnxruntime/capi),
// LIBSOWREAP the file that `sowreap convert` named. The model has inputs `data` (float, [n]),
// `indices` (int64, [m, 1]) and `updates` (float, [m]), and an output `output`.
//
// Programs with the package Microsoft.ML.OnnxRuntime need no declarations like those below: there,
// options.RegisterCustomOpLibrary(path) is all that is added to a session.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.InteropServices;
using System.Text;

static class Native
{
    const int Now = 2;

    [DllImport("libdl.so.2")]
    static extern IntPtr dlopen(byte[] path, int flags);

    [DllImport("libdl.so.2")]
    static extern IntPtr dlsym(IntPtr library, byte[] name);

    // Paths, names and messages are UTF-8 and end with a zero.
    public static byte[] Text(string value)
    {
        return Encoding.UTF8.GetBytes(value + '\0');
    }

    public static string Text(IntPtr address)
    {
        var bytes = new List<byte>();
        for (byte item; (item = Marshal.ReadByte(address, bytes.Count)) != 0;) bytes.Add(item);
        return Encoding.UTF8.GetString(bytes.ToArray());
    }

    public static IntPtr Symbol(string path, string name)
    {
        var library = dlopen(Text(path), Now);
        if (library == IntPtr.Zero) throw new DllNotFoundException(path);
        var symbol = dlsym(library, Text(name));
        if (symbol == IntPtr.Zero) throw new EntryPointNotFoundException(name);
        return symbol;
    }

    public static T Function<T>(IntPtr address)
    {
        return Marshal.GetDelegateForFunctionPointer<T>(address);
    }
}

// The table of functions; each has its place for ever.
sealed class Api
{
    const uint Version = 18;
    enum Slot
    {
        GetErrorMessage = 2, CreateEnv = 3, CreateSession = 7, Run = 9, CreateSessionOptions = 10,
        RegisterCustomOpsLibrary = 29, CreateTensorWithDataAsOrtValue = 49,
        GetTensorMutableData = 51, CreateCpuMemoryInfo = 69, ReleaseEnv = 92, ReleaseStatus = 93,
        ReleaseMemoryInfo = 94, ReleaseSession = 95, ReleaseValue = 96, ReleaseSessionOptions = 100,
    }

    delegate IntPtr BaseFunction();
    delegate IntPtr ApiFunction(uint version);
    delegate IntPtr MessageFunction(IntPtr status);
    delegate void ReleaseFunction(IntPtr handle);
    delegate IntPtr EnvFunction(int level, byte[] name, out IntPtr env);
    delegate IntPtr OptionsFunction(out IntPtr options);
    delegate IntPtr RegisterFunction(IntPtr options, byte[] path, out IntPtr library);
    delegate IntPtr SessionFunction(IntPtr env, byte[] path, IntPtr options, out IntPtr session);
    delegate IntPtr MemoryFunction(int allocator, int kind, out IntPtr memory);
    delegate IntPtr TensorFunction(IntPtr memory, IntPtr data, UIntPtr size, long[] shape,
                                   UIntPtr rank, int type, out IntPtr value);
    delegate IntPtr RunFunction(IntPtr session, IntPtr options, IntPtr[] inputNames,
                                IntPtr[] inputs, UIntPtr inputCount, IntPtr[] outputNames,
                                UIntPtr outputCount, IntPtr[] outputs);
    delegate IntPtr DataFunction(IntPtr value, out IntPtr data);

    readonly IntPtr table;
    public readonly string RuntimeVersion;

    public Api(string library)
    {
        var address = Native.Symbol(library, "OrtGetApiBase");
        var start = Native.Function<BaseFunction>(address)();
        var version = Marshal.ReadIntPtr(start, IntPtr.Size);
        RuntimeVersion = Native.Text(Native.Function<BaseFunction>(version)());
        table = Native.Function<ApiFunction>(Marshal.ReadIntPtr(start))(Version);
        if (table == IntPtr.Zero)
            throw new NotSupportedException("onnxruntime " + RuntimeVersion + " is too old");
    }

    T At<T>(Slot slot)
    {
        return Native.Function<T>(Marshal.ReadIntPtr(table, (int)slot * IntPtr.Size));
    }

    void Check(IntPtr status)
    {
        if (status == IntPtr.Zero) return;
        var message = Native.Text(At<MessageFunction>(Slot.GetErrorMessage)(status));
        At<ReleaseFunction>(Slot.ReleaseStatus)(status);
        throw new InvalidOperationException(message);
    }

    public IntPtr Env()
    {
        const int warning = 2;
        IntPtr env;
        Check(At<EnvFunction>(Slot.CreateEnv)(warning, Native.Text("example"), out env));
        return env;
    }

    public IntPtr Options(string kernels)
    {
        IntPtr options, library;
        Check(At<OptionsFunction>(Slot.CreateSessionOptions)(out options));
        var register = At<RegisterFunction>(Slot.RegisterCustomOpsLibrary);
        Check(register(options, Native.Text(kernels), out library));
        return options;
    }

    public IntPtr Session(IntPtr env, string model, IntPtr options)
    {
        IntPtr session;
        var create = At<SessionFunction>(Slot.CreateSession);
        Check(create(env, Native.Text(model), options, out session));
        return session;
    }

    public IntPtr Memory()
    {
        const int arena = 1, normal = 0;
        IntPtr memory;
        Check(At<MemoryFunction>(Slot.CreateCpuMemoryInfo)(arena, normal, out memory));
        return memory;
    }

    // The tensor is the array itself, which has to stay where it is.
    public IntPtr Tensor(IntPtr memory, GCHandle items, params long[] shape)
    {
        const int float32 = 1, int64 = 7;
        var array = (Array)items.Target;
        var size = new UIntPtr((ulong)Buffer.ByteLength(array));
        var type = array is float[] ? float32 : int64;
        IntPtr value;
        Check(At<TensorFunction>(Slot.CreateTensorWithDataAsOrtValue)(
            memory, items.AddrOfPinnedObject(), size, shape, new UIntPtr((uint)shape.Length), type,
            out value));
        return value;
    }

    public IntPtr Run(IntPtr session, string[] inputNames, IntPtr[] inputs, string outputName)
    {
        var names = inputNames.Concat(new[] { outputName }).Select(Pinned).ToArray();
        var addresses = names.Select(name => name.AddrOfPinnedObject()).ToArray();
        var outputs = new IntPtr[1];
        try
        {
            Check(At<RunFunction>(Slot.Run)(
                session, IntPtr.Zero, addresses, inputs, new UIntPtr((uint)inputs.Length),
                new[] { addresses.Last() }, new UIntPtr(1), outputs));
        }
        finally
        {
            foreach (var name in names) name.Free();
        }
        return outputs[0];
    }

    static GCHandle Pinned(string name)
    {
        return GCHandle.Alloc(Native.Text(name), GCHandleType.Pinned);
    }

    public float[] Floats(IntPtr value, int count)
    {
        IntPtr data;
        Check(At<DataFunction>(Slot.GetTensorMutableData)(value, out data));
        var items = new float[count];
        Marshal.Copy(data, items, 0, count);
        return items;
    }

    public void ReleaseValue(IntPtr value) { At<ReleaseFunction>(Slot.ReleaseValue)(value); }

    public void Release(IntPtr env, IntPtr options, IntPtr session, IntPtr memory)
    {
        At<ReleaseFunction>(Slot.ReleaseMemoryInfo)(memory);
        At<ReleaseFunction>(Slot.ReleaseSession)(session);
        At<ReleaseFunction>(Slot.ReleaseSessionOptions)(options);
        At<ReleaseFunction>(Slot.ReleaseEnv)(env);
    }
}

static class Program
{
    static int Main(string[] arguments)
    {
        if (arguments.Length != 3)
        {
            Console.Error.WriteLine("usage: onnxruntime_session LIBONNXRUNTIME LIBSOWREAP MODEL");
            return 2;
        }
        try
        {
            Show(new Api(arguments[0]), arguments[1], arguments[2]);
            return 0;
        }
        catch (Exception error)
        {
            Console.Error.WriteLine(error.Message);
            return 1;
        }
    }

    static void Show(Api api, string kernels, string model)
    {
        Console.WriteLine("onnxruntime " + api.RuntimeVersion);
        var env = api.Env();
        var options = api.Options(kernels);
        var session = api.Session(env, model, options);
        var memory = api.Memory();

        const int count = 100000;
        var arrays = new Array[] {
            new float[4],
            Enumerable.Range(0, count).Select(i => (long)(i % 3)).ToArray(),
            Enumerable.Repeat(1f, count).ToArray(),
        };
        var pinned = arrays.Select(each => GCHandle.Alloc(each, GCHandleType.Pinned)).ToArray();
        var inputs = new[] {
            api.Tensor(memory, pinned[0], 4),
            api.Tensor(memory, pinned[1], count, 1),
            api.Tensor(memory, pinned[2], count),
        };
        var output = api.Run(session, new[] { "data", "indices", "updates" }, inputs, "output");
        foreach (var sum in api.Floats(output, 4)) Console.WriteLine(sum);

        api.ReleaseValue(output);
        foreach (var input in inputs) api.ReleaseValue(input);
        foreach (var handle in pinned) handle.Free();
        api.Release(env, options, session, memory);
    }
}
