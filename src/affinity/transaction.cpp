#include "src/affinity/transaction.h"

#include <algorithm>
#include <set>

#include "src/affinity/refusal.h"
#include "src/affinity/restore.h"
#include "src/affinity/verify.h"

namespace gradsync {
namespace {

using Clock = std::chrono::milliseconds;

bool is_placed(const IrqOutcome& outcome) {
  return outcome.state == IrqState::moved || outcome.state == IrqState::pending || outcome.state == IrqState::written;
}

class Transaction {
 public:
  Transaction(TransactionInputs inputs, const TransactionOptions& options, IrqKernel& kernel)
      : inputs_(std::move(inputs)), options_(options), kernel_(kernel) {}

  Result<TransactionResult> run() {
    const std::filesystem::path journal = journal_path(options_.folder, inputs_.snapshot.boot_id);
    if (std::error_code ignored; std::filesystem::exists(journal, ignored))
      return Error{"an earlier change is still in place", journal.string(), "its journal would be lost",
                   "gradsync-doctor irq --undo", 125};
    if (inputs_.plan.moves().empty()) return result_;
    if (is_forbidden()) return end(TransactionEnd::not_permitted);
    result_.journal = journal;
    const Result<FileDescriptor> lock = lock_journals(options_.folder);
    if (!lock) return lock.error();
    const auto before = inputs_.measure();
    if (!before) return end(TransactionEnd::interrupted);
    if (const Result<void> saved = save(inputs_.plan.moves(), Existing::refuse); !saved) return saved.error();
    if (const Result<void> written = write_masks(); !written) return restore_after(written.error());
    if (stopped_) return take_back(TransactionEnd::not_permitted);
    if (!any_placed()) return take_back(TransactionEnd::failed);
    if (verify_moves(result_.outcomes, kernel_, options_.patience) == Waited::interrupted)
      return take_back(TransactionEnd::interrupted);
    put_back_failed_devices();
    if (!any_placed() && !any_reverted()) return take_back(TransactionEnd::failed);
    return judge(*before);
  }

 private:
  // What will be refused is said before anything is measured.
  bool is_forbidden() {
    for (const IrqPlanLine& move : inputs_.plan.moves()) {
      const int error = kernel_.may_write(move.irq);
      const Refusal refusal = explain_refusal(error, move.irq, {*move.to});
      if (error == 0 || (refusal.kind != RefusalKind::read_only && refusal.kind != RefusalKind::not_permitted))
        continue;
      result_.outcomes.push_back(
          {move.irq, move.action, move.device, {*move.to}, IrqState::failed, refusal.says, refusal.command});
    }
    return !result_.outcomes.empty();
  }

  Result<void> save(const std::vector<IrqPlanLine>& moves, Existing existing) {
    for (SavedIrq& line : lines_to_save(inputs_.snapshot, moves))
      if (std::none_of(journal_.irqs.begin(), journal_.irqs.end(),
                       [&](const SavedIrq& known) { return known.irq == line.irq; }))
        journal_.irqs.push_back(std::move(line));
    journal_.boot_id = inputs_.snapshot.boot_id;
    journal_.host = inputs_.snapshot.host;
    journal_.time = inputs_.time;
    journal_.pid = inputs_.pid;
    journal_.default_allowed = inputs_.snapshot.default_allowed;
    journal_.owners = inputs_.snapshot.owners;
    return save_journal(result_.journal, journal_, existing);
  }

  void add_outcomes(const Applied& applied) {
    for (const IrqOutcome& outcome : applied.outcomes) {
      const auto known = std::find_if(result_.outcomes.begin(), result_.outcomes.end(),
                                      [&](const IrqOutcome& other) { return other.irq == outcome.irq; });
      if (known == result_.outcomes.end())
        result_.outcomes.push_back(outcome);
      else
        *known = outcome;
    }
    stopped_ = applied.stopped;
  }

  // The masks, and once more after a CPU went offline. The journal then holds what was really written.
  Result<void> write_masks() {
    Applied applied = apply_moves(inputs_.plan.moves(), journal_.irqs, kernel_);
    add_outcomes(applied);
    if (applied.cpu_gone && !applied.stopped && inputs_.plan_again) {
      Result<std::pair<IrqSnapshot, IrqPlan>> fresh = inputs_.plan_again();
      if (!fresh) return fresh.error();
      std::vector<IrqPlanLine> moves = fresh->second.moves();
      std::erase_if(moves, [&](const IrqPlanLine& move) {
        return std::any_of(result_.outcomes.begin(), result_.outcomes.end(),
                           [&](const IrqOutcome& outcome) { return outcome.irq == move.irq && is_placed(outcome); });
      });
      inputs_.snapshot = std::move(fresh->first);
      if (Result<void> saved = save(moves, Existing::replace); !saved) return saved;
      add_outcomes(apply_moves(moves, journal_.irqs, kernel_));
    }
    return save({}, Existing::replace);
  }

  bool any_placed() const { return std::any_of(result_.outcomes.begin(), result_.outcomes.end(), is_placed); }

  bool any_reverted() const {
    return std::any_of(result_.outcomes.begin(), result_.outcomes.end(),
                       [](const IrqOutcome& outcome) { return outcome.state == IrqState::reverted; });
  }

  std::vector<SavedIrq> saved_of(const std::function<bool(const IrqOutcome&)>& wanted) const {
    std::vector<SavedIrq> lines;
    for (const IrqOutcome& outcome : result_.outcomes)
      if (wanted(outcome))
        for (const SavedIrq& line : journal_.irqs)
          if (line.irq == outcome.irq) lines.push_back(line);
    return lines;
  }

  void restore(const std::vector<SavedIrq>& lines) {
    for (IrqOutcome& restored : restore_interrupts(lines, kernel_))
      for (IrqOutcome& outcome : result_.outcomes)
        if (outcome.irq == restored.irq) {
          if (restored.says.empty() && outcome.state == IrqState::failed) restored.says = outcome.says;
          outcome = std::move(restored);
          break;
        }
  }

  // An interrupt that does not follow its mask takes its device's others with it.
  void put_back_failed_devices() {
    std::set<std::string> devices;
    for (const IrqOutcome& outcome : result_.outcomes)
      if (outcome.state == IrqState::failed) devices.insert(outcome.device);
    if (devices.empty()) return;
    const std::vector<IrqOutcome> before = result_.outcomes;
    restore(saved_of([&](const IrqOutcome& outcome) {
      return devices.contains(outcome.device) && outcome.state != IrqState::skipped &&
             outcome.state != IrqState::restored;
    }));
    for (std::size_t i = 0; i < before.size(); ++i)
      if (before[i].state == IrqState::failed && result_.outcomes[i].state == IrqState::restored)
        result_.outcomes[i].state = IrqState::failed;  // put back, and what is said is why
  }

  // What was placed goes back, and the journal with it.
  Result<TransactionResult> take_back(TransactionEnd how) {
    restore(saved_of(is_placed));
    const bool stuck = std::any_of(result_.outcomes.begin(), result_.outcomes.end(), [&](const IrqOutcome& outcome) {
      const auto now = kernel_.allowed(outcome.irq);
      const auto saved = std::find_if(journal_.irqs.begin(), journal_.irqs.end(),
                                      [&](const SavedIrq& line) { return line.irq == outcome.irq; });
      return outcome.state == IrqState::failed && saved != journal_.irqs.end() && now == saved->written &&
             saved->written != saved->allowed;
    });
    if (!stuck) {
      if (const Result<void> consumed = consume_journal(result_.journal); !consumed) return consumed.error();
      result_.journal.clear();
    }
    return end(how);
  }

  Result<TransactionResult> restore_after(const Error& error) {
    if (const Result<TransactionResult> back = take_back(TransactionEnd::failed); !back) return back.error();
    return error;
  }

  Result<TransactionResult> end(TransactionEnd how) {
    result_.end = how;
    return std::move(result_);
  }

  // Measures again while the others have time to object, then decides.
  Result<TransactionResult> judge(const std::vector<IrqMeasure>& before) {
    const auto written = std::chrono::steady_clock::now();
    const auto after = inputs_.measure();
    if (!after) return take_back(TransactionEnd::interrupted);
    const auto spent = std::chrono::duration_cast<Clock>(std::chrono::steady_clock::now() - written);
    if (spent < options_.guard && kernel_.wait(options_.guard - spent) == Waited::interrupted)
      return take_back(TransactionEnd::interrupted);
    look_for_reverts(result_.outcomes, kernel_);
    if (any_reverted()) {
      std::vector<int> irqs;
      for (const IrqOutcome& outcome : result_.outcomes)
        if (outcome.state == IrqState::reverted) irqs.push_back(outcome.irq);
      result_.remedy = remedy_against(kernel_.owners(), irqs);
      return take_back(TransactionEnd::reverted);
    }
    const int sign = compare(before, *after);
    if (sign > 0) return take_back(TransactionEnd::restored_worse);
    if (sign == 0 && options_.when_equal == WhenEqual::restore) return take_back(TransactionEnd::restored_equal);
    journal_.state = JournalState::kept;
    if (const Result<void> saved = save({}, Existing::replace); !saved) return restore_after(saved.error());
    return end(TransactionEnd::kept);
  }

  // Worse is what any measure shows beyond doubt, better what one shows when none is worse.
  int compare(const std::vector<IrqMeasure>& before, const std::vector<IrqMeasure>& after) {
    bool better = false, worse = false;
    for (const IrqMeasure& was : before)
      for (const IrqMeasure& is : after) {
        if (is.name != was.name) continue;
        IrqComparison comparison{was, is, median_difference(was.windows, is.windows)};
        if (comparison.change) {
          better = better || comparison.change->high < 0;
          worse = worse || comparison.change->low > 0;
        }
        result_.comparisons.push_back(std::move(comparison));
      }
    return worse ? 1 : better ? -1 : 0;
  }

  TransactionInputs inputs_;
  const TransactionOptions& options_;
  IrqKernel& kernel_;
  IrqJournal journal_;
  TransactionResult result_;
  bool stopped_ = false;
};

}  // namespace

const char* to_string(TransactionEnd end) {
  switch (end) {
    case TransactionEnd::nothing_to_do:
      return "nothing to do";
    case TransactionEnd::kept:
      return "kept";
    case TransactionEnd::restored_equal:
      return "restored: no difference shown";
    case TransactionEnd::restored_worse:
      return "restored: worse";
    case TransactionEnd::reverted:
      return "reverted by another owner";
    case TransactionEnd::not_permitted:
      return "not permitted";
    case TransactionEnd::failed:
      return "failed";
    case TransactionEnd::interrupted:
      break;
  }
  return "interrupted";
}

bool TransactionResult::complete() const {
  return std::all_of(outcomes.begin(), outcomes.end(), [](const IrqOutcome& outcome) {
    return outcome.state == IrqState::moved || outcome.state == IrqState::pending;
  });
}

Result<TransactionResult> run_transaction(TransactionInputs inputs, const TransactionOptions& options,
                                          IrqKernel& kernel) {
  return Transaction(std::move(inputs), options, kernel).run();
}

}  // namespace gradsync
