#include "testing/linearizability/workload.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

namespace once::testing {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLease = 1h;  // Longer than any history.

// What all clients of a run share.
class Record {
 public:
  std::uint64_t moment() { return ++moments_; }

  template <class History, class Operation>
  void add(std::map<std::string, History>& to, const std::string& key, Operation operation,
           std::uint64_t called, std::uint64_t answered) {
    const std::lock_guard lock(mutex_);
    to[key].push_back({std::move(operation), called, answered});
  }
  void complain(const std::string& what, const Error& error) {
    const std::lock_guard lock(mutex_);
    histories.errors.push_back(what + ": " + error.message);
  }

  Histories histories;

 private:
  std::atomic<std::uint64_t> moments_ = 0;
  std::mutex mutex_;
};

class Client {
 public:
  Client(const Workload& workload, std::size_t number, Once once, Record& record)
      : workload_(workload),
        name_("c" + std::to_string(number)),
        once_(std::move(once)),
        record_(record),
        random_(workload.seed * 1'000 + number) {}

  void round() {
    const std::string key = "key" + std::to_string(draw(workload_.keys));
    use_claim(key);
    use_document(key);
    use_sum(key);
    append(key);
  }

 private:
  struct Held {
    std::string key;
    ClaimModel::Operation taken;
    Ticket ticket;
  };

  std::size_t draw(std::size_t below) { return random_() % below; }
  std::string new_name() { return name_ + "-" + std::to_string(++names_); }

  // Calls, and records what was answered. What was not done (`unavailable`) is done again, for a
  // while; what may have been (`unknown`) has no answer. `fill` puts the answer into the operation.
  template <class History, class Operation, class Call, class Fill>
  void observe(std::map<std::string, History>& history, const std::string& key, Operation operation,
               Call call, Fill fill) {
    const auto give_up = std::chrono::steady_clock::now() + workload_.within;
    std::uint64_t called = record_.moment();
    auto answer = call();
    while (!answer && answer.error().code == ErrorCode::unavailable &&
           std::chrono::steady_clock::now() < give_up) {
      std::this_thread::yield();
      called = record_.moment();
      answer = call();
    }
    if (answer) {
      fill(operation, *answer);
      record_.add(history, key, std::move(operation), called, record_.moment());
    } else if (answer.error().code == ErrorCode::unknown) {
      record_.add(history, key, std::move(operation), called, kUnanswered);
    } else {
      record_.complain(key, answer.error());
    }
  }

  void use_claim(const std::string& key) {
    if (held_.empty() || draw(2) == 0) return take(key);
    settle(held_[draw(held_.size())]);  // Perhaps by a ticket that is worth nothing any more.
  }

  void take(const std::string& key) {
    using Answer = ClaimModel::Operation::Answer;
    ClaimModel::Operation operation{.owner = new_name()};
    const ClaimRequest request{.owner = operation.owner, .lease = kLease};
    observe(
        record_.histories.claims, key, operation,
        [&] { return once_.claims().take(key, request, Duration::zero(), workload_.within); },
        [&](ClaimModel::Operation& taken, const ClaimOutcome& outcome) {
          if (const auto* claimed = std::get_if<Claimed>(&outcome)) {
            taken.answer = Answer::claimed;
            taken.fence = claimed->fence;
            held_.push_back({key, taken, claimed->ticket});
          } else if (const auto* busy = std::get_if<Busy>(&outcome)) {
            taken.answer = Answer::busy;
            taken.result = busy->owner;
          } else if (const auto* done = std::get_if<Done>(&outcome)) {
            taken.answer = Answer::done;
            taken.result = done->result;
          }
        });
  }

  void settle(const Held& held) {
    using Kind = ClaimModel::Operation::Kind;
    using Answer = ClaimModel::Operation::Answer;
    ClaimModel::Operation operation = held.taken;
    operation.answer = Answer::none;
    const auto fill = [](ClaimModel::Operation& settled, const auto& outcome) {
      settled.answer = answer_of(outcome);
    };
    auto& history = record_.histories.claims;
    Claims& claims = once_.claims();
    switch (draw(8)) {
      case 0:
        operation.kind = Kind::complete;
        operation.result = "\"done by " + operation.owner + "\"";
        return observe(
            history, held.key, operation,
            [&] {
              return claims.complete(held.key, held.ticket, operation.result, workload_.within);
            },
            fill);
      case 1:
      case 2:
        operation.kind = Kind::renew;
        return observe(
            history, held.key, operation,
            [&] { return claims.renew(held.key, held.ticket, kLease, workload_.within); }, fill);
      default:
        operation.kind = Kind::release;
        return observe(
            history, held.key, operation,
            [&] {
              return claims.release(held.key, held.ticket, "", Release::retryable,
                                    workload_.within);
            },
            fill);
    }
  }

  static ClaimModel::Operation::Answer answer_of(const RenewOutcome& outcome) {
    using Answer = ClaimModel::Operation::Answer;
    return std::holds_alternative<Fenced>(outcome) ? Answer::fenced : Answer::ok;
  }
  static ClaimModel::Operation::Answer answer_of(const SettleOutcome& outcome) {
    using Answer = ClaimModel::Operation::Answer;
    if (std::holds_alternative<Mismatch>(outcome)) return Answer::mismatch;
    return std::holds_alternative<Fenced>(outcome) ? Answer::fenced : Answer::ok;
  }

  void use_document(const std::string& key) {
    using Kind = DocumentModel::Operation::Kind;
    using Answer = DocumentModel::Operation::Answer;
    auto& history = record_.histories.documents;
    Documents& documents = once_.documents();
    std::optional<std::string> etag;  // As last read; stale by the time of the write, or not.
    observe(
        history, key, DocumentModel::Operation{},
        [&] { return documents.get(key, workload_.within); },
        [&](DocumentModel::Operation& read, const std::optional<documents::Document>& found) {
          read.answer = Answer::ok;
          if (found) read.bytes = found->content.bytes;
          if (found) etag = read.etag = found->etag;
        });
    const auto fill = [](DocumentModel::Operation& written,
                         const documents::WriteOutcome& outcome) {
      if (const auto* failed = std::get_if<documents::PreconditionFailed>(&outcome)) {
        written.answer = Answer::precondition_failed;
        written.etag = failed->etag;
      } else if (const auto* updated = std::get_if<documents::Updated>(&outcome)) {
        written.answer = Answer::ok;
        // A repeat is answered with the current document, which may be another's by now.
        const auto& document = updated->document;
        if (document && document->content.bytes == written.bytes) written.etag = document->etag;
      }
    };
    if (etag && draw(4) == 0) {
      const DocumentModel::Operation operation{.kind = Kind::remove, .expected = etag};
      return observe(
          history, key, operation,
          [&] { return documents.remove(key, *etag, {}, workload_.within); }, fill);
    }
    DocumentModel::Operation operation{.kind = Kind::put, .expected = etag, .bytes = new_name()};
    const documents::Condition condition = etag ? documents::Condition(documents::IfMatch{*etag})
                                                : documents::Condition(documents::IfAbsent{});
    observe(
        history, key, operation,
        [&] { return documents.put(key, {*operation.bytes}, condition, {}, workload_.within); },
        fill);
  }

  // The answer of an add is a read that was under way at the same time.
  void use_sum(const std::string& key) {
    using Kind = SumModel::Operation::Kind;
    auto& history = record_.histories.sums;
    Tallies& tallies = once_.tallies();
    const auto amount = static_cast<std::int64_t>(1 + draw(1'000'000));
    const TallyRequest request{.shape = {}, .input = amount, .id = new_name()};
    const std::uint64_t called = record_.moment();
    observe(
        history, key, SumModel::Operation{Kind::add, amount},
        [&] { return tallies.merge(key, request, workload_.within); },
        [&](SumModel::Operation&, const TallyOutcome& outcome) {
          const auto* merged = std::get_if<Tallied>(&outcome);
          if (merged == nullptr || !merged->value) return;
          const SumModel::Operation read{Kind::read, std::get<std::int64_t>(*merged->value)};
          record_.add(history, key, read, called, record_.moment());
        });
    if (draw(2) == 0) return;
    observe(
        history, key, SumModel::Operation{},
        [&] { return tallies.read(key, {}, {}, workload_.within); },
        [](SumModel::Operation& read, const std::optional<TallyReading>& found) {
          read.number = found ? std::get<std::int64_t>(found->value) : 0;
        });
  }

  void append(const std::string& key) {
    Append operation{.data = new_name()};
    observe(
        record_.histories.logs, key, operation,
        [&] {
          return once_.log().append(key, {{operation.data}}, {.batch = operation.data},
                                    workload_.within);
        },
        [](Append& appended, const AppendOutcome& outcome) {
          if (const auto* made = std::get_if<Appended>(&outcome)) appended.index = made->first;
        });
  }

  const Workload& workload_;
  const std::string name_;
  Once once_;
  Record& record_;
  std::mt19937_64 random_;
  std::size_t names_ = 0;
  std::vector<Held> held_;
};

std::ostream& operator<<(std::ostream& out, const ClaimModel::Operation& operation) {
  constexpr const char* kKinds[] = {"take", "renew", "complete", "release"};
  constexpr const char* kAnswers[] = {"?", "claimed", "busy", "done", "ok", "fenced", "mismatch"};
  return out << kKinds[static_cast<int>(operation.kind)] << " by " << operation.owner << " -> "
             << kAnswers[static_cast<int>(operation.answer)] << ' ' << operation.fence << ' '
             << operation.result;
}

std::ostream& operator<<(std::ostream& out, const DocumentModel::Operation& operation) {
  constexpr const char* kKinds[] = {"get", "put", "remove"};
  constexpr const char* kAnswers[] = {"?", "ok", "precondition failed"};
  return out << kKinds[static_cast<int>(operation.kind)] << " if "
             << operation.expected.value_or("absent") << ", " << operation.bytes.value_or("nothing")
             << " -> " << kAnswers[static_cast<int>(operation.answer)] << ' '
             << operation.etag.value_or("absent");
}

std::ostream& operator<<(std::ostream& out, const SumModel::Operation& operation) {
  return out << (operation.kind == SumModel::Operation::Kind::add ? "add " : "read ")
             << operation.number;
}

template <class Event>
void print(std::ostream& out, const Event& event, bool is_stuck) {
  out << (is_stuck ? "\n* [" : "\n  [") << event.called << ", ";
  if (event.answered == kUnanswered) {
    out << "never";
  } else {
    out << event.answered;
  }
  out << "] " << event.operation;
}

template <class Model, class History>
void check(const Model& model, std::string_view noun, const std::map<std::string, History>& all,
           std::vector<std::string>& faults) {
  for (const auto& [key, history] : all) {
    const std::vector<std::size_t> stuck = LinearizabilityChecker<Model>::violation(model, history);
    if (stuck.empty()) continue;
    std::map<std::uint64_t, std::size_t> by_call;
    for (std::size_t i = 0; i < history.size(); ++i) by_call[history[i].called] = i;
    std::ostringstream text;
    text << noun << ' ' << key << ": no order explains the operations with a star:";
    for (const auto& [called, i] : by_call) {
      print(text, history[i], std::ranges::find(stuck, i) != stuck.end());
    }
    faults.push_back(text.str());
  }
}

Result<std::vector<std::pair<std::int64_t, std::string>>> whole_log(Log& log,
                                                                    const std::string& stream) {
  std::vector<std::pair<std::int64_t, std::string>> events;
  for (LogRead from;;) {
    const Result<LogPage> page = log.read(stream, from);
    if (!page) return std::unexpected(page.error());
    if (page->events.empty()) return events;
    for (const LogEntry& entry : page->events) events.emplace_back(entry.index, entry.data);
    from.from = events.back().first + 1;
  }
}

}  // namespace

bool is_long_run() { return std::getenv("ONCE_LONG") != nullptr; }

Histories run_workload(const Workload& workload, const std::function<Once()>& open,
                       const std::function<void()>& progressed) {
  Record record;
  std::vector<std::thread> threads;
  for (std::size_t number = 0; number < workload.clients; ++number) {
    threads.emplace_back([&, number] {
      Client client(workload, number, open(), record);
      for (std::size_t i = 0; i < workload.rounds; ++i) {
        client.round();
        progressed();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return std::move(record.histories);
}

std::vector<std::string> faults_of(const Workload& workload, const Histories& histories,
                                   Once& once) {
  std::vector<std::string> faults = histories.errors;
  const ClaimModel claim{.start = {}, .answers_get_lost = workload.answers_get_lost};
  check(claim, "claim", histories.claims, faults);
  check(DocumentModel{}, "document", histories.documents, faults);
  check(SumModel{}, "sum", histories.sums, faults);
  for (const auto& [stream, appends] : histories.logs) {
    const auto events = whole_log(once.log(), stream);
    const auto fault = events ? log_fault(appends, *events) : events.error().message;
    if (fault) faults.push_back("log " + stream + ": " + *fault);
  }
  return faults;
}

std::string lines_of(const std::vector<std::string>& faults) {
  std::string text;
  for (const std::string& fault : faults) text += fault + "\n";
  return text;
}

}  // namespace once::testing
