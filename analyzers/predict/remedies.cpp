#include "analyzers/predict/remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzers/closed_form.h"
#include "analyzers/fabric_cost.h"
#include "analyzers/load_cost.h"
#include "analyzers/predict/edits.h"
#include "analyzers/predict/half_precision.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

constexpr double kServerError = 2.1;  // a server is known within 30 %, not within 14
// Remedies with a page of their own, rules/remedies.
constexpr std::pair<const char*, const char*> kPages[] = {{"histogram_topk", "histogram-topk"},
                                                          {"two_level", "two-level"},
                                                          {"rdma_bound", "rdma-bound"},
                                                          {"parameter_server", "parameter-server"}};
constexpr const char* kSweepHint = "gradsync-doctor sweep --ranks N, or --fabric F";
constexpr const char* kBenchHint = "gradsync-doctor bench --like REPORT, or --loads F";

double blocked(const StepGraph&, const Replayed& today) {
  return today.classes[static_cast<std::size_t>(StepClass::comm)];
}

// Half the time of 64-bit indices, as far as anything waits for them.
double of_indices(const StepGraph& graph, const Replayed& today) {
  double ns = 0;
  for (const Exchange& exchange : graph.exchanges)
    if (exchange.compressed && exchange.dtype.ends_with("int64")) ns += exchange.transfer_ns / 2;
  return std::min(ns, blocked(graph, today));
}

// Everything that compression adds to what is exposed: its own time, its syncs and its communication.
double of_compression(const Job& job, const StepGraph& graph, const Replayed& today) {
  return coding_ns(graph) + graph.total(StepClass::host_sync) +
         (job.on_device ? job.compress_ns + job.decompress_ns : 0) + blocked(graph, today);
}

class Workshop {
 public:
  Workshop(const Job& job, const std::vector<StepGraph>& ranks, const std::optional<FabricFit>& fit,
           const std::vector<LoadProfile>& loads)
      : job_(job), ranks_(ranks), fit_(fit ? &*fit : nullptr), loads_(loads) {}

  std::vector<Remedy> all() const {
    std::vector<Remedy> found{no_compression(), fp16_hook(),        bucket_size(),  int32_index(),
                              unsorted_topk(),  histogram_topk(),   no_host_sync(), two_level(),
                              rdma_bound(),     parameter_server(), no_straggler()};
    for (Remedy& remedy : found)
      for (const auto& [name, page] : kPages)
        if (remedy.name == name) remedy.needs += fmt::format(" (gradsync-doctor explain {})", page);
    return found;
  }

 private:
  static Remedy not_applicable(std::string name, std::string why) {
    return {std::move(name), Judgement::not_applicable, std::move(why), "", {}, {}};
  }
  static Remedy unknown(std::string name, std::string missing, std::string hint) {
    return {std::move(name), Judgement::unknown, std::move(missing), std::move(hint), {}, {}};
  }
  std::string device() const { return job_.on_device ? "cuda" : "cpu"; }
  std::optional<LoadCurve> load(std::string_view algorithm) const {
    LoadCurve curve(loads_, algorithm, device());
    return curve.empty() ? std::nullopt : std::optional(std::move(curve));
  }

  // The transform works on every rank; else the remedy is only bounded by its cap.
  Remedy checked(Remedy remedy, const std::string& missing, const std::string& hint) const {
    const bool works = std::all_of(ranks_.begin(), ranks_.end(),
                                   [&](const StepGraph& graph) { return remedy.apply(graph, Draw{}).has_value(); });
    if (works) return remedy;
    remedy.judgement = Judgement::bound;
    remedy.needs += "; at most, for " + missing;
    remedy.hint = hint;
    return remedy;
  }

  Remedy no_compression() const {
    if (!job_.compresses) return not_applicable("no_compression", "nothing is compressed");
    const Job job = job_;
    const FabricFit* fit = fit_;
    return checked(
        {"no_compression", Judgement::predicted, "leave the gradient as it is: no compression hook", "",
         [job, fit](const StepGraph& graph, const Draw& draw) { return without_compression(graph, job, fit, draw); },
         [job](const StepGraph& graph, const Replayed& today) { return of_compression(job, graph, today); }},
        "what a dense all-reduce of these buckets takes here is not known", kSweepHint);
  }

  Remedy fp16_hook() const {
    if (job_.ranks < 2) return not_applicable("fp16_hook", "one rank");
    if (job_.compression == "fp16" || job_.compression == "bf16")
      return not_applicable("fp16_hook", "gradients travel in 16 bits already");
    if (lacks_halves(job_, ranks_, fit_))
      return unknown("fp16_hook",
                     "a CPU adds 16-bit numbers one by one: that takes longer here than sending them, and no curve of "
                     "halves was measured closely enough at these sizes",
                     fmt::format("gradsync-doctor sweep --ranks {} --op all_reduce --type half", job_.ranks));
    const auto cast = load("cast16");
    if (!cast) return unknown("fp16_hook", "the time of a cast to 16 bits was not measured", kBenchHint);
    const Job job = job_;
    const FabricFit* fit = fit_;
    return checked(
        {"fp16_hook", Judgement::predicted, "ddp_comm_hooks.default_hooks.fp16_compress_hook", "",
         [job, fit, cast](const StepGraph& graph, const Draw& draw) { return halved(graph, job, fit, *cast, draw); },
         [job, fit](const StepGraph& graph, const Replayed& today) { return cap_of_halves(job, fit, graph, today); }},
        "the dense all-reduce was not seen, or not measured at these sizes", kSweepHint);
  }

  Remedy bucket_size() const {
    std::size_t buckets = 0;
    for (const StepGraph& graph : ranks_) buckets = std::max(buckets, graph.bucket_bytes.size());
    if (buckets < 2) return not_applicable("bucket_size", "there is one bucket, or none was seen");
    if (fit_ == nullptr) return unknown("bucket_size", "what a larger message takes here is not known", kSweepHint);
    int best = 2;
    double least = 0;
    for (int together = 2; together < 2 * static_cast<int>(buckets); together *= 2) {
      double saved = 0;
      for (const StepGraph& graph : ranks_)
        if (const auto edited = merged(graph, together, *fit_, Draw{}))
          saved += replay(graph).step_ns - replay(*edited).step_ns;
      if (saved > least) {
        least = saved;
        best = together;
      }
    }
    double bytes = 0;
    for (const StepGraph& graph : ranks_)
      for (const std::int64_t one : graph.bucket_bytes) bytes = std::max(bytes, static_cast<double>(one));
    const FabricFit* fit = fit_;
    return checked(
        {"bucket_size", Judgement::predicted,
         // DDP closes a bucket as soon as it holds the cap
         fmt::format("bucket_cap_mb={:.0f}: {} buckets as one", std::max(1.0, std::floor(best * bytes / (1 << 20))),
                     best),
         "", [best, fit](const StepGraph& graph, const Draw& draw) { return merged(graph, best, *fit, draw); },
         blocked},
        "messages of that size were not measured, or belong to no bucket", kSweepHint);
  }

  bool sends_int64() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const StepGraph& graph) {
      return std::any_of(graph.exchanges.begin(), graph.exchanges.end(), [](const Exchange& exchange) {
        return exchange.compressed && exchange.dtype.ends_with("int64");
      });
    });
  }

  Remedy int32_index() const {
    if (!sends_int64()) return not_applicable("int32_index", "no 64-bit indices were seen on the wire");
    const FabricFit* fit = fit_;
    return checked({"int32_index", Judgement::predicted, "indices.to(torch.int32) before sending", "",
                    [fit](const StepGraph& graph, const Draw& draw) -> std::optional<StepGraph> {
                      if (fit == nullptr) return std::nullopt;
                      StepGraph narrow = graph;
                      for (Exchange& exchange : narrow.exchanges) {
                        if (!exchange.compressed || !exchange.dtype.ends_with("int64")) continue;
                        const auto ns = retimed_ns(exchange, static_cast<double>(exchange.bytes) / 2, *fit, draw);
                        if (!ns) return std::nullopt;
                        exchange.transfer_ns = *ns;
                      }
                      return narrow;
                    },
                    of_indices},
                   "the fabric was not measured for these sizes", kSweepHint);
  }

  Remedy unsorted_topk() const {
    if (job_.compression != "topk") return not_applicable("unsorted_topk", "no Top-K");
    if (!job_.on_device)
      return not_applicable("unsorted_topk", "on a CPU only the selected entries are sorted, which is not told apart");
    if (job_.sort_ns <= 0)
      return unknown("unsorted_topk", "no kernel that sorts the selection was seen", "run --deep torch");
    const double sorting = job_.sort_ns;
    return {"unsorted_topk",
            Judgement::predicted,
            "torch.topk(..., sorted=False)",
            "",
            [sorting](const StepGraph& graph, const Draw& draw) {
              StepGraph edited = graph;
              take_coding(edited, draw.removed * sorting, 0);
              return std::optional(edited);
            },
            [sorting](const StepGraph&, const Replayed&) { return sorting; }};
  }

  Remedy histogram_topk() const {
    if (job_.compression != "topk") return not_applicable("histogram_topk", "no Top-K");
    const auto histogram = load("topk_histogram");
    if (!histogram) return unknown("histogram_topk", "the histogram Top-K was not measured here", kBenchHint);
    const Job job = job_;
    const auto apply = [job, histogram](const StepGraph& graph, const Draw& draw) -> std::optional<StepGraph> {
      const double today = job.on_device ? job.compress_ns : graph.total(StepClass::compress);
      double instead = 0;
      for (const std::int64_t bytes : graph.bucket_bytes)
        instead += 1e6 * histogram->own_ms(static_cast<double>(bytes) / 4, draw.level);
      if (graph.bucket_bytes.empty() && job.elements > 0) instead = 1e6 * histogram->own_ms(job.elements, draw.level);
      if (today <= 0 || instead <= 0) return std::nullopt;
      StepGraph edited = graph;
      const double less = draw.removed * std::max(0.0, today - instead);
      if (job.on_device)
        take_coding(edited, less, 0);
      else
        take(edited, StepClass::compress, less);
      return edited;
    };
    return checked(
        {"histogram_topk", Judgement::predicted, "a threshold from a histogram of magnitudes in place of torch.topk",
         "", apply,
         [job](const StepGraph& graph, const Replayed&) { return job.on_device ? job.compress_ns : coding_ns(graph); }},
        "the time of compression itself was not seen", "run --deep torch");
  }

  Remedy no_host_sync() const {
    double idle = 0;
    for (const StepGraph& graph : ranks_) idle += graph.total(StepClass::host_sync);
    if (!job_.on_device || idle <= 0) return not_applicable("no_host_sync", "no device idles behind a blocking call");
    return {"no_host_sync",
            Judgement::predicted,
            "no .item(), nonzero() or synchronize() between backward and optimiser",
            "",
            [](const StepGraph& graph, const Draw& draw) {
              StepGraph edited = graph;
              take(edited, StepClass::host_sync, draw.removed * edited.total(StepClass::host_sync));
              return std::optional(edited);
            },
            [](const StepGraph& graph, const Replayed&) { return graph.total(StepClass::host_sync); }};
  }

  // Bytes that a host's link carries: of a dense ring 2(N-1)/N of the vector, of signs between M hosts (M-1)/32 of it. The
  // part inside a host and the coding for nothing: the most it can save.
  Remedy two_level() const {
    if (job_.hosts < 2 || job_.ranks <= job_.hosts)
      return not_applicable("two_level", "every rank is on one host, or alone on its host");
    if (fit_ == nullptr) return unknown("two_level", "the fabric between nodes was not measured", kSweepHint);
    const Job job = job_;
    const FabricFit* fit = fit_;
    return {
        "two_level",
        Judgement::bound,
        fmt::format("half precision inside each host, signs between the {} hosts; at most, for neither the part inside "
                    "a host nor the coding is priced",
                    job_.hosts),
        "sweep inside one node and between nodes",
        [job, fit](const StepGraph& graph, const Draw& draw) -> std::optional<StepGraph> {
          std::optional<StepGraph> plain = dense(graph, job, fit, draw);
          if (!plain) return std::nullopt;
          const double n = job.ranks, signs = (job.hosts - 1) / 32.0, ring = 2 * (n - 1) / n;
          for (Exchange& exchange : plain->exchanges)
            if (!exchange.compressed) exchange.transfer_ns *= std::min(1.0, signs / ring);
          return plain;
        },
        [job](const StepGraph& graph, const Replayed& today) { return of_compression(job, graph, today); }};
  }

  Remedy rdma_bound() const {
    if (job_.hosts < 2) return not_applicable("rdma_bound", "every rank is on one host");
    if (job_.link_bytes_per_us <= 0) return unknown("rdma_bound", "the speed of the link is not known", "sweep");
    const Job job = job_;
    return {"rdma_bound",
            Judgement::bound,
            "an RDMA path that reaches the link's speed: at most",
            "",
            [job](const StepGraph& graph, const Draw& draw) {
              StepGraph edited = graph;
              const double n = job.ranks;
              for (Exchange& exchange : edited.exchanges) {
                const auto bytes = static_cast<double>(exchange.bytes);
                const Links links{draw.hop_us, 1 / job.link_bytes_per_us};
                const double us = exchange.operation == "all_reduce" ? ring_all_reduce_us(links, bytes, n)
                                                                     : all_gather_us(links, bytes, n);
                exchange.transfer_ns = std::min(exchange.transfer_ns, 1e3 * us);
              }
              return std::optional(edited);
            },
            blocked};
  }

  Remedy parameter_server() const {
    if (job_.ranks < 2) return not_applicable("parameter_server", "one rank");
    const auto server = load("param_server");
    if (fit_ == nullptr || !server)
      return unknown("parameter_server", "neither the fabric nor a server's work was measured", kBenchHint);
    const Job job = job_;
    const FabricFit* fit = fit_;
    return checked({"parameter_server", Judgement::predicted,
                    "a server for the parameters, and training that bears gradients one step old", "",
                    [job, fit, server](const StepGraph& graph, const Draw& draw) -> std::optional<StepGraph> {
                      // A selection is pushed as it is; everything else as the whole gradient.
                      const bool sparse = job.compresses && job.compression == "topk";
                      std::optional<StepGraph> served = sparse ? graph : dense(graph, job, fit, draw);
                      if (!served) return std::nullopt;
                      double pushed = 0;
                      for (const Exchange& exchange : served->exchanges)
                        if (exchange.compressed) pushed += static_cast<double>(exchange.bytes);
                      for (Exchange& exchange : served->exchanges) {
                        if (exchange.compressed != sparse || exchange.bytes == 0) continue;
                        const auto bytes = static_cast<double>(exchange.bytes);
                        const auto us = exchange_us(*fit, Travel::served, bytes);
                        if (!us) return std::nullopt;
                        const double elements = sparse ? job.elements * bytes / pushed : bytes / 4;
                        exchange.wait_ns = 0;  // nobody waits for the others
                        exchange.transfer_ns = 1e3 * *us * std::pow(draw.transfer, kServerError) * draw.contention +
                                               1e6 * server->both_ms(elements, job.ranks, draw.level);
                      }
                      return served;
                    },
                    [job](const StepGraph& graph, const Replayed& today) { return of_compression(job, graph, today); }},
                   "the fabric was not measured for these sizes", kSweepHint);
  }

  Remedy no_straggler() const {
    if (job_.ranks < 2) return not_applicable("no_straggler", "one rank");
    if (job_.late_ns && *job_.late_ns <= 0) return not_applicable("no_straggler", "no rank is later than the others");
    if (!job_.late_ns) return unknown("no_straggler", "when each rank arrived is not known", "run all ranks together");
    const double late = *job_.late_ns;
    Remedy remedy{"no_straggler",
                  Judgement::predicted,
                  "the late rank as fast as the others",
                  "",
                  [late](const StepGraph& graph, const Draw& draw) -> std::optional<StepGraph> {
                    // The late rank hardly waits. Its step is that of the others, who say how much shorter it gets.
                    double waited = 0;
                    for (const Exchange& exchange : graph.exchanges) waited += exchange.wait_ns;
                    if (waited < late / 2) return std::nullopt;
                    StepGraph edited = graph;
                    double left = draw.removed * late;
                    for (Exchange& exchange : edited.exchanges) {
                      const double taken = std::min(exchange.wait_ns, left);
                      exchange.wait_ns -= taken;
                      left -= taken;
                    }
                    return edited;
                  },
                  [late](const StepGraph&, const Replayed&) { return late; }};
    const auto waits = std::count_if(ranks_.begin(), ranks_.end(),
                                     [&](const StepGraph& graph) { return remedy.apply(graph, Draw{}).has_value(); });
    if (4 * static_cast<std::size_t>(waits) >= ranks_.size()) return remedy;  // of two ranks one, in half of its steps
    remedy.judgement = Judgement::bound;
    remedy.needs += "; at most, for no step was seen to wait for it";
    return remedy;
  }

  const Job& job_;
  const std::vector<StepGraph>& ranks_;
  const FabricFit* fit_;
  const std::vector<LoadProfile>& loads_;
};

}  // namespace

std::vector<Remedy> remedies(const Job& job, const std::vector<StepGraph>& ranks, const std::optional<FabricFit>& fit,
                             const std::vector<LoadProfile>& loads) {
  return Workshop(job, ranks, fit, loads).all();
}

}  // namespace gradsync
