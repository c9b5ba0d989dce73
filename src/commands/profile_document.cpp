// A profile as a report document, and back.
#include <algorithm>
#include <cmath>
#include <ctime>

#include "analyzers/fabric_cost.h"
#include "src/base/file.h"
#include "src/commands/profiles.h"
#include "src/model/series_table.h"
#include "src/report/json.h"
#include "version.h"

namespace gradsync {
namespace {

constexpr double kMebibyte = 1 << 20;
constexpr const char* kProfile = "profile";
constexpr std::string_view kMeasuredAt = "sweep.at", kInterface = "interface", kLoads = "loads";
const std::vector<std::string> kFitColumns{"operation", "type",     "load",      "from_bytes",
                                           "to_bytes",  "alpha_us", "us_per_mib"};
const std::vector<std::string> kLoadColumns{
    "algorithm",  "device",        "elements",          "ms_p10",        "ms_p50",
    "ms_p90",     "ranks",         "decompress_ms_p10", "decompress_ms", "decompress_ms_p90",
    "wire_bytes", "ratio_percent", "roofline_percent"};

// all_reduce, all_reduce.half: what a moment of measuring belongs to.
std::string part_of(const std::string& type, const std::string& operation) {
  return type == kFloat ? operation : operation + "." + type;
}

std::string fact_of(const Report& report, std::string_view name) {
  const auto found = report.facts.find(std::string(name));
  return found == report.facts.end() ? "" : found->second;
}

// Of a profile: what was chosen when it was saved. Before there was more than one type nothing but floats was kept.
std::optional<FabricFit> kept_fit(const Series& series) {
  const SeriesTable rows(series);
  FabricFit fit;
  for (const auto& row : series.rows) {
    const auto from = rows.number(row, "from_bytes"), to = rows.number(row, "to_bytes");
    const auto alpha = rows.number(row, "alpha_us"), slope = rows.number(row, "us_per_mib");
    const std::string type = rows.text(row, "type");
    if (from && to && alpha && slope)
      fit.types[type.empty() ? kFloat : type][rows.text(row, "operation")].push_back(
          {static_cast<std::int64_t>(*from), static_cast<std::int64_t>(*to), *alpha, *slope / kMebibyte});
  }
  choose_curves(fit);
  return fit.operations.empty() ? std::nullopt : std::optional(fit);
}

std::optional<FabricFit> fit_in(const Report& report) {
  const auto series = report.series.find("fabric_fit");
  if (series == report.series.end()) return std::nullopt;
  return report.command == kProfile ? kept_fit(series->second) : fabric_fit_of(report.series);
}

// Files of earlier versions have fewer columns: what they do not tell stays unknown.
std::vector<LoadProfile> loads_of(const Series& series) {
  const SeriesTable rows(series);
  std::vector<LoadProfile> loads;
  for (const auto& row : series.rows) {
    const auto elements = rows.number(row, "elements"), p50 = rows.number(row, "ms_p50");
    if (!elements || !p50) continue;
    LoadProfile load{rows.text(row, "algorithm"),
                     rows.text(row, "device"),
                     static_cast<std::int64_t>(*elements),
                     rows.number(row, "ms_p10").value_or(*p50),
                     *p50,
                     rows.number(row, "ms_p90").value_or(*p50)};
    const auto decode = rows.number(row, "decompress_ms"), ranks = rows.number(row, "ranks");
    if (decode && ranks && *ranks >= 1) {
      load.decompress = LoadTimes{rows.number(row, "decompress_ms_p10").value_or(*decode), *decode,
                                  rows.number(row, "decompress_ms_p90").value_or(*decode)};
      load.ranks = static_cast<int>(*ranks);
    }
    load.wire_bytes = static_cast<std::int64_t>(rows.number(row, "wire_bytes").value_or(0));
    load.ratio = rows.number(row, "ratio_percent").value_or(0) / 100;
    load.roofline_percent = rows.number(row, "roofline_percent").value_or(0);
    loads.push_back(std::move(load));
  }
  return loads;
}

Cell known(double value, bool is_known) { return is_known ? Cell(value) : Cell(std::nan("")); }

std::vector<Cell> row_of(const LoadProfile& load) {
  const LoadTimes decode = load.decompress.value_or(LoadTimes{});
  const bool decodes = load.decompress.has_value();
  return {load.algorithm,
          load.device,
          load.elements,
          load.ms_p10,
          load.ms_p50,
          load.ms_p90,
          known(load.ranks, decodes),
          known(decode.p10, decodes),
          known(decode.p50, decodes),
          known(decode.p90, decodes),
          known(static_cast<double>(load.wire_bytes), load.wire_bytes > 0),
          known(100 * load.ratio, load.ratio > 0),
          known(load.roofline_percent, load.roofline_percent > 0)};
}

Profile profile_in(const Report& report) {
  Profile profile;
  profile.hosts = report.run.hosts;
  std::sort(profile.hosts.begin(), profile.hosts.end());
  profile.interface_name = fact_of(report, kInterface);
  profile.backend = report.run.backend;
  profile.ranks = report.run.ranks;
  profile.versions = report.run.versions;
  const std::optional<std::int64_t> of_all = utc_seconds(fact_of(report, kMeasuredAt));
  const auto at = [&](const std::string& part) {
    const auto own = utc_seconds(fact_of(report, std::string(kMeasuredAt) + "." + part));
    if (own || of_all) profile.measured_at[part] = own ? *own : *of_all;
  };
  if (std::optional<FabricFit> fit = fit_in(report)) {
    fit->backend = profile.backend;
    fit->ranks = profile.ranks;
    for (const auto& [type, operations] : fit->types)
      for (const auto& [operation, segments] : operations) at(part_of(type, operation));
    profile.fabric = std::move(fit);
  }
  if (const auto loads = report.series.find("load_profiles"); loads != report.series.end()) {
    profile.loads = loads_of(loads->second);
    if (!profile.loads.empty()) at(std::string(kLoads));
  }
  if (profile.fabric) profile.fabric->fingerprint = fingerprint_of(profile);
  return profile;
}

}  // namespace

std::string utc_text(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", ::gmtime_r(&time, &parts));
  return text;
}

std::optional<std::int64_t> utc_seconds(const std::string& text) {
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return ::timegm(&parts);
}

std::string profile_to_json(const Profile& profile) {
  Report document;
  document.tool.version = kVersion;
  document.command = kProfile;
  document.run.hosts = profile.hosts;
  document.run.ranks = profile.ranks;
  document.run.backend = profile.backend;
  document.run.versions = profile.versions;
  if (!profile.interface_name.empty()) document.facts[std::string(kInterface)] = profile.interface_name;
  for (const auto& [part, seconds] : profile.measured_at)
    document.facts[std::string(kMeasuredAt) + "." + part] = utc_text(seconds);
  if (profile.fabric) {
    Series& fit = document.series["fabric_fit"] = {"fabric_fit", kFitColumns, {}};
    for (const auto& [type, operations] : profile.fabric->types)
      for (const auto& [operation, segments] : operations)
        for (const FabricSegment& segment : segments)
          fit.rows.push_back({operation, type, std::string(), segment.from_bytes, segment.to_bytes, segment.alpha_us,
                              segment.beta_us_per_byte * kMebibyte});
  }
  if (!profile.loads.empty()) {
    Series& loads = document.series["load_profiles"] = {"load_profiles", kLoadColumns, {}};
    for (const LoadProfile& load : profile.loads) loads.rows.push_back(row_of(load));
  }
  return report_to_json(document);
}

Result<Profile> profile_from_json(std::string_view text, std::string_view origin) {
  const Result<Report> document = report_from_json(text, origin);
  if (!document) return document.error();
  Profile profile = profile_in(*document);
  if (!profile.fabric && profile.loads.empty())
    return Error{"no profile in", std::string(origin),
                 "it holds neither a fit that is close to what was measured nor reference loads",
                 "gradsync-doctor sweep --ranks 2 --json FILE"};
  return profile;
}

Result<Profile> read_profile(const std::filesystem::path& path) {
  const Result<std::string> bytes = read_file(path, std::size_t{64} << 20);
  if (!bytes) return bytes.error();
  return profile_from_json(*bytes, path.string());
}

std::optional<Profile> profile_of(const Report& report) {
  Profile profile = profile_in(report);
  if (!profile.fabric && profile.loads.empty()) return std::nullopt;
  return profile;
}

}  // namespace gradsync
