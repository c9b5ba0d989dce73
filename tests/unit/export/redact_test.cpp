#include "src/export/redact.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace gradsync {
namespace {

std::string masked(std::string text) {
  Redactor redactor;
  redactor.learn(text);
  redactor.mask(text.data(), text.size());
  return text;
}

TEST_CASE("names of users go from paths, their length stays") {
  CHECK(masked("/home/alice/train.py(87): main") == "/home/xxxxx/train.py(87): main");
  CHECK(masked("/Users/bob.b/x /scratch/bob.b/y /data/bob.b") == "/Users/xxxxx/x /scratch/xxxxx/y /data/xxxxx");
  CHECK(masked("/home/al/a /home/albert/b /x/album/al") == "/home/xx/a /home/xxxxxx/b /x/album/xx");
  CHECK(masked("/homes/alice /root/x /usr/lib/python3") == "/homes/alice /root/x /usr/lib/python3");
}

TEST_CASE("values behind names of secrets go") {
  CHECK(masked("--api-key abc --lr 0.1") == "--api-key xxx --lr 0.1");
  CHECK(masked("WANDB_API_KEY=abc.def python3") == "WANDB_API_KEY=xxxxxxx python3");
  CHECK(masked("wandb.token='a,b' x") == "wandb.token='xxx' x");
  CHECK(masked(R"(["--password","it\"s me","x"])") == R"(["--password","xxxxxxxx","x"])");
  CHECK(masked(R"(["--hf-token", "abc"])") == R"(["--hf-token", "xxx"])");
  CHECK(masked("https://u:pw@host/x http://host/a@b s3://k@b") == "https://xxxx@host/x http://host/a@b s3://x@b");
}

TEST_CASE("words of training that only look alike stay") {
  for (const char* text : {"--max-tokens 512", "--tokenizer gpt2", R"("key": 5, "token": "a")", "aten::key_padding",
                           "--num-keys=3", "monkey 7", "secrets"})
    CHECK(masked(text) == text);
}

TEST_CASE("JSON stays JSON, whatever the value holds") {
  const std::string text = nlohmann::json::array({"--token", "a\\\"\n\t\xc3\xa9 z", "--key=\"q\"", "end"}).dump();
  for (const char* value : {"", "a", "'a b' c", "\"", "=", "\\", "-x", ", "})
    for (const char* name : {"--token", "--token=", "--token ", "x key='", "key=\"", "TOKEN="}) {
      const auto kept = nlohmann::json::array({name, value, "end"});
      CAPTURE(kept.dump());
      for (const int indent : {-1, 0, 2}) {
        const auto read = nlohmann::json::parse(masked(kept.dump(indent)), nullptr, false);
        REQUIRE(read.size() == 3);
        CHECK(read[2] == "end");
      }
    }
  const auto read = nlohmann::json::parse(masked(text));
  CHECK(read.size() == 4);
  CHECK(read[3] == "end");
  CHECK(read[1].get<std::string>().find('a') == std::string::npos);
}

TEST_CASE("what is at the very end") {
  for (const char* text : {"--token", "--token ", "key=", "/home/", "x://", "--key \\", "/home/a"})
    CHECK_NOTHROW(masked(text));
  CHECK(masked("/home/a") == "/home/x");
}

}  // namespace
}  // namespace gradsync
