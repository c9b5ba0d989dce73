// What a pack leaves out of a recording. Each masked character becomes an x, so that sizes and places stay and spools
// need not be written anew:
//
//   /home/alice/train.py, /scratch/alice/x     the user's name, wherever it is a folder of a path
//   --api-key abc, API_KEY=abc, token=abc      the value behind a word that ends in key, token, secret, password or passwd:
//                                              behind = always, behind a blank or as the next argument for an option
//   https://alice:abc@host                     who logs in
//
// Recordings hold no other values of the environment than the settings of docs/events.md. Host names, command lines,
// file names, and names of functions and kernels stay: they are what help needs.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace gradsync {

class Redactor {
 public:
  // Users whose home folders are named (/home/NAME, /Users/NAME). All files come before the first is masked.
  void learn(std::string_view bytes);
  // Masks in place; how many names and values. JSON stays JSON.
  std::size_t mask(char* bytes, std::size_t size) const;

 private:
  std::set<std::string, std::less<>> users_;
};

}  // namespace gradsync
