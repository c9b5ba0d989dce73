#include "tests/support/text_events.h"

#include <charconv>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace gradsync::test {
namespace {

using Fields = std::map<std::string, std::string>;

struct Line {
  std::string word;
  std::vector<std::string> positional;
  Fields fields;
};

// "of several words" up to the next quotation mark.
std::string value_of(std::string value, std::istringstream& words) {
  if (!value.starts_with('"')) return value;
  value.erase(0, 1);
  if (value.ends_with('"')) return value.substr(0, value.size() - 1);
  std::string rest;
  std::getline(words, rest, '"');
  return value + rest;
}

Line split(const std::string& text) {
  std::istringstream words(text);
  Line line;
  words >> line.word;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      line.positional.push_back(word);
    else
      line.fields[word.substr(0, equals)] = value_of(word.substr(equals + 1), words);
  }
  return line;
}

std::int64_t number(const std::string& text) {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size())
    throw std::runtime_error("not a number: " + text);
  return value;
}

class Feeder {
 public:
  explicit Feeder(EventSink& sink) : sink_(sink) {}

  void line(const Line& line) {
    if (line.word == "process") return process(line);
    if (line.word == "lane") return lane(line);
    if (line.word == "fact") {
      for (const auto& [key, value] : line.fields) sink_.fact(key, value);
      return;
    }
    event(line);
  }

 private:
  void process(const Line& line) {
    ProcessInfo info;
    Fields fields = line.fields;
    info.host = fields["host"];
    info.pid = number(fields["pid"]);
    info.exited_cleanly = fields["clean"] == "1";
    if (fields.contains("self_us")) info.self_ns = static_cast<std::uint64_t>(number(fields["self_us"])) * 1000;
    sink_.begin_process(info);
    next_ = 0;
  }

  void lane(const Line& line) {
    Fields fields = line.fields;
    sink_.lane(
        {LaneId{static_cast<std::uint32_t>(number(line.positional.at(0)))}, number(fields["tid"]), fields["name"]});
  }

  void event(const Line& line) {
    Event event;
    event.kind = kind_from(line.word);
    if (event.kind == Kind::empty) throw std::runtime_error("no such event: " + line.word);
    event.source = Source::torch_hook;
    event.reference = ++next_;
    for (const std::string& word : line.positional) position(word, event);
    Fields rest;
    for (const auto& [key, value] : line.fields)
      if (!field(key, value, event)) rest[key] = value;
    if (event.kind == Kind::wait && event.correlation != 0)
      event.correlation = ids_[static_cast<std::int64_t>(event.correlation)];
    sink_.event(event);
    for (const auto& [key, value] : rest) attribute(event.reference, key, value);
  }

  void position(const std::string& word, Event& event) {
    const std::size_t dots = word.find("..");
    if (dots != std::string::npos) {
      event.start = number(word.substr(0, dots)) * 1000;
      event.end = number(word.substr(dots + 2)) * 1000;
    } else if (event.kind == Kind::step) {
      event.step = static_cast<std::uint32_t>(number(word));
    } else if (event.kind == Kind::range && event.phase == Phase::none &&
               (word == "none" || phase_from(word) != Phase::none)) {
      event.phase = phase_from(word);
    } else if (event.kind == Kind::loss && event.bytes == 0) {
      event.bytes = number(word);
    } else {
      event.name = sink_.intern(word);
    }
  }

  bool field(const std::string& key, const std::string& value, Event& event) {
    const auto flag = [&](std::uint8_t bit) {
      if (value == "1") event.flags |= bit;
      return true;
    };
    if (key == "lane") return event.lane = LaneId{static_cast<std::uint32_t>(number(value))}, true;
    if (key == "stream") return event.lane = LaneId{0x80000000U | static_cast<std::uint32_t>(number(value))}, true;
    if (key == "name") return event.name = sink_.intern(value), true;
    if (key == "bytes") return event.bytes = number(value), true;
    if (key == "group") return event.group = sink_.intern(value), true;
    if (key == "seq") return event.sequence = static_cast<std::uint32_t>(number(value)), true;
    if (key == "id") return ids_[number(value)] = event.reference, true;
    if (key == "on") return event.correlation = static_cast<std::uint64_t>(number(value)), true;
    if (key == "corr") return event.correlation = static_cast<std::uint64_t>(number(value)), true;
    if (key == "variant") return event.group = NameId{static_cast<std::uint32_t>(number(value))}, true;
    if (key == "deep") return flag(kFlagDeep);
    if (key == "async") return flag(kFlagAsync);
    if (key == "hook") return flag(kFlagInHook);
    if (key == "extrapolated") return flag(kFlagExtrapolated);
    if (key == "source") {
      for (const Source source :
           {Source::profiler, Source::nvtx, Source::nccl_nvtx, Source::cupti, Source::host, Source::ddp_logger,
            Source::doctor, Source::nccl_wrapper, Source::nccl_plugin, Source::unknown})
        if (to_string(source) == value) event.source = source;
      return true;
    }
    return false;
  }

  void attribute(std::uint64_t reference, const std::string& key, const std::string& value) {
    std::int64_t integer = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), integer);
    const bool whole = parsed.ec == std::errc{} && parsed.ptr == value.data() + value.size();
    if (whole && key.ends_with("_us"))
      sink_.attribute(reference, sink_.intern(key.substr(0, key.size() - 3) + "_ns"), integer * 1000);
    else if (whole)
      sink_.attribute(reference, sink_.intern(key), integer);
    else
      sink_.attribute(reference, sink_.intern(key), sink_.intern(value));
  }

  EventSink& sink_;
  std::uint64_t next_ = 0;
  std::map<std::int64_t, std::uint64_t> ids_;
};

// "@500" and "{3+2x}" of a repeated line in the round `x`, which begins at `begin`.
std::string in_round(const std::string& line, std::int64_t x, std::int64_t begin) {
  static const std::regex place(R"(@(\d+)|\{(\d+)\+(\d+)x\})");
  std::string filled;
  std::size_t end = 0;
  for (std::sregex_iterator match(line.begin(), line.end(), place), none; match != none; ++match) {
    const std::smatch& found = *match;
    filled.append(line, end, static_cast<std::size_t>(found.position()) - end);
    filled += std::to_string(found[1].matched ? begin + number(found[1]) : number(found[2]) + number(found[3]) * x);
    end = static_cast<std::size_t>(found.position() + found.length());
  }
  return filled.append(line, end);
}

void feed_line(const std::string& line, Feeder& feeder) {
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string::npos || line[first] == '#') return;
  try {
    feeder.line(split(line));
  } catch (const std::exception& error) {
    throw std::runtime_error("in \"" + line + "\": " + error.what());
  }
}

// Behind `repeat N every US from US`, up to `end`.
void feed_rounds(const std::string& head, std::istringstream& lines, Feeder& feeder) {
  const std::vector<std::string> words = split(head).positional;
  if (words.size() != 5 || words[1] != "every" || words[3] != "from")
    throw std::runtime_error("not understood: " + head);
  std::vector<std::string> body;
  std::string line;
  while (std::getline(lines, line) && line != "end") body.push_back(line);
  if (line != "end") throw std::runtime_error("no end of: " + head);
  for (std::int64_t x = 0; x < number(words[0]); ++x)
    for (const std::string& one : body) feed_line(in_round(one, x, number(words[4]) + x * number(words[2])), feeder);
}

}  // namespace

void feed(std::string_view text, EventSink& sink) {
  Feeder feeder(sink);
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("repeat "))
      feed_rounds(line, lines, feeder);
    else
      feed_line(line, feeder);
  }
}

}  // namespace gradsync::test
