# Writes rules/*.toml into a C++ source, byte for byte.
#   cmake -DRULES="a.toml;b.toml" -DOUTPUT=builtin_rule_files.cpp -P embed_rules.cmake
set(source "// Made from rules/*.toml by embed_rules.cmake; do not edit.
#include \"src/diagnosis/rule_set.h\"

namespace gradsync {

const std::vector<RuleFile>& builtin_rule_files() {
  static const std::vector<RuleFile> files{
")
foreach(rule IN LISTS RULES)
  get_filename_component(name "${rule}" NAME)
  file(READ "${rule}" text)
  string(APPEND source "{\"${name}\", R\"gsd_rule(${text})gsd_rule\"},\n")
endforeach()
string(APPEND source "  };
  return files;
}

}  // namespace gradsync
")
file(WRITE "${OUTPUT}" "${source}")
