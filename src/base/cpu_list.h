// Sets of CPUs as the kernel writes them: lists ("0-3,8") and masks ("00000001,0000000f"). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradsync {

using CpuList = std::vector<int>;  // ascending, each once

// Nothing for what is neither a list nor empty; strides ("0-7:1/2") are refused. "" and "\n" are the empty list.
std::optional<CpuList> parse_cpu_list(std::string_view text);
std::optional<CpuList> parse_cpu_mask(std::string_view text);  // hexadecimal words of 32 bits, the highest first
std::string format_cpu_list(const CpuList& cpus);              // "0-3,8"; "" for none

bool contains(const CpuList& cpus, int cpu);
CpuList common(const CpuList& a, const CpuList& b);
CpuList without(const CpuList& cpus, const CpuList& removed);
CpuList joined(const CpuList& a, const CpuList& b);

}  // namespace gradsync
