// Convolutions, batch normalisations, poolings and GELU of MindSpore's graphs on CPU, computed by the oneDNN that
// MindSpore has loaded (libdnnl.so.3).
//
// MindSpore itself gives oneDNN images and weights in plain order, for which oneDNN has slow code only. Here oneDNN
// chooses the order of each, and they are reordered before and after, except for maps that go from one of these
// operators to the next. GELU is MindSpore's slowest activation function: it calls the C library for each value.
//
// Each function at the end has the form of MindSpore's custom operators (func_type="aot"): pointers and shapes of the
// inputs, then those of the outputs. MindSpore asks the function with "InferShape" after its name for the shape of a
// single output before there are values; -1 is not known yet. Exceptions become a RuntimeError of Python with their
// text.
//
// oneDNN has several implementations of most convolutions, and its first one is not always the fastest. If choices are
// kept, those that are possible are timed when a convolution is computed for the first time, on the data at hand.
//
// MindSpore's package has no headers of oneDNN, so what is used of its C interface is declared here.

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" {
typedef struct dnnl_engine *Engine;
typedef struct dnnl_stream *Stream;
typedef struct dnnl_memory *Memory;
typedef struct dnnl_memory_desc *Description;
typedef struct dnnl_primitive *Primitive;
typedef struct dnnl_primitive_desc *PrimitiveDescription;
typedef struct dnnl_primitive_attr *Attributes;
struct Argument {
    int index;
    Memory memory;
};
int dnnl_engine_create(Engine *, int kind, size_t index);
int dnnl_threadpool_interop_stream_create(Stream *, Engine, void *threads);
int dnnl_threadpool_interop_set_max_concurrency(int);
int dnnl_stream_wait(Stream);
int dnnl_memory_desc_create_with_tag(Description *, int axes, const int64_t *shape, int type, int order);
int dnnl_memory_desc_create_with_strides(Description *, int axes, const int64_t *shape, int type, const int64_t *);
int dnnl_memory_desc_clone(Description *, Description);
int dnnl_memory_desc_destroy(Description);
int dnnl_memory_desc_equal(Description, Description);
size_t dnnl_memory_desc_get_size(Description);
int dnnl_memory_create(Memory *, Description, Engine, void *);
int dnnl_memory_destroy(Memory);
int dnnl_memory_set_data_handle(Memory, void *);
int dnnl_primitive_create(Primitive *, PrimitiveDescription);
int dnnl_primitive_destroy(Primitive);
int dnnl_primitive_desc_destroy(PrimitiveDescription);
int dnnl_primitive_desc_next_impl(PrimitiveDescription);
int dnnl_primitive_desc_query(PrimitiveDescription, int what, int index, void *result);
int dnnl_primitive_execute(Primitive, Stream, int count, const Argument *);
Description dnnl_primitive_desc_query_md(PrimitiveDescription, int what, int index);
int dnnl_primitive_attr_create(Attributes *);
int dnnl_primitive_attr_destroy(Attributes);
int dnnl_primitive_attr_set_scratchpad_mode(Attributes, int);
int dnnl_reorder_primitive_desc_create(PrimitiveDescription *, Description, Engine, Description, Engine, Attributes);
int dnnl_convolution_forward_primitive_desc_create(PrimitiveDescription *, Engine, int propagation, int algorithm,
                                                   Description images, Description weights, Description bias,
                                                   Description maps, const int64_t *stride, const int64_t *dilation,
                                                   const int64_t *before, const int64_t *after, Attributes);
int dnnl_convolution_backward_data_primitive_desc_create(PrimitiveDescription *, Engine, int algorithm,
                                                         Description images, Description weights, Description maps,
                                                         const int64_t *stride, const int64_t *dilation,
                                                         const int64_t *before, const int64_t *after,
                                                         PrimitiveDescription forward, Attributes);
int dnnl_convolution_backward_weights_primitive_desc_create(PrimitiveDescription *, Engine, int algorithm,
                                                            Description images, Description weights, Description bias,
                                                            Description maps, const int64_t *stride,
                                                            const int64_t *dilation, const int64_t *before,
                                                            const int64_t *after, PrimitiveDescription forward,
                                                            Attributes);
int dnnl_batch_normalization_forward_primitive_desc_create(PrimitiveDescription *, Engine, int propagation,
                                                           Description values, Description results, float epsilon,
                                                           unsigned flags, Attributes);
int dnnl_batch_normalization_backward_primitive_desc_create(PrimitiveDescription *, Engine, int propagation,
                                                            Description of_values, Description of_results,
                                                            Description values, float epsilon, unsigned flags,
                                                            PrimitiveDescription forward, Attributes);
int dnnl_pooling_forward_primitive_desc_create(PrimitiveDescription *, Engine, int propagation, int algorithm,
                                               Description values, Description results, const int64_t *stride,
                                               const int64_t *window, const int64_t *dilation, const int64_t *before,
                                               const int64_t *after, Attributes);
int dnnl_pooling_backward_primitive_desc_create(PrimitiveDescription *, Engine, int algorithm, Description of_values,
                                                Description of_results, const int64_t *stride, const int64_t *window,
                                                const int64_t *dilation, const int64_t *before, const int64_t *after,
                                                PrimitiveDescription forward, Attributes);
int dnnl_get_effective_cpu_isa();
int dnnl_eltwise_forward_primitive_desc_create(PrimitiveDescription *, Engine, int propagation, int algorithm,
                                               Description values, Description results, float, float, Attributes);
int dnnl_eltwise_backward_primitive_desc_create(PrimitiveDescription *, Engine, int algorithm, Description of_values,
                                                Description of_results, Description values, float, float,
                                                PrimitiveDescription forward, Attributes);
}

// MindSpore's threads, as its headers threadpool.h and cpu_kernel.h declare them.
namespace mindspore {
class ThreadPool {
  public:
    int ParallelLaunch(const std::function<int(void *, int, float, float)> &task, void *content, int count);
};
class ActorThreadPool : public ThreadPool {};
namespace kernel {
ActorThreadPool *GetActorMgrInnerThreadPool();
}
} // namespace mindspore

namespace {

enum { CPU = 1, FORWARD_TRAINING = 64, FORWARD_INFERENCE = 96, BACKWARD = 128 };
enum { DIRECT = 1, SCRATCHPAD_OF_CALLER = 1, SCRATCHPAD_ARGUMENT = 80, AVX512 = 0x20 };
enum Order { ANY_ORDER = 1, BLOCKS_OF_16 = 78, BLOCKS_OF_8 = 102 }; // blocks of channels, which are side by side
enum Statistics { OF_BATCH = 2 | 4, GIVEN = OF_BATCH | 1 };         // flags: with gamma and beta, statistics are inputs
enum { FLOAT32 = 3 };
enum Query { IMPLEMENTATION = 8, WORKSPACE = 135, SCRATCHPAD = 136 };
enum Direction { FORWARD, OF_IMAGES, OF_WEIGHTS };
enum Task { USE, TRAIN, BACK };
enum Activation { GELU_BY_TANH = 0x2b, GELU_BY_ERF = 0x31 };

// The index of an argument when a primitive runs, and what queries its description, for images, weights and maps.
struct Role {
    int argument, query;
};
const Role ROLES[3][3] = {
    {{1, 129}, {33, 131}, {17, 133}},
    {{129, 130}, {33, 131}, {145, 134}},
    {{1, 129}, {161, 132}, {145, 134}},
};
const int VALUES = 1, RESULTS = 17, OF_VALUES = 129, OF_RESULTS = 145; // arguments of an activation function
const int MEAN = 49, VARIANCE = 50, GAMMA = 51, BETA = 52, OF_GAMMA = 255, OF_BETA = 256; // of a normalisation
const int MAXIMUM = 0x1ff, PLACES = 64;                                                      // of a pooling
const int RESULT[3] = {2, 0, 1}; // which of images, weights and maps is computed

const int64_t UNKNOWN = -1; // an axis whose size is not known yet
const size_t MOST_PLANS = 4096; // a program that meets images of ever new sizes must not keep a plan for each
const size_t PAGE = 4096;
const int MOST_TIMED = 4, ROUNDS = 3; // implementations, and runs of each after the first one
const size_t MOST_SPACE = 4;          // times the size of images, weights and maps: what needs more is not timed
const double HOPELESS = 2;            // times the least time of the first runs: no further run
const double FASTER = 0.95;           // of the time of an earlier one: chance alone must not choose
const size_t MOST_CHOICES = 10000;
const int STEP = 10000, PATIENCE = 30000; // microseconds between attempts to lock, and attempts in all: 5 minutes

using Shape = std::vector<int64_t>;
using Shapes = std::array<Shape, 3>;  // of images, weights and maps
using Data = std::array<void *, 3>;

void check(int status, const char *what) {
    if (status == 0) return;
    throw std::runtime_error(std::string("oneDNN cannot ") + what + ", status " + std::to_string(status));
}

// The cores that the process may use; a thread of MindSpore may be bound to one of them.
int cores() {
    cpu_set_t set;
    return sched_getaffinity(getpid(), sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

thread_local bool in_parallel = false;

// What oneDNN calls to run parts of a primitive at once: the virtual functions of its threadpool_iface, in their order.
// The threads are MindSpore's own, which wait for work in a loop: others would have to share the cores with them.
class Threads {
  public:
    virtual int get_num_threads() const { return count_; }
    virtual bool get_in_parallel() const { return in_parallel; }

    virtual void parallel_for(int count, const std::function<void(int, int)> &part) {
        if (count <= 1 || count_ == 1 || in_parallel) {
            for (int i = 0; i < count; i++) part(i, count);
            return;
        }
        const auto task = [&](void *, int i, float, float) {
            in_parallel = true;
            part(i, count);
            in_parallel = false;
            return 0;
        };
        if (pool_->ParallelLaunch(task, nullptr, count) != 0) throw std::runtime_error("MindSpore's threads failed");
    }

    virtual uint64_t get_flags() const { return 0; } // parallel_for returns when all parts are done
    virtual void wait() {}
    virtual ~Threads() {}

  private:
    const int count_ = std::max(cores(), 1);
    mindspore::ThreadPool *const pool_ = mindspore::kernel::GetActorMgrInnerThreadPool();
};

// oneDNN's processor and queue of work, made at the first call.
struct Device {
    Threads threads;
    Engine engine;
    Stream stream;

    Device() {
        check(dnnl_engine_create(&engine, CPU, 0), "use this processor");
        check(dnnl_threadpool_interop_stream_create(&stream, engine, &threads), "use threads");
    }
};

Device &device() {
    static Device *const only = new Device; // never freed: MindSpore may use it until the process ends
    return *only;
}

void run(Primitive primitive, const std::vector<Argument> &arguments) {
    check(dnnl_primitive_execute(primitive, device().stream, int(arguments.size()), arguments.data()), "compute");
    check(dnnl_stream_wait(device().stream), "compute");
}

size_t pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

Description described(const Shape &shape, Order order) {
    Description description;
    check(dnnl_memory_desc_create_with_tag(&description, int(shape.size()), shape.data(), FLOAT32, order), "describe");
    return description;
}

// In plain order.
Description plain(const Shape &shape) {
    Shape strides(shape.size(), 1);
    for (size_t i = shape.size() - 1; i > 0; i--) strides[i - 1] = strides[i] * shape[i];
    Description description;
    check(dnnl_memory_desc_create_with_strides(&description, int(shape.size()), shape.data(), FLOAT32, strides.data()),
          "describe");
    return description;
}

// In the order in which maps go from one of these operators to the next, and their gradients back: that for which
// oneDNN has its fast code here. The number of channels divides by 16, so it takes as much memory as the plain order.
Description blocks(const Shape &shape) {
    return described(shape, dnnl_get_effective_cpu_isa() & AVX512 ? BLOCKS_OF_16 : BLOCKS_OF_8);
}

// Images, weights or maps: in the order in which MindSpore has them, and in that in which oneDNN computes.
struct Operand {
    Description outer, inner;
    Memory outside = nullptr, inside = nullptr;
    Primitive reorder = nullptr; // none if the orders are the same
    size_t size;                 // bytes of `inside`

    // `given` belongs to it from now on; `chosen` is copied.
    Operand(Description given, Description chosen, bool result) : outer(given) {
        check(dnnl_memory_desc_clone(&inner, chosen), "describe");
        size = dnnl_memory_desc_get_size(inner);
        check(dnnl_memory_create(&outside, outer, device().engine, nullptr), "use memory");
        check(dnnl_memory_create(&inside, inner, device().engine, nullptr), "use memory");
        if (dnnl_memory_desc_equal(outer, inner)) return;
        PrimitiveDescription description;
        check(dnnl_reorder_primitive_desc_create(&description, result ? inner : outer, device().engine,
                                                 result ? outer : inner, device().engine, nullptr),
              "reorder");
        check(dnnl_primitive_create(&reorder, description), "reorder");
        dnnl_primitive_desc_destroy(description);
    }

    ~Operand() {
        if (reorder) dnnl_primitive_destroy(reorder);
        dnnl_memory_destroy(outside);
        dnnl_memory_destroy(inside);
        dnnl_memory_desc_destroy(outer);
        dnnl_memory_desc_destroy(inner);
    }

    size_t space() const { return reorder ? pages(size) : 0; }

    void place(void *data, char *&free) {
        check(dnnl_memory_set_data_handle(outside, data), "use memory");
        check(dnnl_memory_set_data_handle(inside, reorder ? free : data), "use memory");
        free += space();
    }

    void enter() const {
        if (reorder) run(reorder, {{1, outside}, {17, inside}});
    }

    void leave() const {
        if (reorder) run(reorder, {{1, inside}, {17, outside}});
    }
};

// What hccl_kit.ocr.cpu.convolution writes into the tensor of the geometry, in this order. The shape of that
// tensor holds what the size of the output depends on.
struct Geometry {
    int32_t stride[2], dilation[2], before[2], groups, images_in_blocks, maps_in_blocks;
};

// Memory that all convolutions use one after the other. It grows to what the largest of them needs.
class Space {
  public:
    char *of(size_t bytes) {
        if (bytes > size_) {
            release();
            start_ = static_cast<char *>(std::aligned_alloc(PAGE, pages(bytes)));
            if (!start_) throw std::runtime_error("no memory for a convolution: " + std::to_string(bytes) + " bytes");
            size_ = pages(bytes);
        }
        return start_;
    }

    void release() {
        std::free(start_);
        start_ = nullptr;
        size_ = 0;
    }

  private:
    char *start_ = nullptr;
    size_t size_ = 0;
} space;

// A convolution of certain shapes in one direction, ready to run.
class Plan {
  public:
    // By the implementation with this name or, without one, that with this number. Where there is none, by the first.
    Plan(Direction direction, const Shapes &shapes, const Geometry &geometry, const std::string &name, int number)
        : direction_(direction) {
        Shape weights = shapes[1];
        if (geometry.groups > 1) {
            weights[0] /= geometry.groups;
            weights.insert(weights.begin(), geometry.groups);
        }
        const Shapes grouped = {shapes[0], weights, shapes[2]};
        dnnl_threadpool_interop_set_max_concurrency(device().threads.get_num_threads());
        Attributes attributes;
        check(dnnl_primitive_attr_create(&attributes), "use attributes");
        check(dnnl_primitive_attr_set_scratchpad_mode(attributes, SCRATCHPAD_OF_CALLER), "use attributes");
        PrimitiveDescription forward = nullptr;
        if (direction != FORWARD) forward = describe(FORWARD, grouped, geometry, nullptr, attributes);
        PrimitiveDescription chosen = describe(direction, grouped, geometry, forward, attributes);
        number_ = 0;
        while (name.empty() ? number_ < number : named(chosen) != name) {
            if (dnnl_primitive_desc_next_impl(chosen) == 0) {
                number_++;
                continue;
            }
            dnnl_primitive_desc_destroy(chosen); // the last one
            chosen = describe(direction, grouped, geometry, forward, attributes);
            number_ = 0;
            break;
        }
        name_ = named(chosen);
        for (int i = 0; i < 3; i++) {
            Description inner = dnnl_primitive_desc_query_md(chosen, ROLES[direction][i].query, 0);
            const bool in_blocks = i == 0 ? geometry.images_in_blocks : i == 2 ? geometry.maps_in_blocks : false;
            Description outer = in_blocks ? blocks(grouped[i]) : plain(grouped[i]);
            operands_[i] = std::make_unique<Operand>(outer, inner, i == RESULT[direction]);
        }
        Description scratchpad = dnnl_primitive_desc_query_md(chosen, SCRATCHPAD, 0);
        scratchpad_size_ = dnnl_memory_desc_get_size(scratchpad);
        check(dnnl_memory_create(&scratchpad_, scratchpad, device().engine, nullptr), "use memory");
        check(dnnl_primitive_create(&primitive_, chosen), "compute this convolution");
        if (forward) dnnl_primitive_desc_destroy(forward);
        dnnl_primitive_desc_destroy(chosen);
        dnnl_primitive_attr_destroy(attributes);
    }

    ~Plan() {
        dnnl_primitive_destroy(primitive_);
        dnnl_memory_destroy(scratchpad_);
    }

    const std::string &name() const { return name_; }
    int number() const { return number_; }

    // Bytes that it needs besides images, weights and maps in plain order.
    size_t needed() const {
        size_t bytes = scratchpad_size_;
        for (const auto &operand : operands_) bytes += operand->space();
        return bytes;
    }

    size_t size_of_operands() const {
        size_t bytes = 0;
        for (const auto &operand : operands_) bytes += operand->size;
        return bytes;
    }

    void compute(const Data &data) const {
        char *free = space.of(needed());
        std::vector<Argument> arguments;
        for (int i = 0; i < 3; i++) {
            operands_[i]->place(data[i], free);
            arguments.push_back({ROLES[direction_][i].argument, operands_[i]->inside});
            if (i != RESULT[direction_]) operands_[i]->enter();
        }
        check(dnnl_memory_set_data_handle(scratchpad_, free), "use memory");
        arguments.push_back({SCRATCHPAD_ARGUMENT, scratchpad_});
        run(primitive_, arguments);
        operands_[RESULT[direction_]]->leave();
    }

  private:
    static std::string named(PrimitiveDescription description) {
        const char *name = nullptr;
        check(dnnl_primitive_desc_query(description, IMPLEMENTATION, 0, &name), "name its implementation");
        return name;
    }

    static PrimitiveDescription describe(Direction direction, const Shapes &shapes, const Geometry &geometry,
                                         PrimitiveDescription forward, Attributes attributes) {
        int64_t stride[2], dilation[2], before[2], after[2];
        for (int axis = 0; axis < 2; axis++) {
            const int64_t *image = &shapes[0].end()[-2], *kernel = &shapes[1].end()[-2], *map = &shapes[2].end()[-2];
            stride[axis] = geometry.stride[axis];
            dilation[axis] = geometry.dilation[axis] - 1; // oneDNN counts from 0
            const int64_t reach = (map[axis] - 1) * stride[axis] + (kernel[axis] - 1) * geometry.dilation[axis] + 1;
            before[axis] = geometry.before[axis];
            if (before[axis] < 0) before[axis] = std::max<int64_t>(reach - image[axis], 0) / 2; // pad_mode "same"
            after[axis] = reach - image[axis] - before[axis];
        }
        Description of[3];
        for (int i = 0; i < 3; i++) of[i] = described(shapes[i], ANY_ORDER);
        Engine engine = device().engine;
        PrimitiveDescription description = nullptr;
        int status = 0;
        if (direction == FORWARD)
            status = dnnl_convolution_forward_primitive_desc_create(&description, engine, FORWARD_TRAINING, DIRECT,
                                                                    of[0], of[1], nullptr, of[2], stride, dilation,
                                                                    before, after, attributes);
        if (direction == OF_IMAGES)
            status = dnnl_convolution_backward_data_primitive_desc_create(
                &description, engine, DIRECT, of[0], of[1], of[2], stride, dilation, before, after, forward,
                attributes);
        if (direction == OF_WEIGHTS)
            status = dnnl_convolution_backward_weights_primitive_desc_create(
                &description, engine, DIRECT, of[0], of[1], nullptr, of[2], stride, dilation, before, after, forward,
                attributes);
        for (Description operand : of) dnnl_memory_desc_destroy(operand);
        check(status, "compute this convolution");
        return description;
    }

    const Direction direction_;
    std::string name_;
    int number_;
    std::unique_ptr<Operand> operands_[3];
    Primitive primitive_ = nullptr;
    Memory scratchpad_ = nullptr;
    size_t scratchpad_size_ = 0;
};

// A file of lines that several processes append to, locked while it is open. Without it nothing is read or kept.
class Locked {
  public:
    // Waits for the lock in `patience` steps, which it counts down: a process that was stopped may hold it for ever.
    Locked(const char *path, int &patience) : path_(path) {
        file_ = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        writable_ = file_ >= 0;
        if (!writable_) file_ = open(path, O_RDONLY | O_CLOEXEC); // a cache that may only be read
        while (flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && patience-- > 0) usleep(STEP);
    }

    ~Locked() {
        flock(file_, LOCK_UN); // to close is not enough if a process was forked meanwhile
        close(file_);
    }

    std::string text() const {
        std::string text;
        char part[1 << 16];
        ssize_t count;
        while (text.size() < MOST_CHOICES * 100 && (count = read(file_, part, sizeof part)) > 0)
            text.append(part, count);
        return text;
    }

    void append(const std::string &line) const {
        if (writable_ && write(file_, line.data(), line.size()) < 0)
            std::fprintf(stderr, "warning: %s: %s\n", path_, std::strerror(errno));
    }

  private:
    const char *const path_;
    int file_;
    bool writable_;
};

// Which implementation is the fastest for a kind of convolution, by name. Kept in a file, a line each, that several
// processes read and write: who has its lock measures, and the others find the choice there.
class Choices {
  public:
    void keep_in(const char *path) { path_ = path; }
    int measured() const { return measured_; }

    std::unique_ptr<Plan> plan(Direction direction, const Shapes &shapes, const Geometry &geometry, const Data &data) {
        if (path_.empty()) return std::make_unique<Plan>(direction, shapes, geometry, "", 0);
        const std::string kind = described(direction, shapes, geometry);
        if (!known_.count(kind)) {
            const Locked file(path_.c_str(), patience_);
            read_all(file);
            if (!known_.count(kind)) {
                known_[kind] = fastest(direction, shapes, geometry, data);
                measured_++;
                if (known_.size() <= MOST_CHOICES) file.append(kind + " " + known_[kind] + "\n");
            }
        }
        return std::make_unique<Plan>(direction, shapes, geometry, known_[kind], 0);
    }

  private:
    // Sizes count in powers of two: images of all sizes do not need a measurement each.
    static std::string described(Direction direction, const Shapes &shapes, const Geometry &geometry) {
        int64_t pixels = shapes[2][0] * shapes[2][2] * shapes[2][3], power = 0;
        while (pixels >>= 1) power++;
        std::string text = std::to_string(direction) + "," + std::to_string(power);
        for (int64_t axis : shapes[1]) text += "," + std::to_string(axis);
        const int32_t *numbers = geometry.stride;
        for (size_t i = 0; i < sizeof(Geometry) / sizeof(int32_t); i++) text += "," + std::to_string(numbers[i]);
        return text;
    }

    void read_all(const Locked &file) {
        std::istringstream lines(file.text());
        for (std::string line, kind, name, more; std::getline(lines, line);) {
            std::istringstream words(line);
            if (words >> kind >> name && !(words >> more)) known_.emplace(kind, name); // else it was cut off
        }
    }

    static double seconds(const Plan &plan, const Data &data) {
        const auto start = std::chrono::steady_clock::now();
        plan.compute(data);
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }

    // The least of some runs of each counts, in turn: other programs may use the processor too.
    static std::string fastest(Direction direction, const Shapes &shapes, const Geometry &geometry, const Data &data) {
        std::vector<std::pair<double, std::unique_ptr<Plan>>> timed;
        double least = 0;
        for (int number = 0; number < MOST_TIMED; number++) {
            auto plan = std::make_unique<Plan>(direction, shapes, geometry, "", number);
            if (number > 0 && (plan->number() == 0 || plan->name().rfind("ref", 0) == 0)) break;
            if (number > 0 && plan->needed() > MOST_SPACE * plan->size_of_operands()) continue;
            const double warm = seconds(*plan, data);
            if (number > 0 && warm > HOPELESS * least) continue;
            least = number > 0 ? std::min(least, warm) : warm;
            timed.emplace_back(warm, std::move(plan));
        }
        for (int round = 0; round < ROUNDS && timed.size() > 1; round++)
            for (auto &one : timed) one.first = std::min(one.first, seconds(*one.second, data));
        auto best = timed.begin();
        for (auto one = timed.begin(); one != timed.end(); one++)
            if (one->first < FASTER * best->first) best = one;
        space.release(); // what the slower ones needed
        return best->second->name();
    }

    std::string path_;
    std::map<std::string, std::string> known_;
    int measured_ = 0;
    int patience_ = PATIENCE;
} choices;

std::mutex mutex; // of all that follows: a graph may run operators at once, and each of them uses all cores

// What is ready to run, by all that it depends on.
template <class Key, class Ready> class Prepared {
  public:
    template <class Make> const Ready &of(const Key &key, Make make) {
        auto found = ready_.find(key);
        if (found == ready_.end()) {
            if (ready_.size() >= MOST_PLANS) ready_.clear();
            found = ready_.emplace(key, make()).first;
        }
        return *found->second;
    }

  private:
    std::map<Key, std::unique_ptr<Ready>> ready_;
};

// Computes one of images, weights and maps from the other two. `geometry` is one of the inputs.
int compute(Direction direction, const Data &data, const Shapes &shapes, const void *geometry) {
    static Prepared<Shape, Plan> plans;
    std::lock_guard<std::mutex> guard(mutex);
    const int32_t *numbers = static_cast<const int32_t *>(geometry);
    Shape key{direction};
    for (const Shape &shape : shapes) key.insert(key.end(), shape.begin(), shape.end());
    key.insert(key.end(), numbers, numbers + sizeof(Geometry) / sizeof(int32_t));
    const auto make = [&] { return choices.plan(direction, shapes, *static_cast<const Geometry *>(geometry), data); };
    plans.of(key, make).compute(data);
    return 0;
}

// What hccl_kit.ocr.cpu.blocks writes into the tensor of a normalisation.
struct Numbers {
    float epsilon, results_in_blocks;
};

// A batch normalisation of maps of a shape, or its gradient, ready to run. A convolution has written the values, in
// blocks; the gradient of them goes back to it in the same order.
class Normalisation {
  public:
    Normalisation(bool gradient, Statistics statistics, const Shape &shape, const Numbers &numbers)
        : gradient_(gradient) {
        dnnl_threadpool_interop_set_max_concurrency(device().threads.get_num_threads());
        Description values = blocks(shape), channels = plain({shape[1]});
        Engine engine = device().engine;
        Attributes attributes;
        check(dnnl_primitive_attr_create(&attributes), "use attributes");
        check(dnnl_primitive_attr_set_scratchpad_mode(attributes, SCRATCHPAD_OF_CALLER), "use attributes");
        PrimitiveDescription forward, backward = nullptr;
        const int propagation = gradient || statistics == OF_BATCH ? FORWARD_TRAINING : FORWARD_INFERENCE;
        check(dnnl_batch_normalization_forward_primitive_desc_create(&forward, engine, propagation, values, values,
                                                                     numbers.epsilon, statistics, attributes),
              "compute this normalisation");
        if (gradient)
            check(dnnl_batch_normalization_backward_primitive_desc_create(
                      &backward, engine, BACKWARD, values, values, values, numbers.epsilon, statistics, forward,
                      attributes),
                  "compute the gradient of this normalisation");
        PrimitiveDescription chosen = gradient ? backward : forward;
        Description scratchpad = dnnl_primitive_desc_query_md(chosen, SCRATCHPAD, 0);
        scratchpad_size_ = dnnl_memory_desc_get_size(scratchpad);
        check(dnnl_memory_create(&scratchpad_, scratchpad, engine, nullptr), "use memory");
        check(dnnl_primitive_create(&primitive_, chosen), "compute this normalisation");
        Description outer = numbers.results_in_blocks > 0 ? blocks(shape) : plain(shape);
        results_ = std::make_unique<Operand>(outer, values, !gradient);
        for (int i = 0; i < 2; i++) check(dnnl_memory_create(&values_[i], values, engine, nullptr), "use memory");
        for (Memory &memory : channels_) check(dnnl_memory_create(&memory, channels, engine, nullptr), "use memory");
        dnnl_primitive_desc_destroy(forward);
        if (backward) dnnl_primitive_desc_destroy(backward);
        dnnl_primitive_attr_destroy(attributes);
        dnnl_memory_desc_destroy(values);
        dnnl_memory_desc_destroy(channels);
    }

    ~Normalisation() {
        dnnl_primitive_destroy(primitive_);
        dnnl_memory_destroy(scratchpad_);
        for (Memory memory : values_) dnnl_memory_destroy(memory);
        for (Memory memory : channels_) dnnl_memory_destroy(memory);
    }

    // `results`, or their gradient, and `values`; mean, variance, gamma and, forwards, beta. Backwards: where the
    // gradients of values, gamma and beta go.
    void compute(void *results, void *values, const std::array<void *, 4> &channels, const Data &computed) const {
        char *free = space.of(pages(scratchpad_size_) + results_->space());
        std::vector<Argument> arguments;
        const auto add = [&](int index, Memory memory, void *data) {
            check(dnnl_memory_set_data_handle(memory, data), "use memory");
            arguments.push_back({index, memory});
        };
        add(SCRATCHPAD_ARGUMENT, scratchpad_, free);
        free += pages(scratchpad_size_);
        results_->place(results, free);
        arguments.push_back({gradient_ ? OF_RESULTS : RESULTS, results_->inside});
        add(VALUES, values_[0], values);
        for (int i = 0; i < (gradient_ ? 3 : 4); i++) add(MEAN + i, channels_[i], channels[i]);
        if (gradient_) {
            add(OF_VALUES, values_[1], computed[0]);
            add(OF_GAMMA, channels_[4], computed[1]);
            add(OF_BETA, channels_[5], computed[2]);
            results_->enter();
        }
        run(primitive_, arguments);
        if (!gradient_) results_->leave();
    }

  private:
    const bool gradient_;
    Primitive primitive_;
    Memory scratchpad_, values_[2], channels_[6];
    size_t scratchpad_size_;
    std::unique_ptr<Operand> results_;
};

int normalise(bool gradient, Statistics statistics, const Shape &shape, const void *given, void *results,
              void *values, const std::array<void *, 4> &channels, const Data &computed) {
    static Prepared<std::pair<Shape, float>, Normalisation> plans;
    std::lock_guard<std::mutex> guard(mutex);
    const Numbers &numbers = *static_cast<const Numbers *>(given);
    std::pair<Shape, float> key(shape, numbers.epsilon);
    key.first.insert(key.first.end(), {gradient, statistics, numbers.results_in_blocks > 0});
    const auto make = [&] { return std::make_unique<Normalisation>(gradient, statistics, shape, numbers); };
    plans.of(key, make).compute(results, values, channels, computed);
    return 0;
}

// The maximum in each window, or its gradient, ready to run. Values and results are in blocks.
class Pooling {
  public:
    Pooling(Task task, const Shape &shape, const Shape &smaller, const int64_t *window) : task_(task) {
        dnnl_threadpool_interop_set_max_concurrency(device().threads.get_num_threads());
        const int64_t none[2] = {0, 0};
        Description values = blocks(shape), results = blocks(smaller);
        Engine engine = device().engine;
        PrimitiveDescription forward, backward = nullptr;
        check(dnnl_pooling_forward_primitive_desc_create(&forward, engine,
                                                         task == USE ? FORWARD_INFERENCE : FORWARD_TRAINING, MAXIMUM,
                                                         values, results, window, window, none, none, none, nullptr),
              "compute this pooling");
        if (task == BACK)
            check(dnnl_pooling_backward_primitive_desc_create(&backward, engine, MAXIMUM, values, results, window,
                                                              window, none, none, none, forward, nullptr),
                  "compute the gradient of this pooling");
        Description places = dnnl_primitive_desc_query_md(forward, WORKSPACE, 0);
        if (task != USE && dnnl_memory_desc_get_size(places) > dnnl_memory_desc_get_size(results))
            throw std::runtime_error("the places of the maxima of a pooling take more memory than the maxima");
        check(dnnl_primitive_create(&primitive_, backward ? backward : forward), "compute this pooling");
        for (Description description : {values, results, places}) {
            if (description == places && task == USE) break;
            memories_.push_back(nullptr);
            check(dnnl_memory_create(&memories_.back(), description, engine, nullptr), "use memory");
        }
        dnnl_primitive_desc_destroy(forward);
        if (backward) dnnl_primitive_desc_destroy(backward);
        dnnl_memory_desc_destroy(values);
        dnnl_memory_desc_destroy(results);
    }

    ~Pooling() {
        dnnl_primitive_destroy(primitive_);
        for (Memory memory : memories_) dnnl_memory_destroy(memory);
    }

    // Values, results and the places of the maxima. Backwards: the gradients of values and results, and the places.
    void compute(const Data &data) const {
        const int indices[3] = {task_ == BACK ? OF_VALUES : VALUES, task_ == BACK ? OF_RESULTS : RESULTS, PLACES};
        std::vector<Argument> arguments;
        for (size_t i = 0; i < memories_.size(); i++) {
            check(dnnl_memory_set_data_handle(memories_[i], data[i]), "use memory");
            arguments.push_back({indices[i], memories_[i]});
        }
        run(primitive_, arguments);
    }

  private:
    const Task task_;
    Primitive primitive_;
    std::vector<Memory> memories_;
};

int pool(Task task, const Shape &shape, const Shape &smaller, const int64_t *window, const Data &data) {
    static Prepared<Shape, Pooling> plans;
    std::lock_guard<std::mutex> guard(mutex);
    Shape key = shape;
    key.insert(key.end(), smaller.begin(), smaller.end());
    key.insert(key.end(), {window[0], window[1], task});
    plans.of(key, [&] { return std::make_unique<Pooling>(task, shape, smaller, window); }).compute(data);
    return 0;
}

// An activation function of so many values, or its gradient, ready to run.
class Curve {
  public:
    Curve(Activation kind, bool gradient, int64_t count) : gradient_(gradient) {
        dnnl_threadpool_interop_set_max_concurrency(device().threads.get_num_threads());
        const int64_t stride = 1;
        Description row;
        check(dnnl_memory_desc_create_with_strides(&row, 1, &count, FLOAT32, &stride), "describe");
        PrimitiveDescription forward, backward = nullptr;
        Engine engine = device().engine;
        check(dnnl_eltwise_forward_primitive_desc_create(&forward, engine, FORWARD_TRAINING, kind, row, row, 0, 0,
                                                         nullptr),
              "compute this activation function");
        if (gradient)
            check(dnnl_eltwise_backward_primitive_desc_create(&backward, engine, kind, row, row, row, 0, 0, forward,
                                                              nullptr),
                  "compute the gradient of this activation function");
        check(dnnl_primitive_create(&primitive_, gradient ? backward : forward), "compute this activation function");
        for (Memory &memory : memories_) check(dnnl_memory_create(&memory, row, engine, nullptr), "use memory");
        dnnl_primitive_desc_destroy(forward);
        if (backward) dnnl_primitive_desc_destroy(backward);
        dnnl_memory_desc_destroy(row);
    }

    ~Curve() {
        dnnl_primitive_destroy(primitive_);
        for (Memory memory : memories_) dnnl_memory_destroy(memory);
    }

    // From the values to the results, or from the values and the gradient of the results to that of the values.
    void compute(const Data &data) const {
        const std::vector<int> indices =
            gradient_ ? std::vector<int>{VALUES, OF_RESULTS, OF_VALUES} : std::vector<int>{VALUES, RESULTS};
        std::vector<Argument> arguments;
        for (size_t i = 0; i < indices.size(); i++) {
            check(dnnl_memory_set_data_handle(memories_[i], data[i]), "use memory");
            arguments.push_back({indices[i], memories_[i]});
        }
        run(primitive_, arguments);
    }

  private:
    const bool gradient_;
    Primitive primitive_;
    Memory memories_[3];
};

int activate(Activation kind, bool gradient, const Data &data, const Shape &shape) {
    static Prepared<Shape, Curve> curves;
    std::lock_guard<std::mutex> guard(mutex);
    int64_t count = 1;
    for (int64_t axis : shape) count *= axis;
    const Shape key = {kind, gradient, count};
    curves.of(key, [&] { return std::make_unique<Curve>(kind, gradient, count); }).compute(data);
    return 0;
}

Shape shape(const int *axes, int64_t *const *shapes, int i) { return Shape(shapes[i], shapes[i] + axes[i]); }

} // namespace

// Keep the choices of implementations in this file, which is read when the first one is needed.
extern "C" void keep_choices(const char *path) {
    std::lock_guard<std::mutex> guard(mutex);
    choices.keep_in(path);
}

// How many choices this process has measured.
extern "C" int measured_choices() {
    std::lock_guard<std::mutex> guard(mutex);
    return choices.measured();
}

// Images, weights, geometry: maps. Also the gradient of the maps of a transposed convolution.
extern "C" int forward(int, void **data, int *axes, int64_t **shapes, const char **, void *, void *) {
    return compute(FORWARD, {data[0], data[1], data[3]},
                   {shape(axes, shapes, 0), shape(axes, shapes, 1), shape(axes, shapes, 3)}, data[2]);
}

extern "C" Shape forwardInferShape(int *, int64_t **shapes, void *) {
    const int64_t *images = shapes[0], *weights = shapes[1], *geometry = shapes[2];
    Shape maps = {images[0], weights[0], UNKNOWN, UNKNOWN};
    for (int axis = 0; axis < 2; axis++) {
        const int64_t size = images[2 + axis], kernel = weights[2 + axis], stride = geometry[axis];
        const int64_t dilation = geometry[2 + axis], around = geometry[4 + axis] - 2;
        if (size < 0) continue;
        const int64_t reach = dilation * (kernel - 1) + 1;
        const bool same = around < 0; // pad_mode "same"
        if (!same && size + around < reach)
            throw std::runtime_error("images are smaller than the kernel of a convolution: " + std::to_string(size) +
                                     " rows or columns for " + std::to_string(kernel));
        maps[2 + axis] = same ? (size + stride - 1) / stride : (size + around - reach) / stride + 1;
    }
    return maps;
}

// Maps, weights, geometry: the images of a transposed convolution.
extern "C" int transposed(int, void **data, int *axes, int64_t **shapes, const char **, void *, void *) {
    return compute(OF_IMAGES, {data[3], data[1], data[0]},
                   {shape(axes, shapes, 3), shape(axes, shapes, 1), shape(axes, shapes, 0)}, data[2]);
}

extern "C" Shape transposedInferShape(int *, int64_t **shapes, void *) {
    const int64_t *maps = shapes[0], *weights = shapes[1], *geometry = shapes[2];
    Shape images = {maps[0], weights[1] * geometry[6], UNKNOWN, UNKNOWN};
    for (int axis = 0; axis < 2; axis++)
        if (maps[2 + axis] >= 0) images[2 + axis] = (maps[2 + axis] - 1) * geometry[axis] + weights[2 + axis];
    return images;
}

// Gradient of the maps, weights, geometry, images for their shape: gradient of the images.
extern "C" int of_images(int, void **data, int *axes, int64_t **shapes, const char **, void *, void *) {
    return compute(OF_IMAGES, {data[4], data[1], data[0]},
                   {shape(axes, shapes, 4), shape(axes, shapes, 1), shape(axes, shapes, 0)}, data[2]);
}

extern "C" Shape of_imagesInferShape(int *axes, int64_t **shapes, void *) { return shape(axes, shapes, 3); }

// Images, gradient of the maps, geometry, weights for their shape: gradient of the weights.
extern "C" int of_weights(int, void **data, int *axes, int64_t **shapes, const char **, void *, void *) {
    return compute(OF_WEIGHTS, {data[0], data[4], data[1]},
                   {shape(axes, shapes, 0), shape(axes, shapes, 4), shape(axes, shapes, 1)}, data[2]);
}

extern "C" Shape of_weightsInferShape(int *axes, int64_t **shapes, void *) { return shape(axes, shapes, 3); }

// Values in blocks, a tensor that is as large as the window: the maximum in each window.
extern "C" int pool_blocks(int, void **data, int *axes, int64_t **shapes, const char **, void *, void *) {
    return pool(USE, shape(axes, shapes, 0), shape(axes, shapes, 2), shapes[1], {data[0], data[2], nullptr});
}

extern "C" Shape pool_blocksInferShape(int *axes, int64_t **shapes, void *) {
    Shape smaller = shape(axes, shapes, 0);
    for (int axis = 0; axis < 2; axis++) {
        if (smaller[2 + axis] < 0) continue;
        smaller[2 + axis] /= shapes[1][axis];
        if (smaller[2 + axis] == 0) throw std::runtime_error("maps are smaller than the window of a pooling");
    }
    return smaller;
}

// The same, and the places of the maxima.
extern "C" int pool_blocks_in_training(int, void **data, int *axes, int64_t **shapes, const char **, void *, void *) {
    return pool(TRAIN, shape(axes, shapes, 0), shape(axes, shapes, 2), shapes[1], {data[0], data[2], data[3]});
}

// Gradient of the results, the places, values for their shape, the window: gradient of the values.
extern "C" int of_pool_blocks(int, void **data, int *axes, int64_t **shapes, const char **, void *, void *) {
    return pool(BACK, shape(axes, shapes, 2), shape(axes, shapes, 0), shapes[3], {data[4], data[0], data[1]});
}

extern "C" Shape of_pool_blocksInferShape(int *axes, int64_t **shapes, void *) { return shape(axes, shapes, 2); }

// Values in blocks, gamma, beta, numbers: results, mean and variance of the batch.
extern "C" int normalise_batch(int, void **data, int *axes, int64_t **shapes, const char **, void *, void *) {
    return normalise(false, OF_BATCH, shape(axes, shapes, 0), data[3], data[4], data[0],
                     {data[5], data[6], data[1], data[2]}, {});
}

// Gradient of the results, values in blocks, mean, variance, gamma, numbers: gradients of the values, gamma and beta.
extern "C" int of_normalise_batch(int, void **data, int *axes, int64_t **shapes, const char **, void *, void *) {
    return normalise(true, OF_BATCH, shape(axes, shapes, 0), data[5], data[0], data[1],
                     {data[2], data[3], data[4]}, {data[6], data[7], data[8]});
}

// Values in blocks, mean, variance, gamma, beta, numbers: results with the statistics that are given.
extern "C" int normalise_given(int, void **data, int *axes, int64_t **shapes, const char **, void *, void *) {
    return normalise(false, GIVEN, shape(axes, shapes, 0), data[5], data[6], data[0],
                     {data[1], data[2], data[3], data[4]}, {});
}

extern "C" Shape normalise_givenInferShape(int *axes, int64_t **shapes, void *) { return shape(axes, shapes, 0); }

// As of_normalise_batch, with the statistics that are given.
extern "C" int of_normalise_given(int, void **data, int *axes, int64_t **shapes, const char **, void *, void *) {
    return normalise(true, GIVEN, shape(axes, shapes, 0), data[5], data[0], data[1],
                     {data[2], data[3], data[4]}, {data[6], data[7], data[8]});
}

// Values: the activation function of each. With the gradient of the results after the values: that of the values.
extern "C" int gelu_by_tanh(int, void **data, int *axes, int64_t **shapes, const char **, void *, void *) {
    return activate(GELU_BY_TANH, false, {data[0], data[1]}, shape(axes, shapes, 0));
}

extern "C" int of_gelu_by_tanh(int, void **data, int *axes, int64_t **shapes, const char **, void *, void *) {
    return activate(GELU_BY_TANH, true, {data[0], data[1], data[2]}, shape(axes, shapes, 0));
}

extern "C" int gelu_by_erf(int, void **data, int *axes, int64_t **shapes, const char **, void *, void *) {
    return activate(GELU_BY_ERF, false, {data[0], data[1]}, shape(axes, shapes, 0));
}

extern "C" int of_gelu_by_erf(int, void **data, int *axes, int64_t **shapes, const char **, void *, void *) {
    return activate(GELU_BY_ERF, true, {data[0], data[1], data[2]}, shape(axes, shapes, 0));
}

extern "C" Shape gelu_by_tanhInferShape(int *axes, int64_t **shapes, void *) { return shape(axes, shapes, 0); }
extern "C" Shape of_gelu_by_tanhInferShape(int *axes, int64_t **shapes, void *) { return shape(axes, shapes, 0); }
extern "C" Shape gelu_by_erfInferShape(int *axes, int64_t **shapes, void *) { return shape(axes, shapes, 0); }
extern "C" Shape of_gelu_by_erfInferShape(int *axes, int64_t **shapes, void *) { return shape(axes, shapes, 0); }
