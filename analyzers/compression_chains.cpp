#include "analyzers/compression_chains.h"

#include <algorithm>

namespace gradsync {
namespace {

// A cast belongs to a collective when at most so much (scaling) is issued between them.
constexpr std::size_t kMostBetween = 2;
// A codec's work may be followed by that of others, but not by a model's layer: its own collective is then not in the trace.
constexpr std::size_t kMostBehindCodec = 16;
constexpr std::int64_t kFewestCodes = 1024;    // elements of one byte that are no flag or pickled header
constexpr std::int64_t kElementsOfThread = 4;  // of the framework's casting kernel; its last block may have fewer
constexpr std::int64_t kMostThreads = std::int64_t{1} << 50;

bool handles_gradients(Doing doing) { return doing == Doing::gradient || doing == Doing::stepping; }

std::int64_t element_bytes(std::string_view type) {
  if (type.ends_with("float16")) return 2;
  return type.find("int8") != std::string_view::npos || type.find("float8") != std::string_view::npos ? 1 : 0;
}

bool is_code(std::string_view type) { return element_bytes(type) == 1; }

class Finder {
 public:
  Finder(const RankTimeline& rank, const IssuedWork& work) : rank_(rank), work_(work.list) {}

  CompressedExchanges find() {
    for (std::size_t i = 0; i < work_.size(); ++i) {
      if (work_[i].collective())
        collective(i);
      else
        issued(i);
    }
    follow();
    std::erase_if(found_.chains, [](const Chain& chain) { return !chain.widened; });
    return std::move(found_);
  }

 private:
  using Key = std::int64_t;
  static constexpr Key kNoThread = -1;
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  struct Ended {
    Nanoseconds end = 0;
    std::size_t work = 0, chain = kNone;
  };

  static Key thread_of(const Work& work) {
    return work.thread ? static_cast<Key>(static_cast<std::uint32_t>(*work.thread)) : kNoThread;
  }

  void issued(std::size_t i) {
    pending_[thread_of(work_[i])].push_back(i);
    const NameKind& kind = *work_[i].kind;
    if (kind.encodes() && kind.evidence == Evidence::chain && handles_gradients(work_[i].doing)) telling_.push_back(i);
  }

  void collective(std::size_t at) {
    const Work& exchange = work_[at];
    const bool gradients = handles_gradients(exchange.doing);
    found_.gradient_collectives += gradients;
    std::vector<std::size_t>& own = pending_[thread_of(exchange)];
    const std::optional<Chain> chain = scalar(exchange) ? std::nullopt : fed_by(exchange, own);
    std::size_t index = kNone;
    if (chain) {
      index = found_.chains.size();
      found_.chains.push_back(*chain);
    } else if (const std::size_t last = continues(exchange, own); last != kNone) {
      index = last;
    }
    if (index != kNone) add_collective(found_.chains[index], exchange);
    if (gradients) note_unknown(exchange, own);
    own.clear();
    telling_.clear();
    last_[thread_of(exchange)] = index;
    ended_.push_back({exchange.event->end, at, index});
  }

  // NCCL makes an all_to_all of sends and receives; who asked for it says what it was.
  std::string operation_of(const Work& exchange) const {
    const std::string_view told = rank_.name(*exchange.event);
    const std::string_view asked = rank_.name(exchange.asked);
    if ((told != "send_recv" && told != "collective") || asked.empty()) return std::string(told);
    std::string_view operation = asked.substr(asked.find(':') + 1);
    if (operation.starts_with('_')) operation.remove_prefix(1);  // _all_gather_base
    if (operation.ends_with("_base")) operation.remove_suffix(5);
    return std::string(operation);
  }

  bool scalar(const Work& exchange) const {
    const auto elements = rank_.integer(*exchange.event, "elements");
    return elements ? *elements <= 1 : exchange.event->bytes > 0 && exchange.event->bytes <= 8;
  }

  // Whether `work` by itself says that the collective carries something compressed.
  static bool tells(const Work& work, const Work& exchange) {
    if (!work.kind->encodes() || work.event->end > exchange.event->end) return false;
    if (work.kind->evidence == Evidence::codec) return true;
    if (work.kind->evidence != Evidence::chain || !together(work, exchange)) return false;
    return work.kind->kind != WorkKind::low_rank || work.doing == Doing::gradient;
  }

  static bool together(const Work& work, const Work& exchange) {
    return handles_gradients(work.doing) && handles_gradients(exchange.doing) && work.step == exchange.step;
  }

  std::optional<Chain> fed_by(const Work& exchange, const std::vector<std::size_t>& own) {
    std::vector<std::size_t> feeders;
    for (std::size_t at = 0; at < own.size(); ++at) {
      const Work& work = work_[own[at]];
      const bool near = work.kind->evidence != Evidence::codec || own.size() - at <= kMostBehindCodec;
      if (near && tells(work, exchange)) feeders.push_back(own[at]);
    }
    if (feeders.empty())  // another thread may have compressed for this one
      for (const std::size_t i : telling_)
        if (tells(work_[i], exchange)) feeders.push_back(i);
    Chain chain;
    chain.step = exchange.step;
    chain.operation = operation_of(exchange);
    chain.wire = rank_.text(*exchange.event, "dtype");
    if (feeders.empty()) {
      const std::size_t cast = narrowing(exchange, own);
      if (cast == kNone && !codes_of_gradients(exchange, own)) return std::nullopt;
      chain.widened = cast == kNone;
      if (cast != kNone) feeders.push_back(cast);
    }
    for (const std::size_t i : own)
      if (accompanies(work_[i], exchange)) feeders.push_back(i);
    std::sort(feeders.begin(), feeders.end());
    feeders.erase(std::unique(feeders.begin(), feeders.end()), feeders.end());
    for (const std::size_t i : feeders) add_feeder(chain, work_[i]);
    return chain;
  }

  void add_feeder(Chain& chain, const Work& work) const {
    chain.before.insert(work.kind->kind);
    ++chain.kernels;
    chain.compress += work.event->duration();
    if (chain.wire.empty()) chain.wire = work.kind->wire;
    const std::int64_t threads = rank_.integer(*work.event, "threads").value_or(0);
    const std::int64_t bytes = element_bytes(work.kind->wire);
    if (threads > 0 && bytes > 0 && threads < kMostThreads)
      chain.narrowed_bytes = chain.narrowed_bytes.value_or(0) + threads * kElementsOfThread * bytes;
  }

  // The last of a few things issued before it is a cast to a narrower type.
  std::size_t narrowing(const Work& exchange, const std::vector<std::size_t>& own) const {
    for (std::size_t back = 0; back < own.size() && back <= kMostBetween; ++back) {
      const std::size_t i = own[own.size() - 1 - back];
      if (work_[i].kind->evidence == Evidence::pair && work_[i].kind->encodes() &&
          work_[i].event->end <= exchange.event->end)
        return i;
    }
    return kNone;
  }

  bool codes_of_gradients(const Work& exchange, const std::vector<std::size_t>& own) const {
    if (!handles_gradients(exchange.doing) || !is_code(rank_.text(*exchange.event, "dtype"))) return false;
    if (rank_.integer(*exchange.event, "elements").value_or(0) < kFewestCodes) return false;
    return std::any_of(own.begin(), own.end(), [&](std::size_t i) {
      return work_[i].kind->kind == WorkKind::quantise && together(work_[i], exchange);
    });
  }

  // Parts of an exchange that is known to be compressed. Inside the optimiser sums are its own.
  static bool accompanies(const Work& work, const Work& exchange) {
    if (!work.kind->encodes() || !together(work, exchange) || work.event->end > exchange.event->end) return false;
    if (work.kind->kind == WorkKind::error_feedback || work.kind->kind == WorkKind::low_rank)
      return work.doing == Doing::gradient;
    return true;
  }

  // Values and indices, or factors, that travel apart: the same operation again, with nothing issued between that
  // belongs to another bucket.
  std::size_t continues(const Work& exchange, const std::vector<std::size_t>& own) const {
    const auto last = last_.find(thread_of(exchange));
    if (last == last_.end() || last->second == kNone || scalar(exchange)) return kNone;
    const Chain& chain = found_.chains[last->second];
    if (chain.operation != operation_of(exchange) || chain.step != exchange.step || own.size() > kMostBetween)
      return kNone;
    return last->second;
  }

  void add_collective(Chain& chain, const Work& exchange) const {
    ++chain.collectives;
    if (exchange.event->bytes > 0) chain.wire_bytes = chain.wire_bytes.value_or(0) + exchange.event->bytes;
  }

  void note_unknown(const Work& exchange, const std::vector<std::size_t>& own) {
    for (const std::size_t i : own) {
      const Work& work = work_[i];
      if (work.event->kind != Kind::kernel || work.kind->known || !together(work, exchange)) continue;
      UnknownKernel& unknown = found_.unknown[work.event->name];
      ++unknown.count;
      unknown.total += work.event->duration();
    }
  }

  // Gives each reconstruction to the collective that had ended last when it began.
  void follow() {
    std::stable_sort(ended_.begin(), ended_.end(), [](const Ended& a, const Ended& b) { return a.end < b.end; });
    std::map<std::size_t, std::size_t> issued_behind;  // chain → how much its thread issued since, for pairs
    for (const Work& work : work_) {
      if (work.collective()) continue;
      const auto next = std::upper_bound(ended_.begin(), ended_.end(), work.event->start,
                                         [](Nanoseconds start, const Ended& ended) { return start < ended.end; });
      if (next == ended_.begin()) continue;
      const Ended& ended = *std::prev(next);
      if (ended.chain == kNone || work.issued < work_[ended.work].issued) continue;
      Chain& chain = found_.chains[ended.chain];
      const std::size_t between = issued_behind[ended.chain]++;
      if (work.step != chain.step || !reconstructs(work, chain, between)) continue;
      chain.behind.insert(WorkKind::reconstruct);
      ++chain.kernels;
      chain.decompress += work.event->duration();
      chain.widened |= work.kind->evidence == Evidence::pair;
    }
  }

  static bool reconstructs(const Work& work, const Chain& chain, std::size_t between) {
    const bool factors = work.kind->kind == WorkKind::low_rank && chain.before.contains(WorkKind::low_rank);
    if (factors) return work.doing == Doing::gradient;
    if (work.kind->kind != WorkKind::reconstruct) return false;
    if (work.kind->evidence == Evidence::codec) return true;
    if (work.kind->evidence == Evidence::pair)
      return chain.before.contains(WorkKind::quantise) && between <= kMostBetween;
    return work.doing != Doing::model;
  }

  const RankTimeline& rank_;
  const std::vector<Work>& work_;
  CompressedExchanges found_;
  std::map<Key, std::vector<std::size_t>> pending_;  // by thread, since its last collective
  std::vector<std::size_t> telling_;                 // of any thread, since anybody's last collective
  std::map<Key, std::size_t> last_;                  // by thread: the chain of its last collective
  std::vector<Ended> ended_;
};

}  // namespace

CompressedExchanges find_compressed_exchanges(const RankTimeline& rank, const IssuedWork& work) {
  return Finder(rank, work).find();
}

}  // namespace gradsync
