#include "src/affinity/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

namespace gradsync {
namespace {

using Json = nlohmann::json;

constexpr int kFormat = 1;

Error cannot(const char* what, const std::filesystem::path& path, int error) {
  return {what, path.string(), errno_text(error),
          error == EACCES ? "run it as root, or name a folder of your own with --journal" : "",
          error == EACCES ? 21 : 125};
}

Json to_json(const std::optional<CpuList>& cpus) { return cpus ? Json(format_cpu_list(*cpus)) : Json(nullptr); }

std::optional<CpuList> cpus_of(const Json& json, const char* key) {
  if (!json.contains(key) || !json.at(key).is_string()) return std::nullopt;
  return parse_cpu_list(json.at(key).get<std::string>());
}

Json to_json(const SavedIrq& saved) {
  return {{"irq", saved.irq},
          {"action", saved.action},
          {"hwirq", saved.hwirq},
          {"chip", saved.chip},
          {"device", saved.device},
          {"allowed", format_cpu_list(saved.allowed)},
          {"effective", to_json(saved.effective)},
          {"hint", to_json(saved.hint)},
          {"node", saved.node},
          {"written", format_cpu_list(saved.written)}};
}

std::optional<SavedIrq> saved_irq(const Json& json) {
  const auto allowed = cpus_of(json, "allowed"), written = cpus_of(json, "written");
  if (!allowed || allowed->empty() || !written) return std::nullopt;
  SavedIrq saved;
  saved.irq = json.at("irq").get<int>();
  saved.action = json.at("action").get<std::string>();
  saved.hwirq = json.at("hwirq").get<std::string>();
  saved.chip = json.at("chip").get<std::string>();
  saved.device = json.at("device").get<std::string>();
  saved.allowed = *allowed;
  saved.effective = cpus_of(json, "effective");
  saved.hint = cpus_of(json, "hint");
  saved.node = json.at("node").get<int>();
  saved.written = *written;
  return saved;
}

std::string text_of(const IrqJournal& journal) {
  Json json = {{"format", kFormat},
               {"boot_id", journal.boot_id},
               {"host", journal.host},
               {"time", journal.time},
               {"state", journal.state == JournalState::kept ? "kept" : "begun"},
               {"pid", journal.pid},
               {"default_allowed", to_json(journal.default_allowed)},
               {"owners", Json::array()},
               {"irqs", Json::array()}};
  for (const IrqOwner& owner : journal.owners) json["owners"].push_back({{"pid", owner.pid}, {"name", owner.name}});
  for (const SavedIrq& saved : journal.irqs) json["irqs"].push_back(to_json(saved));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

IrqJournal journal_of(const Json& json, bool& complete) {
  IrqJournal journal;
  complete = json.at("format").get<int>() == kFormat;
  journal.boot_id = json.at("boot_id").get<std::string>();
  journal.host = json.at("host").get<std::string>();
  journal.time = json.at("time").get<std::string>();
  journal.state = json.at("state").get<std::string>() == "kept" ? JournalState::kept : JournalState::begun;
  journal.pid = json.at("pid").get<int>();
  journal.default_allowed = cpus_of(json, "default_allowed");
  for (const Json& owner : json.at("owners"))
    journal.owners.push_back({owner.at("pid").get<int>(), owner.at("name").get<std::string>()});
  for (const Json& entry : json.at("irqs")) {
    if (auto saved = saved_irq(entry))
      journal.irqs.push_back(std::move(*saved));
    else
      complete = false;
  }
  return journal;
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return ::fsync(fd) == 0 ? 0 : errno;
}

// So that a name that was added or removed survives a power cut.
int flush_folder(const std::filesystem::path& folder) {
  const FileDescriptor open_folder(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return open_folder && ::fsync(open_folder.get()) == 0 ? 0 : errno;
}

}  // namespace

std::filesystem::path journal_path(const std::filesystem::path& folder, const std::string& boot_id) {
  return folder / ((boot_id.empty() ? "unknown-boot" : boot_id) + ".json");
}

Result<FileDescriptor> lock_journals(const std::filesystem::path& folder) {
  constexpr const char* kWhat = "cannot use the folder of the journal";
  std::filesystem::path made;
  for (const std::filesystem::path& part : folder) {
    made /= part;
    if (::mkdir(made.c_str(), S_IRWXU) != 0 && errno != EEXIST && errno != EROFS) return cannot(kWhat, made, errno);
  }
  FileDescriptor held(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!held) return cannot(kWhat, folder, errno);
  struct stat status {};
  if (::fstat(held.get(), &status) != 0 || (status.st_mode & 0022U) != 0 || status.st_uid != ::geteuid())
    return Error{kWhat, folder.string(), "it is not yours alone: others may write there",
                 "chmod 700 " + folder.string(), 125};
  if (::flock(held.get(), LOCK_EX | LOCK_NB) == 0) return held;
  return Error{kWhat, folder.string(), "another gradsync-doctor is changing interrupts now", "wait until it is done",
               125};
}

Result<void> save_journal(const std::filesystem::path& path, const IrqJournal& journal, Existing existing) {
  std::error_code ignored;
  if (existing == Existing::refuse && std::filesystem::exists(path, ignored))
    return Error{"cannot write the journal", path.string(), "it still holds a change that was not undone",
                 "gradsync-doctor irq --undo", 125};
  const std::filesystem::path fresh = path.string() + ".new";
  ::unlink(fresh.c_str());
  const FileDescriptor file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return cannot("cannot write the journal", path, errno);
  int error = write_all(file.get(), text_of(journal));
  if (error == 0 && ::rename(fresh.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) error = flush_folder(path.parent_path());
  if (error == 0) return {};
  ::unlink(fresh.c_str());
  return cannot("cannot write the journal", path, error);
}

Result<IrqJournal> load_journal(const std::filesystem::path& path) {
  const Result<std::string> text = read_file(path, std::size_t{16} << 20);
  if (!text) return text.error();
  const Error broken{"cannot use the journal", path.string(), "it is not one, or of another version", "", 3};
  try {
    bool complete = false;
    IrqJournal journal = journal_of(Json::parse(*text), complete);
    if (!complete) return broken;
    return journal;
  } catch (const Json::exception&) {
    return broken;
  }
}

Result<void> consume_journal(const std::filesystem::path& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return cannot("cannot remove the journal", path, errno);
  flush_folder(path.parent_path());
  return {};
}

std::optional<OpenJournal> open_journal(const std::filesystem::path& folder, const std::string& boot_id) {
  OpenJournal found{journal_path(folder, boot_id), {}, false};
  Result<IrqJournal> journal = load_journal(found.path);
  if (!journal) return std::nullopt;
  found.journal = std::move(*journal);
  const FileDescriptor held(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  found.running = held && ::flock(held.get(), LOCK_EX | LOCK_NB) != 0;
  return found;
}

}  // namespace gradsync
