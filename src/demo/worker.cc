#include "demo/worker.h"

#include <signal.h>
#include <unistd.h>

#include <sstream>
#include <thread>

#include "client/http_client.h"
#include "demo/books.h"
#include "demo/child.h"
#include "wire/claims.h"
#include "wire/effects.h"
#include "wire/problem.h"
#include "wire/text.h"

namespace once::demo {
namespace {

using Outcome = Report::Outcome;

std::unexpected<Error> unexpected_answer(const wire::Response& response) {
  std::string why = "the store answered ";
  why.append(std::to_string(response.status)).append(": ").append(response.body);
  return failure(ErrorCode::unavailable, std::move(why));
}

class Worker {
 public:
  Worker(const std::string& owner, const Task& task, client::HttpClient& store)
      : owner_(owner), task_(task), store_(store) {}

  Result<Report> naive();
  Result<Report> once();
  void dies_after(Stage reached) const {
    if (task_.killed && *task_.killed <= reached) (void)::raise(SIGKILL);
  }

 private:
  // In place of real work: charging a card, sending a parcel.
  void do_the_work() const { std::this_thread::sleep_for(task_.order.work); }

  Result<wire::Response> call(std::string method, std::string target, std::string body = "") {
    const wire::Request request{std::move(method), std::move(target), {}, std::move(body)};
    return store_.call(request, kPatience);
  }

  Result<std::optional<std::string>> read(const std::string& name);
  Result<void> write(const std::string& name, std::string text);
  Result<std::int64_t> read_number(const std::string& name);
  Result<void> take_index(std::int64_t& index);
  Result<void> add_to_total();

  effects::Request commit_of(const std::string& key, const Ticket& ticket) const;

  const std::string& owner_;
  const Task& task_;
  client::HttpClient& store_;
};

Result<std::optional<std::string>> Worker::read(const std::string& name) {
  Result<wire::Response> answer = call("GET", name);
  if (!answer) return std::unexpected(std::move(answer.error()));
  if (answer->status == 404) return std::nullopt;
  if (answer->status != 200) return unexpected_answer(*answer);
  return std::move(answer->body);
}

Result<void> Worker::write(const std::string& name, std::string text) {
  Result<wire::Response> answer = call("PUT", name, std::move(text));
  if (!answer) return std::unexpected(std::move(answer.error()));
  if (answer->status != 200) return unexpected_answer(*answer);
  return {};
}

Result<std::int64_t> Worker::read_number(const std::string& name) {
  const Result<std::optional<std::string>> text = read(name);
  if (!text) return std::unexpected(text.error());
  return wire::parse_integer(text->value_or("0")).value_or(0);
}

Result<void> Worker::take_index(std::int64_t& index) {
  const Result<std::int64_t> lines = read_number(plain::kLines);
  if (!lines) return std::unexpected(lines.error());
  index = *lines;
  return write(plain::kLines, std::to_string(index + 1));
}

Result<void> Worker::add_to_total() {
  const Result<std::int64_t> total = read_number(plain::kTotal);
  if (!total) return std::unexpected(total.error());
  return write(plain::kTotal, std::to_string(*total + task_.order.cents));
}

// As such code is often written. It is right as long as it runs alone and nothing fails.
Result<Report> Worker::naive() {
  const std::string seen = plain::seen_name(task_.number);
  const auto known = read(seen);
  if (!known) return std::unexpected(known.error());
  if (*known) return Report{Outcome::duplicate};
  do_the_work();
  dies_after(Stage::worked);
  std::int64_t index = 0;
  Result<void> ok = take_index(index);
  if (!ok) return std::unexpected(std::move(ok.error()));
  dies_after(Stage::numbered);
  ok = write(plain::line_name(index), std::to_string(task_.number));
  if (!ok) return std::unexpected(std::move(ok.error()));
  dies_after(Stage::listed);
  ok = add_to_total();
  if (!ok) return std::unexpected(std::move(ok.error()));
  dies_after(Stage::added);
  ok = write(seen, "yes");
  if (!ok) return std::unexpected(std::move(ok.error()));
  return Report{Outcome::applied};
}

effects::Request Worker::commit_of(const std::string& key, const Ticket& ticket) const {
  effects::Request request{.claim = effects::ClaimPart{key, ticket}};
  request.effects.result("\"shipped\"")
      .append(guarded::kStream, std::to_string(task_.number))
      .add(guarded::kTally, task_.order.cents);
  return request;
}

Result<Report> Worker::once() {
  constexpr wire::DataForm kForm = wire::DataForm::json;
  const std::string key = guarded::claim_key(task_.number);
  const wire::TakeRequest wanted{ClaimRequest{.owner = owner_, .lease = guarded::kLease}};
  const Result<wire::Response> taken =
      call("POST", wire::path_to("claims", key), wire::encode(wanted, kForm));
  if (!taken) return std::unexpected(taken.error());
  const Result<ClaimOutcome> outcome = wire::decode_claim_outcome(*taken, kForm);
  if (!outcome) return unexpected_answer(*taken);
  if (std::holds_alternative<Done>(*outcome)) return Report{Outcome::duplicate};
  if (std::holds_alternative<Busy>(*outcome)) return Report{Outcome::busy};
  const auto* const claimed = std::get_if<Claimed>(&*outcome);
  if (claimed == nullptr) return unexpected_answer(*taken);
  const effects::Request commit = commit_of(key, claimed->ticket);
  Result<std::string> body = wire::encode(commit, kForm);
  if (!body) return std::unexpected(std::move(body.error()));
  do_the_work();
  dies_after(Stage::numbered);
  const Result<wire::Response> made = call("POST", "/v1/commit", std::move(*body));
  if (!made) return std::unexpected(made.error());
  if (wire::problem_code(*made) == wire::Code::fenced) return Report{Outcome::fenced};
  if (made->status != 200) return unexpected_answer(*made);
  return Report{Outcome::applied, claimed->attempt > 1};
}

}  // namespace

std::string to_message(const Task& task) {
  std::ostringstream out;
  const int killed = task.killed ? static_cast<int>(*task.killed) : -1;
  out << task.number << ' ' << task.order.cents << ' ' << task.order.work.count() << ' ' << killed;
  return out.str();
}

std::optional<Task> task_of(const std::string& message) {
  std::istringstream in(message);
  Task task;
  std::int64_t work = 0;
  int killed = -1;
  in >> task.number >> task.order.cents >> work >> killed;
  if (!in || killed >= static_cast<int>(kStages)) return std::nullopt;
  task.order.work = std::chrono::microseconds(work);
  if (killed >= 0) task.killed = static_cast<Stage>(killed);
  return task;
}

std::string to_message(const Report& report) {
  std::ostringstream out;
  out << static_cast<int>(report.outcome) << ' ' << (report.took_over ? 1 : 0) << ' ' << report.why;
  return out.str();
}

std::optional<Report> report_of(const std::string& message) {
  std::istringstream in(message);
  int outcome = -1;
  int took_over = 0;
  in >> outcome >> took_over;
  if (!in || outcome < 0 || outcome > static_cast<int>(Report::Outcome::failed)) {
    return std::nullopt;
  }
  Report report{static_cast<Report::Outcome>(outcome), took_over == 1, ""};
  in.ignore(1);
  std::getline(in, report.why);
  return report;
}

void work(Way way, const std::string& url, int socket) {
  client::HttpClient store(url);
  const std::string owner = "worker-" + std::to_string(::getpid());
  while (const std::optional<std::string> message = receive_message(socket)) {
    const std::optional<Task> task = task_of(*message);
    if (!task) return;
    Worker worker(owner, *task, store);
    worker.dies_after(Stage::received);
    Result<Report> made = way == Way::naive ? worker.naive() : worker.once();
    worker.dies_after(Stage::written);
    const Report report =
        made ? std::move(*made) : Report{Outcome::failed, false, std::move(made.error().message)};
    if (!send_message(socket, to_message(report))) return;
  }
}

}  // namespace once::demo
