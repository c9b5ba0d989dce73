#include "collectors/fabric/gloo_connect.h"

#include <gloo/transport/tcp/device.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "src/base/text.h"

namespace gradsync {
namespace {

// Gloo's idea of a store over ours. An error is kept and thrown through Gloo, whose exceptions end in connect_gloo().
class StoreForGloo final : public gloo::rendezvous::Store {
 public:
  StoreForGloo(RankStore& store, std::string room, std::int64_t timeout_ms)
      : store_(store), room_(std::move(room)), timeout_ms_(timeout_ms) {}

  void set(const std::string& key, const std::vector<char>& value) override {
    const Result<void> done = store_.set(room_ + key, {value.data(), value.size()});
    if (!done) give_up(done.error());
  }

  std::vector<char> get(const std::string& key) override {
    const Result<std::string> value = store_.get(room_ + key, timeout_ms_);
    if (!value) give_up(value.error());
    return {value->begin(), value->end()};
  }

  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) get(key);
  }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& /*timeout*/) override { wait(keys); }

  const std::optional<Error>& error() const { return error_; }

 private:
  [[noreturn]] void give_up(const Error& error) {
    error_ = error;
    throw std::runtime_error(error.message());
  }

  RankStore& store_;
  std::string room_;
  std::int64_t timeout_ms_;
  std::optional<Error> error_;
};

std::string numeric(const sockaddr* address) {
  std::array<char, NI_MAXHOST> text{};
  const socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return text.data();
}

struct Interface {
  std::string name, address;
};

// Those that are up and have an IP address; IPv4 first, as Gloo prefers nothing and TCP over either is the same.
std::vector<Interface> interfaces_here() {
  std::vector<Interface> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return found;
  for (const int family : {AF_INET, AF_INET6})
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next)
      if (entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == family && (entry->ifa_flags & IFF_UP) != 0)
        found.push_back({entry->ifa_name, numeric(entry->ifa_addr)});
  ::freeifaddrs(list);
  return found;
}

Result<Interface> interface_for(const FabricPlace& place) {
  const std::vector<Interface> all = interfaces_here();
  std::vector<std::string> names;
  for (const Interface& interface : all) {
    if (!place.interface_name.empty() ? interface.name == place.interface_name : interface.address == place.address)
      return interface;
    names.push_back(interface.name + " (" + interface.address + ")");
  }
  const bool named = !place.interface_name.empty();
  return Error{named ? "no interface" : "no interface has the address",
               (named ? place.interface_name : place.address) + " on rank " + std::to_string(place.rank),
               "those with an address here are " + join(names, ", "), "--interface NAME", 2};
}

}  // namespace

std::string gloo_words(const std::string& text) {
  // "[/build/gloo-…/gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:41224"
  const std::size_t end = text.find("] ");
  const bool has_place = !text.empty() && text.front() == '[' && end != std::string::npos;
  return has_place ? text.substr(end + 2) : text;
}

Result<GlooContext> connect_gloo(const FabricPlace& place, RankStore& store, const std::string& room) {
  const Result<Interface> interface = interface_for(place);
  if (!interface) return interface.error();
  StoreForGloo words(store, room, place.timeout_ms);
  try {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = interface->address;
    std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(attributes);
    auto context = std::make_shared<gloo::rendezvous::Context>(place.rank, place.ranks);
    context->setTimeout(std::chrono::milliseconds(place.timeout_ms));
    context->connectFullMesh(words, device);
    return GlooContext{std::move(context), interface->name, interface->address};
  } catch (const std::exception& error) {
    if (words.error()) return *words.error();
    return Error{"rank " + std::to_string(place.rank) + " cannot reach the others through", interface->name,
                 gloo_words(error.what()), "--interface NAME", 3};
  }
}

}  // namespace gradsync
