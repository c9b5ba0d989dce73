// Top-K gradient compression after the backward pass, without any framework.
//
// Two processes train a two-layer network on samples of their own and exchange the 2 % largest gradient entries over a
// socket pair. Each phase is an NVTX range in the domain "native_topk"; with no tool attached a range costs next to
// nothing. All phases of a step run one after the other on one thread, so nothing can overlap.
//
//   native_topk [--steps N]

#include <nvtx3/nvToolsExt.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int kRanks = 2;
constexpr std::size_t kBatch = 224, kInput = 512, kHidden = 2048, kOutput = 512;
constexpr std::size_t kFirstLayer = kInput * kHidden;
constexpr std::size_t kParameters = kFirstLayer + kHidden * kOutput;
constexpr std::size_t kPicked = kParameters / 50;
constexpr float kLearningRate = 2.0F;

using Floats = std::vector<float>;

class Range {
 public:
  explicit Range(const char* name) {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    nvtxDomainRangePushEx(domain(), &attributes);
  }
  ~Range() { nvtxDomainRangePop(domain()); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  // Created at the first range, which is after the fork: each rank attaches to a tool by itself.
  static nvtxDomainHandle_t domain() {
    static const nvtxDomainHandle_t handle = nvtxDomainCreateA("native_topk");
    return handle;
  }
};

// result[rows x columns] = a[rows x inner] * b[inner x columns], all row by row.
void multiply(const float* a, const float* b, float* result, std::size_t rows, std::size_t inner, std::size_t columns) {
  std::fill_n(result, rows * columns, 0.0F);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < inner; ++k)
      for (std::size_t j = 0; j < columns; ++j) result[i * columns + j] += a[i * inner + k] * b[k * columns + j];
}

Floats transposed(const float* matrix, std::size_t rows, std::size_t columns) {
  Floats result(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) result[j * rows + i] = matrix[i * columns + j];
  return result;
}

struct Pick {
  uint32_t index;
  float value;
};
using Picks = std::vector<Pick>;

class Rank {
 public:
  Rank(int rank, int peer_socket) : rank_(rank), peer_socket_(peer_socket) {
    std::mt19937 same_on_all_ranks(0);
    std::normal_distribution<float> normal;
    for (float& weight : weights_) weight = 0.03F * normal(same_on_all_ranks);
    std::mt19937 own(static_cast<unsigned>(1 + rank));
    for (float& sample : inputs_) sample = normal(own);
  }

  // Returns the loss before the step.
  double step() {
    const Range range("step");
    forward();
    const double loss = backward();
    Picks own = compress();
    const Picks peer = all_gather(own);
    decompress(own, peer);
    optimize();
    return loss;
  }

 private:
  void forward() {
    const Range range("forward");
    multiply(inputs_.data(), weights_.data(), hidden_.data(), kBatch, kInput, kHidden);
    for (float& value : hidden_) value = std::max(value, 0.0F);
    multiply(hidden_.data(), weights_.data() + kFirstLayer, outputs_.data(), kBatch, kHidden, kOutput);
  }

  // Mean squared error against the inputs: the network learns to repeat what it was given.
  double backward() {
    const Range range("backward");
    double loss = 0.0;
    Floats output_gradient(outputs_.size());
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const float error = outputs_[i] - inputs_[i];
      loss += error * error;
      output_gradient[i] = 2.0F * error / static_cast<float>(outputs_.size());
    }
    const Floats hidden_t = transposed(hidden_.data(), kBatch, kHidden);
    multiply(hidden_t.data(), output_gradient.data(), gradient_.data() + kFirstLayer, kHidden, kBatch, kOutput);

    Floats hidden_gradient(hidden_.size());
    const Floats second_layer_t = transposed(weights_.data() + kFirstLayer, kHidden, kOutput);
    multiply(output_gradient.data(), second_layer_t.data(), hidden_gradient.data(), kBatch, kOutput, kHidden);
    for (std::size_t i = 0; i < hidden_.size(); ++i)
      if (hidden_[i] <= 0.0F) hidden_gradient[i] = 0.0F;
    const Floats inputs_t = transposed(inputs_.data(), kBatch, kInput);
    multiply(inputs_t.data(), hidden_gradient.data(), gradient_.data(), kInput, kBatch, kHidden);
    return loss / static_cast<double>(outputs_.size());
  }

  // What is not picked stays in residual_ and is added to the next gradient (error feedback).
  Picks compress() {
    const Range range("compress");
    for (std::size_t i = 0; i < kParameters; ++i) {
      residual_[i] += gradient_[i];
      magnitude_[i] = std::fabs(residual_[i]);
    }
    std::nth_element(magnitude_.begin(), magnitude_.begin() + kPicked - 1, magnitude_.end(), std::greater<>());
    const float threshold = magnitude_[kPicked - 1];

    Picks picks;
    picks.reserve(kPicked);
    for (std::size_t i = 0; i < kParameters && picks.size() < kPicked; ++i) {
      if (std::fabs(residual_[i]) < threshold) continue;
      picks.push_back({static_cast<uint32_t>(i), residual_[i]});
      residual_[i] = 0.0F;
    }
    return picks;
  }

  Picks all_gather(Picks& own) {
    const Range range("all_gather");
    Picks peer(kPicked);
    if (rank_ == 0) send_all(own);
    receive_all(peer);
    if (rank_ != 0) send_all(own);
    return peer;
  }

  void decompress(const Picks& own, const Picks& peer) {
    const Range range("decompress");
    std::fill(gradient_.begin(), gradient_.end(), 0.0F);
    for (const Picks* picks : {&own, &peer})
      for (const Pick& pick : *picks) gradient_[pick.index] += pick.value / kRanks;
  }

  void optimize() {
    const Range range("optimizer");
    for (std::size_t i = 0; i < kParameters; ++i) weights_[i] -= kLearningRate * gradient_[i];
  }

  void send_all(const Picks& picks) const {
    const char* bytes = reinterpret_cast<const char*>(picks.data());
    for (std::size_t left = picks.size() * sizeof(Pick); left > 0;) {
      const std::size_t sent = moved_or_exit(send(peer_socket_, bytes, left, MSG_NOSIGNAL));
      bytes += sent;
      left -= sent;
    }
  }

  void receive_all(Picks& picks) const {
    char* bytes = reinterpret_cast<char*>(picks.data());
    for (std::size_t left = picks.size() * sizeof(Pick); left > 0;) {
      const std::size_t received = moved_or_exit(recv(peer_socket_, bytes, left, 0));
      bytes += received;
      left -= received;
    }
  }

  std::size_t moved_or_exit(ssize_t bytes) const {
    if (bytes > 0) return static_cast<std::size_t>(bytes);
    if (bytes < 0 && errno == EINTR) return 0;
    std::fprintf(stderr, "native_topk: rank %d lost the other rank\n", rank_);
    std::exit(1);
  }

  int rank_;
  int peer_socket_;
  Floats inputs_ = Floats(kBatch * kInput);
  Floats hidden_ = Floats(kBatch * kHidden);
  Floats outputs_ = Floats(kBatch * kOutput);
  Floats weights_ = Floats(kParameters);
  Floats gradient_ = Floats(kParameters);
  Floats residual_ = Floats(kParameters);
  Floats magnitude_ = Floats(kParameters);
};

void train(int rank, int peer_socket, int steps) {
  using Clock = std::chrono::steady_clock;
  if (rank == 0) {
    std::puts("planted: Top-K runs after backward has finished, nothing overlaps");
    std::fflush(stdout);
  }
  Rank self(rank, peer_socket);
  std::vector<double> step_ms;
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) {
    const auto started = Clock::now();
    losses.push_back(self.step());
    step_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - started).count());
  }
  if (rank != 0) return;
  const auto middle = step_ms.begin() + steps / 2;
  std::nth_element(step_ms.begin(), middle, step_ms.end());
  std::printf("%d steps, median %.1f ms, loss %.3f -> %.3f\n", steps, *middle, losses.front(), losses.back());
}

pid_t start_rank(int rank, const std::array<int, kRanks>& sockets, int steps) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // a rank does not outlive the process that started it
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(kRanks).c_str(), 1);
  const auto own = static_cast<std::size_t>(rank);
  close(sockets[1 - own]);
  train(rank, sockets[own], steps);
  std::exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  const bool has_steps = argc == 3 && std::string(argv[1]) == "--steps";
  const int steps = has_steps ? std::atoi(argv[2]) : 48;
  if ((argc != 1 && !has_steps) || steps < 1) {
    std::fprintf(stderr, "usage: native_topk [--steps N]\n");
    return 2;
  }
  std::array<int, kRanks> sockets{};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()) != 0) {
    std::perror("native_topk: socketpair");
    return 1;
  }
  std::array<pid_t, kRanks> ranks{};
  for (int rank = 0; rank < kRanks; ++rank) ranks[static_cast<std::size_t>(rank)] = start_rank(rank, sockets, steps);
  for (const int socket : sockets) close(socket);  // so that a rank notices when the other one is gone

  int exit_status = 0;
  for (const pid_t rank : ranks) {
    int status = 0;
    if (rank < 0 || waitpid(rank, &status, 0) < 0) return 1;
    const int own = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    exit_status = std::max(exit_status, own);
  }
  return exit_status;
}
