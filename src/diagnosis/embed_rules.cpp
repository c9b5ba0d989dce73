// Writes TOML files into a C++ source, byte for byte and parsed, as what a function returns. Runs while the program is built:
//   embed_rules builtin_rule_files.cpp builtin_rule_files a.toml b.toml …
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "src/base/file.h"
#include "src/diagnosis/toml_text.h"

namespace {

std::string literal(const std::string& text) { return "R\"gsd_rule(" + text + ")gsd_rule\""; }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  std::string source =
      "// Made from TOML files by embed_rules; do not edit.\n#include \"src/diagnosis/rule_set.h\"\n\n"
      "namespace gradsync {\n\nconst std::vector<RuleFile>& " +
      std::string(argv[2]) + "();\nconst std::vector<RuleFile>& " + argv[2] +
      "() {\n"
      "  static const std::vector<RuleFile> files{\n";
  for (int i = 3; i < argc; ++i) {
    const std::filesystem::path path = argv[i];
    const auto text = gradsync::read_file(path, std::size_t{1} << 20);
    const auto tree = text ? gradsync::parse_toml(*text, path.filename().string())
                           : gradsync::Result<gradsync::TomlNode>(text.error());
    if (!tree) {
      std::fprintf(stderr, "embed_rules: %s\n", tree.error().message().c_str());
      return 1;
    }
    source += "{\"" + path.filename().string() + "\", " + literal(*text) + ",\n" +
              literal(gradsync::write_toml_tree(*tree)) + "},\n";
  }
  source += "  };\n  return files;\n}\n\n}  // namespace gradsync\n";
  std::ofstream out(argv[1], std::ios::binary);
  out << source;
  out.close();
  return out.good() ? 0 : 1;
}
