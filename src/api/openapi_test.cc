// openapi.yaml says what there is: every route, and every status of it, which a case below gets.
#include "api/routes.h"

#include <array>
#include <set>

#include "api/call.h"
#include "api/checkpoints.h"
#include "api/openapi_cases.h"
#include "api/service_fixture.h"
#include "events/event_request.h"
#include "once/faulty_store.h"
#include "once/local.h"
#include "primitives/keys.h"
#include "primitives/store_secret.h"
#include "stores/decorators/decorator.h"
#include "testing/limited_store.h"
#include "testing/openapi_operations.h"
#include "testing/temp_dir.h"

namespace once::api {
namespace {

using testing::Operations;

// Another writer is always a moment faster with the document "d", once it exists.
class FasterRivalStore final : public Decorator<Store> {
 public:
  FasterRivalStore(Store& inner, Clock& clock, Entropy& entropy)
      : Decorator(inner), rival_(inner, "default", clock, entropy) {}

 protected:
  Result<CommitOutcome> do_commit(Transaction transaction) override {
    const documents::Modify touch =
        [](const std::optional<documents::Content>& current) -> Result<documents::Modified> {
      if (!current) return Keep{};
      return *current;
    };
    EXPECT_TRUE(rival_.update("d", {touch, {}, {}}));
    return inner_.commit(transaction);
  }

 private:
  LocalDocuments rival_;
};

// A fresh service and store for each case.
class World {
 public:
  explicit World(Behind behind)
      : pauses_(behind == Behind::directory ? system_clock() : clock_),
        service_({.checkpoints = behind == Behind::directory ? &checkpoints_ : nullptr}) {
    service_.set_event_receiver(events_);
    Limits small = memory_->limits();
    small.value_bytes = 1'000;
    if (behind == Behind::down) store_ = inject_faults(*memory_, {.fail_before = 1.0}, clock_);
    if (behind == Behind::small) store_ = std::make_unique<testing::LimitedStore>(*memory_, small);
    if (behind == Behind::single) store_ = std::make_unique<testing::LimitedStore>(*memory_, 1);
    if (behind == Behind::silent) store_ = inject_faults(*memory_, {.fail_after = 1.0}, clock_);
    if (behind == Behind::rotten) plant_rot();
    if (behind == Behind::rival)
      store_ = std::make_unique<FasterRivalStore>(*memory_, clock_, entropy_);
    // What goes wrong is the call of the case, not the first look at the store.
    const auto secret = BlockingDriver(*memory_, clock_, entropy_).run(read_store_secret());
    if (store_) store_->secret().set(**secret);
  }

  Response perform(const Step& step) {
    Request request{step.method, filled(step.target), {}, filled(step.body)};
    for (const auto& [name, value] : step.headers) request.headers.add(name, filled(value));
    Response response = answer(request);
    if (const auto etag = response.headers.find("ETag")) etag_ = *etag;
    note(response.body);
    return response;
  }

 private:
  void note(std::string_view answer) {
    const Result<Json> body = parse_json(answer);
    if (!body || !body->is_object()) return;
    Fields fields(*body);
    if (auto ticket = fields.text("ticket")) ticket_ = *ticket;
    if (auto token = fields.text("token")) token_ = *token;
    if (auto id = fields.text("id")) id_ = *id;
  }

  std::string filled(std::string text) const {
    const std::array known = {std::pair("$ticket", &ticket_), std::pair("$etag", &etag_),
                              std::pair("$token", &token_), std::pair("$id", &id_)};
    for (const auto& [name, value] : known) {
      const std::size_t at = text.find(name);
      if (at != std::string::npos) text.replace(at, std::string_view(name).size(), *value);
    }
    return text;
  }

  void plant_rot() {
    Write rot = put(keys::claim("default", "c"), Bytes("rot"), absent());
    rot.version = entropy_.version();
    EXPECT_TRUE(memory_->commit({&rot, 1}));
  }

  Response answer(const Request& request) {
    Store& store = store_ ? *store_ : *memory_;
    BlockingDriver driver(store, pauses_, entropy_);
    Answer answer = service_.respond(request);
    if (auto* ready = std::get_if<Response>(&answer)) return std::move(*ready);
    const Duration patience = answer.patience(kAttemptLife);
    auto ran = driver.run(std::get<Plan<Response>>(std::move(answer)), patience);
    return ran ? std::move(*ran) : Service::failed(ran.error());
  }

  testing::ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<MemoryStore> memory_ = open_memory({}, clock_);
  std::unique_ptr<Store> store_;
  Clock& pauses_;  // Checkpoints are made on a thread, for which plans have to pause in earnest.
  testing::TempDir directory_;
  Checkpoints checkpoints_{directory_.path(), [](const auto&) { return Result<void>(); }};
  Service service_;
  events::PlannedEvents events_{
      {.routes = {{.type = "logged", .log = "l"}, {.type = "counted", .tally = "t"}}}};
  std::string ticket_;
  std::string etag_;
  std::string token_;
  std::string id_;
};

std::string operation_of(const Route& route) {
  return std::string(route.method).append(" ").append(route.path);
}

// Whether a step asks for this: what a {} stands for has no slash.
bool asks_for(const Step& step, const std::string& operation) {
  const std::string asked = step.method + " " + step.target.substr(0, step.target.find('?'));
  const std::size_t at = operation.find("{}");
  if (at == std::string::npos) return asked == operation;
  const std::string after = operation.substr(at + 2);
  return asked.starts_with(operation.substr(0, at)) && asked.ends_with(after) &&
         asked.find('/', at) == (after.empty() ? std::string::npos : asked.size() - after.size());
}

Operations documented() { return testing::operations_in(openapi_yaml()); }

// The last answer of a case, which is what the case says it is.
Response outcome_of(const Case& one) {
  World world(one.behind);
  Response response;
  for (const Step& step : one.steps) response = world.perform(step);
  EXPECT_EQ(response.status, one.status) << one.operation << ": " << response.body;
  EXPECT_TRUE(asks_for(one.steps.back(), one.operation)) << one.operation;
  const bool is_problem = response.headers.find("Content-Type") == "application/problem+json";
  EXPECT_EQ(is_problem, one.status >= 400) << one.operation << ": " << one.status;
  return response;
}

std::string code_of(const Response& response) {
  const Result<Json> body = parse_json(response.body);
  return body && body->is_object() ? Fields(*body).text("code").value_or("") : "";
}

TEST(OpenApi, HasEveryRouteAndNoOther) {
  std::set<std::string> there;
  for (const Route& route : routes()) there.insert(operation_of(route));
  std::set<std::string> told;
  for (const auto& [operation, statuses] : documented()) told.insert(operation);
  EXPECT_EQ(told, there);
}

TEST(OpenApi, EveryStatusItTellsIsGivenAndNoOther) {
  Operations given;
  for (const Case& one : all_cases()) given[one.operation].insert(outcome_of(one).status);
  EXPECT_EQ(given, documented());
}

TEST(OpenApi, EveryCodeOfAProblemIsGivenAndNoOther) {
  std::set<std::string> given;
  for (const auto& cases : {all_cases(), other_cases()}) {
    for (const Case& one : cases) {
      const Response response = outcome_of(one);
      if (response.status >= 400) given.insert(code_of(response));
    }
  }
  EXPECT_EQ(given, testing::problem_codes_in(openapi_yaml()));
}

// As a client would ask for it, whatever the names in it are.
std::string target_of(const Route& route) {
  std::string target(route.path);
  const std::size_t at = target.find("{}");
  if (at != std::string::npos) target.replace(at, 2, "x");
  return target;
}

TEST(OpenApi, WhereATokenIsConfiguredEveryRouteButTheOpenOnesWantsOne) {
  World world(Behind::plain);
  ASSERT_EQ(world.perform({"POST", "/v1/tokens", R"({"read_only":true})", {}}).status, 201);
  const F reader = {{"Authorization", "Bearer $token"}};
  for (const Route& route : routes()) {
    const std::string method(route.method);
    const std::string target = target_of(route);
    const Response outside = world.perform({method, target, "", {}});
    EXPECT_EQ(outside.status == 401, route.access != Access::none) << operation_of(route);
    const Response inside = world.perform({method, target, "", reader});
    const bool forbidden = route.access == Access::write || route.access == Access::admin;
    EXPECT_EQ(inside.status == 403, forbidden) << operation_of(route) << inside.body;
  }
}

TEST(OpenApi, EveryPathTellsItsMethodsAndRefusesTheOthers) {
  World world(Behind::plain);
  for (const Route& route : routes()) {
    const Response told = world.perform({"OPTIONS", target_of(route), "", {}});
    EXPECT_EQ(told.status, 204);
    EXPECT_TRUE(told.headers.find("Allow")->contains(route.method)) << operation_of(route);
    const Response other = world.perform({"TRACE", target_of(route), "", {}});
    EXPECT_EQ(other.status, 405);
    EXPECT_EQ(other.headers.find("Allow"), told.headers.find("Allow"));
    if (route.method != "GET") continue;
    const Response got = world.perform({"GET", target_of(route), "", {}});
    EXPECT_EQ(world.perform({"HEAD", target_of(route), "", {}}).status, got.status);
  }
}

}  // namespace
}  // namespace once::api
