// StoreServer: keeps the words that ranks leave for each other, in a thread of rank 0. Strangers that connect are
// dropped; ranks of another version, with other options or of a number that is there already are refused by name. A
// rank whose connection ends without goodbye has ended: every rank is told which, with its next answer.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "collectors/fabric/sockets.h"
#include "collectors/fabric/store_protocol.h"

namespace gradsync {

struct StoreAgreement {
  int ranks = 2;
  std::string version;  // of the program
  std::string options;  // what all ranks must ask for alike
  std::string token;    // of this job: ranks of another one are strangers
};

// What became of a rank's process, where rank 0 can know: "was killed by signal 9". Called from the server's thread.
using ProcessWatch = std::function<std::optional<std::pair<int, std::string>>()>;

class StoreServer {
 public:
  StoreServer(Listener listener, StoreAgreement agreement, ProcessWatch watch = nullptr);
  ~StoreServer();  // waits until what was answered is sent and the ranks have gone, for two seconds
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  int port() const { return listener_.port; }

 private:
  struct Waiting {  // an answer that is owed
    enum class For { nothing, word, round, trouble } what = For::nothing;
    std::string key;
    std::int64_t until_ns = 0;
    std::int64_t limit_ms = 0;
  };
  struct Connection {
    FileDescriptor socket;
    FrameReader reader{kMostGreetingBytes};
    std::string unsent;
    int rank = -1;  // -1: has not said
    std::int64_t came_ns = 0;
    bool left = false;  // to be dropped once `unsent` is sent
    Waiting waiting;
  };
  struct Failure {
    int rank = -1;
    Error error;
  };

  void serve();
  void accept_all();
  void read_from(Connection& connection);
  void flush(Connection& connection);
  void handle(Connection& connection, const Frame& frame);
  void greet(Connection& connection, const Frame& frame);
  std::string objection(const Frame& frame, int rank) const;
  void answer(Connection& connection, const Frame& frame);
  void answer_waiting(Connection& connection);
  void answer_all_waiting();
  void lost(Connection& connection);
  void fail(int rank, Error error);
  void look_at_processes();
  Error missing(const std::string& round, std::int64_t limit_ms) const;

  Listener listener_;
  StoreAgreement agreement_;
  ProcessWatch watch_;
  std::list<Connection> connections_;
  std::map<std::string, std::string, std::less<>> words_;
  std::map<std::string, std::map<int, std::string>, std::less<>> rounds_;
  std::map<std::string, int, std::less<>> rounds_answered_;
  std::vector<bool> joined_, goodbye_;
  std::optional<Failure> failure_;
  std::atomic<bool> stop_{false};
  FileDescriptor wake_;
  std::thread thread_;
};

}  // namespace gradsync
