// The compression fingerprint of profiles: what counts as a compressed exchange, and what must not.
#include <doctest/doctest.h>

#include <deque>

#include "analyzers/analyzers.h"
#include "analyzers/name_kinds.h"
#include "src/timeline/builder.h"

using namespace gradsync;

namespace {

// As in rules/kernels.toml, short.
const std::vector<NameClass> kRows{
    {"^c10d::", "comm"},
    {"^## encoder fp16", "compress", "quantise", "codec", "float16"},
    {"^## decoder", "decompress", "reconstruct", "codec"},
    {"^aten::topk$|gatherTopK", "compress", "select"},
    {"NonZeroOp", "compress", "compact"},
    {"^aten::mm$|gemm", "other", "low-rank"},
    {"^aten::scatter_$|scatter_kernel", "decompress", "reconstruct"},
    {"to_half", "other", "quantise", "pair", "float16"},
    {"to_float", "other", "reconstruct", "pair"},
    {"round", "other", "quantise", "beside"},
    {"^aten::add_$", "other", "error-feedback", "beside"},
    {"^copy", "other"},
};

const std::string kNode = "autograd::engine::evaluate_function: ";
const std::string kHook = kNode + "torch::autograd::AccumulateGrad";

// Three equal steps of one rank, written in microseconds after the step's start: 1000 each.
class Trace {
 public:
  struct Item {
    Event event;
    std::string name, dtype;
    std::int64_t elements = -1, threads = 0;
  };

  Trace& range(const std::string& name, int start, int end, std::uint32_t thread = 1) {
    return add(Kind::range, name, start, end, LaneId{thread});
  }
  // A kernel and the call that launched it.
  Trace& kernel(const std::string& name, int called, int start, int end, std::uint32_t thread = 1) {
    add(Kind::host_call, "cudaLaunchKernel", called, called + 1, LaneId{thread}).items_.back().event.correlation =
        ++calls_;
    add(Kind::kernel, name, start, end, LaneId{kStreamLaneBit | 7}).items_.back().event.correlation = calls_;
    return *this;
  }
  Trace& collective(const std::string& name, int called, int start, int end, std::int64_t bytes = 0,
                    const std::string& dtype = "", std::uint32_t thread = 1) {
    kernel(name, called, start, end, thread);
    Item& item = items_.back();
    item.event.kind = Kind::collective;
    item.event.lane = LaneId{kStreamLaneBit | 20};
    item.event.bytes = bytes;
    item.dtype = dtype;
    return *this;
  }
  Trace& threads(std::int64_t count) { return items_.back().threads = count, *this; }
  Trace& elements(std::int64_t count) { return items_.back().elements = count, *this; }
  // On the host, by a thread of the backend.
  Trace& on_host(const std::string& name, int start, int end) {
    return add(Kind::collective, name, start, end, LaneId{9});
  }

  Conclusions fingerprint(const Facts& known = {}, Origin origin = Origin::watched) const {
    TimelineBuilder builder;
    ProcessInfo process;
    process.host = "n";
    process.pid = 1;
    builder.begin_process(process);
    builder.fact("rank", "0");
    std::uint64_t reference = 0;
    for (int step = 0; step < 3; ++step) {
      Event mark;
      mark.kind = Kind::step;
      mark.source = Source::profiler;
      mark.step = static_cast<std::uint32_t>(step);
      mark.start = step * 1'000'000 + 1;
      mark.end = mark.start + 1'000'000;
      mark.reference = ++reference;
      builder.event(mark);
      for (const Item& item : items_) {
        Event event = item.event;
        event.name = builder.intern(item.name);
        event.start += mark.start;
        event.end += mark.start;
        if (event.correlation != 0) event.correlation += static_cast<std::uint64_t>(step) * 1000;
        event.reference = ++reference;
        builder.event(event);
        if (!item.dtype.empty()) builder.attribute(reference, builder.intern("dtype"), builder.intern(item.dtype));
        if (item.elements >= 0) builder.attribute(reference, builder.intern("elements"), item.elements);
        if (item.threads > 0) builder.attribute(reference, builder.intern("threads"), item.threads);
      }
    }
    Inputs inputs;
    inputs.origin = origin;
    inputs.operator_classes = kRows;
    Summary all;
    const std::unique_ptr<Analyzer> analyzer = make_fingerprint();
    for (const RankTimeline& rank : builder.build()) analyzer->summarise(rank, inputs, all);
    all.canonicalise();
    Conclusions conclusions;
    conclusions.facts = known;
    analyzer->conclude(all, inputs, conclusions);
    return conclusions;
  }

 private:
  Trace& add(Kind kind, const std::string& name, int start, int end, LaneId lane) {
    Item item;
    item.event.kind = kind;
    item.event.source = Source::profiler;
    item.event.lane = lane;
    item.event.start = start * 1000;
    item.event.end = end * 1000;
    item.name = name;
    items_.push_back(item);
    return *this;
  }
  std::vector<Item> items_;
  std::uint64_t calls_ = 0;
};

std::string label(const Conclusions& found) {
  const auto fact = found.facts.find("compression.fingerprint");
  return fact == found.facts.end() ? "(silent)" : fact->second;
}

double value(const Conclusions& found, const char* name, const char* scope = "all") {
  const auto metric = found.metrics.value(name, scope);
  REQUIRE_MESSAGE(metric.has_value(), name);
  return *metric;
}

}  // namespace

TEST_CASE("a hook that selects, gathers and scatters") {
  const Conclusions found = Trace()
                                .range(kHook, 100, 400)
                                .kernel("gatherTopK<float>", 110, 120, 140)
                                .kernel("NonZeroOp", 115, 140, 150)
                                .collective("all_gather", 130, 160, 200, 4000)
                                .collective("all_gather", 140, 200, 240, 8000)
                                .kernel("scatter_kernel", 150, 250, 260)
                                .fingerprint();
  CHECK(label(found) == "select+compact → all_gather → reconstruct");
  CHECK(value(found, "compress.kernels_per_step") == 3);
  CHECK(value(found, "compress.kernel_ms") == doctest::Approx(0.030));
  CHECK(value(found, "decompress.kernel_ms", "rank:0") == doctest::Approx(0.010));
  CHECK(value(found, "compress.wire_bytes") == 12000);
  CHECK_FALSE(found.facts.contains("compression.wire_dtype"));
}

TEST_CASE("the same kernels in forward or in a node of backward are the model's own (mixture of experts)") {
  for (const std::string& around : {std::string("DistributedDataParallel.forward"), kNode + "IndexBackward0"}) {
    Trace trace;
    trace.range(around, 100, 400)
        .kernel("gatherTopK<float>", 110, 120, 140)
        .collective("all_to_all", 130, 160, 200)
        .kernel("scatter_kernel", 150, 250, 260);
    CHECK(label(trace.fingerprint()) == "(silent)");
    trace.range(kHook, 500, 600).collective("all_reduce", 510, 520, 540, 4000, "float32");
    const Conclusions found = trace.fingerprint();
    CHECK(label(found) == "none");
    CHECK_FALSE(found.metrics.value("compress.kernel_ms", "all"));
  }
}

TEST_CASE("the user's code between backward and the optimiser") {
  Trace trace;
  trace.range(kNode + "MmBackward0", 100, 200)
      .kernel("gatherTopK<float>", 210, 210, 230)
      .collective("all_gather", 220, 240, 260);
  CHECK(label(trace.fingerprint()) == "select → all_gather");  // the next step ends it
  trace.range("Optimizer.step#SGD.step", 205, 206);
  CHECK(label(trace.fingerprint()) == "(silent)");  // behind the optimiser nobody handles gradients
}

TEST_CASE("narrowing right before and widening right behind: the element type of the wire and its bytes") {
  const auto exchange = [](const char* behind) {
    return Trace()
        .range(kNode + "ToCopyBackward0", 100, 400)
        .kernel("to_half", 110, 150, 180)
        .threads(1024)
        .collective("send_recv", 130, 140, 200)  // begins before its input is done, as streams' stamps do
        .kernel(behind, 150, 200, 210)
        .fingerprint();
  };
  const Conclusions found = exchange("to_float");
  CHECK(label(found) == "quantise → send_recv → reconstruct");
  CHECK(found.facts.at("compression.wire_dtype") == "float16");
  CHECK(value(found, "compress.wire_bytes") == 1024 * 4 * 2);
  CHECK(label(exchange("copy")) == "(silent)");  // mixed precision
}

TEST_CASE("inside a codec's range every kernel is the codec's; the call says what NCCL's sends were") {
  const Conclusions found = Trace()
                                .range("## encoder fp16 None ##", 100, 120)
                                .kernel("clamp", 105, 130, 140)
                                .kernel("to_half", 110, 140, 160)
                                .range("nccl:all_to_all", 125, 135)
                                .collective("send_recv", 130, 160, 200)
                                .range("## decoder fp16 None ##", 140, 160)
                                .kernel("to_float", 150, 200, 210)
                                .fingerprint();
  CHECK(label(found) == "quantise → all_to_all → reconstruct");
  CHECK(value(found, "compress.kernel_ms") == doctest::Approx(0.030));
  CHECK_FALSE(found.metrics.value("compress.wire_bytes", "all"));  // nobody tells
}

TEST_CASE("codes of one byte against rounding alone; a short message of codes is none") {
  const auto exchange = [](std::int64_t elements) {
    return label(Trace()
                     .range(kHook, 100, 400)
                     .kernel("round", 110, 120, 140)
                     .collective("all_gather", 130, 160, 200, elements, "uint8")
                     .elements(elements)
                     .fingerprint());
  };
  CHECK(exchange(100'000) == "quantise → all_gather");
  CHECK(exchange(100) == "none");
}

TEST_CASE("a scalar's exchange carries no gradient, whatever was issued before it") {
  const Conclusions found = Trace()
                                .range(kHook, 100, 400)
                                .kernel("gatherTopK<float>", 110, 120, 140)
                                .collective("all_reduce", 130, 160, 200, 4, "float32")
                                .elements(1)
                                .fingerprint();
  CHECK(label(found) == "none");
}

TEST_CASE("without a device: operators, and the thread that asked; sums of the gradient are no error feedback") {
  const Conclusions found = Trace()
                                .range(kHook, 100, 400)
                                .range("torch::autograd::AccumulateGrad", 101, 103)
                                .range("aten::add_", 103, 104)
                                .range("aten::topk", 110, 140)
                                .range("c10d::allgather_", 150, 152)
                                .on_host("all_gather", 151, 250)
                                .range("aten::scatter_", 260, 270)
                                .fingerprint();
  CHECK(label(found) == "select → all_gather → reconstruct");
  CHECK(value(found, "compress.kernel_ms") == doctest::Approx(0.030));
}

TEST_CASE("factors: products in a hook are low rank, in the optimiser they are its own") {
  const auto exchange = [](const std::string& around) {
    return label(Trace()
                     .range(around, 100, 400)
                     .kernel("gemm", 110, 120, 140)
                     .collective("all_reduce", 130, 160, 200, 4000, "float32")
                     .kernel("gemm", 150, 210, 220)
                     .fingerprint());
  };
  CHECK(exchange(kHook) == "low-rank → all_reduce → reconstruct");
  CHECK(exchange("Optimizer.step#Muon.step") == "none");
}

TEST_CASE("kernels that no row knows, between the gradient and its collective, longest first") {
  Trace trace;
  trace.kernel("elsewhere", 10, 10, 90).range(kHook, 100, 400);
  for (int i = 0; i < 60; ++i) trace.kernel("mine_" + std::to_string(i), 110 + i, 110 + i, 111 + 2 * i);
  trace.kernel("copy_flat", 200, 200, 300).collective("all_reduce", 230, 360, 400, 4000, "float32");
  const Series series = trace.fingerprint().series.at("unknown_kernels");
  CHECK(series.columns == std::vector<std::string>{"name", "count", "total_ms"});
  REQUIRE(series.rows.size() == 50);
  CHECK(std::get<std::string>(series.rows[0][0]) == "mine_59");
  CHECK(std::get<std::int64_t>(series.rows[0][1]) == 3);
  CHECK(std::get<double>(series.rows[0][2]) == doctest::Approx(3 * 0.060));
}

TEST_CASE("texts without which a pattern cannot match") {
  using Texts = std::vector<std::vector<std::string>>;
  const auto texts = [](const char* pattern) { return required_texts(pattern).alternatives; };
  CHECK(texts("^aten::(topk|sort)$") == Texts{{"aten::"}});
  CHECK(texts("gatherTopK|mbtopk::") == Texts{{"gatherTopK"}, {"mbtopk::"}});
  CHECK(texts("[dD]equant|unpackbits") == Texts{{"equant"}, {"unpackbits"}});
  CHECK(texts("ab?cde*") == Texts{{"a", "cd"}});
  CHECK(texts("lambda\\(c10::Half\\).*Load") == Texts{{"lambda(c10::Half)", "Load"}});
  CHECK(texts("x{0,3}yz[)|]\\w+") == Texts{{"yz"}});
  CHECK(texts("(a|b)") == Texts{{}});
  CHECK(texts("abc|\\d+") == Texts{{"abc"}, {}});
  CHECK(required_texts("^a|^b").anchored);
  CHECK_FALSE(required_texts("^a|b").anchored);
  CHECK_FALSE(required_texts("a|^b").anchored);
  CHECK(required_texts("abc.*de|\\d+f").may_match("9f"));
  CHECK(required_texts("abc.*de").may_match("xabcdex"));
  CHECK_FALSE(required_texts("abc.*de").may_match("abc"));
}

TEST_CASE("a gigantic name is looked at as far as a matcher can go") {
  const RankTimeline rank;
  const std::vector<NameClass> rows{{"begin.*end", "other", "select"}, {"^x", "other", "compact"}};
  NameKinds kinds(rows, rank);
  const std::string filling(1'000, '-');
  CHECK(kinds.work_out("begin" + filling + "end").kind == WorkKind::select);
  std::string gigantic = "begin";
  for (int i = 0; i < 5'000; ++i) gigantic += filling;
  CHECK_FALSE(kinds.work_out(gigantic + "end").known);
  CHECK(kinds.work_out("x" + gigantic).kind == WorkKind::compact);
  CHECK_FALSE(kinds.work_out("").known);
}

TEST_CASE("what the job itself told about its compression is not denied") {
  Trace trace;
  trace.range(kHook, 100, 400).collective("all_reduce", 130, 160, 200, 4000);
  CHECK(label(trace.fingerprint({{"compression", "fp16"}, {"compression.started", "yes"}})) == "(silent)");
  CHECK(label(trace.fingerprint({{"compression", "powersgd"}, {"compression.started", "no"}})) == "none");
  CHECK(label(trace.fingerprint({{"compression", "none"}})) == "none");
}

TEST_CASE("collectives that looked dense carry what kernels compressed; without any exchange nothing is known") {
  const Facts dense{{"compression", "none"}, {"compression.place", "none"}};
  const auto exchange = [](const char* kernel, const char* behind) {
    Trace trace;
    return trace.range(kHook, 100, 400)
        .kernel(kernel, 110, 120, 140)
        .threads(1024)
        .collective("all_gather", 130, 160, 200, 4000)
        .kernel(behind, 150, 210, 220);
  };
  const Conclusions selected = exchange("gatherTopK<float>", "scatter_kernel").fingerprint(dense, Origin::files);
  CHECK(selected.facts.at("compression") == "topk");
  CHECK_FALSE(selected.facts.contains("compression.place"));  // by whom, nobody told
  CHECK(exchange("to_half", "to_float").fingerprint(dense, Origin::files).facts.at("compression") == "fp16");
  const Conclusions plain = exchange("copy", "copy").fingerprint(dense, Origin::files);
  CHECK(plain.facts.at("compression") == "none");

  Trace model;  // the exchange of a model's own, and none of gradients
  model.kernel("gemm", 110, 120, 140).collective("all_to_all", 130, 160, 200);
  CHECK_FALSE(model.fingerprint(dense, Origin::files).facts.contains("compression"));
  CHECK(model.fingerprint(dense, Origin::watched).facts.at("compression") == "none");  // the job's hook knows
}

TEST_CASE("how a compression is written: counted on the host, sorted, as signs") {
  Trace trace;
  trace.range(kHook, 100, 400)
      .range("aten::topk", 105, 125)
      .kernel("mbtopk::gatherTopK<float>", 110, 130, 140)
      .kernel("bitonicSortKVInPlace", 115, 140, 150)
      .range("aten::topk", 126, 135)
      .kernel("mbtopk::gatherTopK<float>", 130, 150, 160)
      .range("aten::nonzero", 140, 150)
      .kernel("cub::DeviceReduce<NonZeroOp>", 145, 160, 165)
      .collective("all_gather", 160, 170, 200, 4000)
      .range(kNode + "WhereBackward0", 490, 520)  // the model's own
      .range("aten::nonzero", 500, 510)
      .kernel("cub::DeviceReduce<NonZeroOp>", 505, 520, 530);
  const Conclusions found = trace.fingerprint();
  CHECK(*found.metrics.value("compress.nonzero_per_step", "all") == 1);
  CHECK(*found.metrics.value("compress.quantile_per_step", "all") == 0);
  CHECK(*found.metrics.value("compress.sorted_topk_percent", "all") == 50);
  CHECK(found.facts.at("compression.codes") == "no signs");
  // Four kernels of 35 µs in all before the collective.
  CHECK(*found.metrics.value("compress.kernel_mean_us", "all") == doctest::Approx(35.0 / 4).epsilon(0.2));
  Trace host;
  host.range(kHook, 100, 400)
      .range("c10d::allgather_", 200, 210)
      .range("aten::sign", 110, 120)
      .on_host("all_gather", 215, 300);
  CHECK(host.fingerprint().facts.at("compression.codes") ==
        "no signs");  // no row of the table knows it: nothing was seen
  Trace bare;
  bare.kernel("gatherTopK", 110, 120, 140).collective("all_gather", 130, 160, 200, 4000);
  CHECK_FALSE(bare.fingerprint().facts.contains("compression.codes"));
}
