// What one side writes, the other reads as it was: every request and answer, in both forms.
#include <gtest/gtest.h>

#include <numeric>

#include "once/merge_patch.h"
#include "primitives/keys.h"
#include "wire/wire_fixture.h"

namespace once::wire {
namespace {

using testing::check_property;

constexpr int kCases = 200;

Ticket any_ticket() { return Ticket{*rc::gen::element<std::string>("t", "AZaz09-_", "")}; }

TEST(WireClaims, ATakeRequestIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const DataForm form = *any_form();
    TakeRequest request;
    request.claim = {*any_text(), *any_text(), *maybe(any_item(form)), *any_duration(),
                     *any_duration()};
    request.wait = *any_duration();
    const Result<TakeRequest> read = decode_take_request(encode(request, form), form);
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == request);
  });
}

TEST(WireClaims, ARequestByTicketIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const DataForm form = *any_form();
    const RenewRequest renewal{any_ticket(), *any_duration()};
    RC_ASSERT(decode_renew_request(encode(renewal)).value() == renewal);
    const CompleteRequest completion{any_ticket(), *any_data(form)};
    RC_ASSERT(decode_complete_request(encode(completion, form), form).value() == completion);
    ReleaseRequest release{any_ticket(), *any_data(form),
                           *rc::gen::element(Release::retryable, Release::final)};
    if (form == DataForm::json && release.failure == "null") release.failure = "0";
    RC_ASSERT(decode_release_request(encode(release, form), form).value() == release);
  });
}

TEST(WireClaims, ASeenRequestIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const SeenRequest request{*some_of(any_text()), *any_duration(), *any_text()};
    RC_ASSERT(decode_seen_request(encode(request)).value() == request);
  });
}

TEST(WireClaims, AnOutcomeIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const DataForm form = *any_form();
    Claimed claimed{any_ticket(), *any_integer(), *any_integer(), *any_time(),
                    *rc::gen::arbitrary<bool>()};
    if (*rc::gen::arbitrary<bool>()) {
      claimed.previous = EarlierFailure{*any_data(form), *any_time(), *any_integer()};
    }
    Busy busy;
    busy.owner = *any_text();
    busy.lease_until = *any_time();
    const Done done{*any_data(form), *any_time(), *rc::gen::arbitrary<bool>()};
    const ClaimOutcome outcome =
        *rc::gen::element<ClaimOutcome>(claimed, busy, done, Mismatch{}, Unguarded{});
    const Response response = encode(outcome, *any_time(), form);
    RC_ASSERT(decode_claim_outcome(response, form).value() == outcome);
  });
}

TEST(WireClaims, WhatBecameOfATicketIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const RenewOutcome renewed = *rc::gen::element<RenewOutcome>(Renewed{*any_time()}, Fenced{});
    RC_ASSERT(decode_renew_outcome(encode(renewed)).value() == renewed);
    const SettleOutcome settled = *rc::gen::element<SettleOutcome>(
        Settled{*rc::gen::arbitrary<bool>()}, Fenced{}, Mismatch{});
    RC_ASSERT(decode_settle_outcome(encode(settled, "done")).value() == settled);
  });
}

// Fields that a state does not have are not sent.
ClaimState any_state(DataForm form) {
  using Kind = ClaimState::Kind;
  ClaimState state{
      *rc::gen::element(Kind::busy, Kind::abandoned, Kind::done, Kind::failed, Kind::free),
      *any_text(), *any_integer(), *any_integer(), *any_time()};
  if (state.kind == Kind::busy || state.kind == Kind::abandoned) {
    state.lease_until = *any_time();
  } else {
    state.completed = *any_time();
    state.kept_until = *any_time();
    state.result = *any_data(form);
  }
  return state;
}

TEST(WireClaims, AStateIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const DataForm form = *any_form();
    const ClaimState state = any_state(form);
    const auto read = decode_claim_state(encode(*any_text(), state, form), form);
    RC_ASSERT(read.value() == std::optional(state));
  });
  EXPECT_EQ(decode_claim_state(no_claim(), DataForm::exact).value(), std::nullopt);
}

TEST(WireClaims, WhetherThereWasSomethingToForgetIsReadAsItWasWritten) {
  for (const bool found : {true, false}) {
    EXPECT_EQ(decode_forgotten(encode_forgotten(found, DataForm::exact)), found);
    EXPECT_TRUE(encode_forgotten(found, DataForm::json).headers.fields().empty());
  }
}

TEST(WireClaims, APageIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const DataForm form = *any_form();
    claims::ClaimPage page;
    const std::size_t count = *rc::gen::inRange<std::size_t>(0, 4);
    for (std::size_t i = 0; i < count; ++i) {
      std::string name = *any_text();
      page.claims.push_back({std::move(name), any_state(form)});
    }
    page.cursor = *any_bytes();
    RC_ASSERT(decode_claim_page(encode(page, form), form).value() == page);
  });
}

TEST(WireClaims, WhichIdsAreFirstIsReadAsItWasWritten) {
  check_property(kCases, [] {
    claims::Seen seen{*rc::gen::arbitrary<std::vector<bool>>(), *rc::gen::arbitrary<bool>(), {}};
    if (*rc::gen::arbitrary<bool>()) {
      for (std::size_t i = 0; i < seen.first.size(); ++i) seen.at.push_back(*any_time());
    }
    const Response response = encode(seen);
    RC_ASSERT(decode_seen(response, seen.first.size()).value() == seen);
    RC_ASSERT(!decode_seen(response, seen.first.size() + 1));
  });
}

TEST(WireClaims, ASeenMarkIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const claims::SeenMark mark{*any_time(), *any_time()};
    RC_ASSERT(decode_seen_mark(encode(*any_text(), mark)).value() == std::optional(mark));
  });
  EXPECT_EQ(decode_seen_mark(not_seen()).value(), std::nullopt);
}

TEST(WireClaims, ABulkRequestAndItsOutcomeAreReadAsTheyWereWritten) {
  check_property(kCases, [] {
    using Kind = ClaimState::Kind;
    claims::BulkRequest request;
    request.filter.prefix = *any_text();
    request.filter.owner = *any_text();
    if (*rc::gen::arbitrary<bool>()) {
      request.filter.kind = *rc::gen::element(Kind::busy, Kind::abandoned, Kind::free);
    }
    request.filter.older_than = *maybe(any_duration());
    request.name = *any_text();
    request.cursor = *any_bytes();
    request.limit = *rc::gen::inRange<std::size_t>(1, 10'001);
    request.dry_run = *rc::gen::arbitrary<bool>();
    RC_ASSERT(decode_bulk_request(encode(request)).value() == request);
    const claims::BulkOutcome outcome{*rc::gen::inRange<std::size_t>(0, 10'001), *any_bytes()};
    RC_ASSERT(decode_bulk_outcome(encode(outcome, "retried"), "retried").value() == outcome);
  });
}

LogEvent any_event(DataForm form) { return {*any_data(form), *maybe(any_time())}; }

std::vector<LogEvent> any_events(DataForm form) {
  std::vector<LogEvent> events;
  const std::size_t count = *rc::gen::inRange<std::size_t>(0, 4);
  for (std::size_t i = 0; i < count; ++i) events.push_back(any_event(form));
  return events;
}

TEST(WireLog, AnAppendIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const DataForm form = *any_form();
    const AppendBatch batch{any_events(form), *maybe(any_text()), *maybe(any_integer()),
                            *maybe(any_duration())};
    RC_ASSERT(decode_append(encode(batch, form).value(), form).value() == batch);
  });
}

TEST(WireLog, ATimeThatCannotBeSentIsRefused) {
  const AppendBatch before{{{"1", Time(Duration(-1))}}};
  EXPECT_FALSE(encode(before, DataForm::exact).has_value());
  const AppendBatch after{{{"1", kNever}}};
  EXPECT_FALSE(encode(after, DataForm::exact).has_value());
}

TEST(WireLog, ATrimIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const TrimRequest request{*any_index()};
    RC_ASSERT(decode_trim_request(encode(request)).value() == request);
  });
}

TEST(WireLog, AnOutcomeIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const Appended appended{*any_integer(), *any_integer(), *rc::gen::arbitrary<bool>()};
    const AppendOutcome outcome =
        *rc::gen::element<AppendOutcome>(appended, NotNext{*any_integer()}, OtherBatch{});
    RC_ASSERT(decode_append_outcome(encode(outcome)).value() == outcome);
  });
}

TEST(WireLog, APageAndTheEndsAreReadAsTheyWereWritten) {
  check_property(kCases, [] {
    const DataForm form = *any_form();
    LogPage page{{}, *any_integer()};
    for (const LogEvent& event : any_events(form)) {
      page.events.push_back({*any_integer(), event.time.value_or(Time{}), event.data});
    }
    RC_ASSERT(decode_log_page(encode(page, form), form).value() == page);
    const LogEnds ends{*any_integer(), *any_integer()};
    RC_ASSERT(decode_log_ends(encode(ends)).value() == ends);
  });
}

documents::Condition any_condition() {
  return *rc::gen::element<documents::Condition>(documents::IfAbsent{},
                                                 documents::IfMatch{*any_etag()});
}

std::string any_type() {
  return *rc::gen::element<std::string>("application/json", "text/plain; charset=utf-8", "a/b");
}

TEST(WireDocuments, AChangeIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const std::string id = *rc::gen::element<std::string>("", "id", "with \"quotes\"", "\u20ac");
    Request request{"PUT", path_to("docs", *any_name()), {}, ""};
    const PutRequest put{{*any_bytes(), any_type()}, any_condition(), id};
    encode(put, request);
    RC_ASSERT(decode_put_request(request).value() == put);
    Request removing{"DELETE", path_to("docs", *any_name()), {}, ""};
    const RemoveRequest removal{*any_etag(), id};
    encode(removal, removing);
    RC_ASSERT(decode_remove_request(removing).value() == removal);
  });
}

TEST(WireDocuments, AnAnswerIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const documents::Document document{{*any_bytes(), any_type()}, *any_etag()};
    RC_ASSERT(decode_document(encode(document)).value() == std::optional(document));
    const WriteAnswer answer = *rc::gen::element<WriteAnswer>(
        Written{*any_etag(), *rc::gen::arbitrary<bool>()}, documents::PreconditionFailed{},
        documents::PreconditionFailed{*any_etag()}, documents::Mismatch{});
    RC_ASSERT(decode_write_answer(encode(answer, 200, {"d", "e"})).value() == answer);
  });
  EXPECT_EQ(decode_document(no_document()).value(), std::nullopt);
}

TallyKind any_kind() {
  using Kind = TallyKind;
  return *rc::gen::element(Kind::sum, Kind::real, Kind::count, Kind::max, Kind::min, Kind::distinct,
                           Kind::top, Kind::bloom);
}

TallyWindow any_window() {
  return *rc::gen::element(TallyWindow::none, TallyWindow::minute, TallyWindow::hour,
                           TallyWindow::day);
}

std::vector<CountedItem> any_items(TallyKind kind, DataForm form) {
  std::vector<CountedItem> items;
  const std::size_t count = *rc::gen::inRange<std::size_t>(0, 4);
  for (std::size_t i = 0; i < count; ++i) {
    items.push_back({*any_item(form), 1});
    if (kind != TallyKind::top) continue;
    items.back().count = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(*any_index()));
  }
  return items;
}

// Sizes that a kind does not have are not sent.
TallyShape any_shape() {
  TallyShape shape{.kind = any_kind(), .window = any_window()};
  if (shape.kind == TallyKind::distinct) shape.precision = *rc::gen::inRange(8U, 19U);
  if (shape.kind == TallyKind::top) shape.counters = *rc::gen::inRange<std::size_t>(1, 10'000);
  if (shape.kind == TallyKind::bloom) {
    shape.capacity = *rc::gen::inRange<std::uint64_t>(1, 1U << 30);
    shape.rate = *rc::gen::element(0.01, 0.5, 1e-9);
  }
  return shape;
}

TallyRequest any_merge(DataForm form) {
  TallyRequest request{.shape = any_shape(), .input = std::int64_t{0}};
  switch (request.shape.kind) {
    case TallyKind::real: request.input = *any_real(); break;
    case TallyKind::distinct:
    case TallyKind::top:
    case TallyKind::bloom: request.input = any_items(request.shape.kind, form); break;
    default: request.input = *any_integer();
  }
  request.id = *rc::gen::oneOf(rc::gen::just(std::string()), any_name());
  request.at = *maybe(any_time());
  request.ttl = *maybe(any_duration());
  return request;
}

TallyValue any_value(TallyKind kind, DataForm form) {
  if (kind == TallyKind::real) return *any_real();
  if (kind == TallyKind::bloom) return BloomAnswer{*any_bytes()};
  if (kind != TallyKind::top) return *any_integer();
  std::vector<HeavyItem> items;
  for (const CountedItem& item : any_items(kind, form)) {
    items.push_back({item.item, item.count, static_cast<std::uint64_t>(*any_index())});
  }
  return items;
}

TEST(WireTallies, AMergeIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const DataForm form = *any_form();
    const TallyRequest request = any_merge(form);
    RC_ASSERT(decode_tally_request(encode(request, form).value(), form).value() == request);
  });
}

TEST(WireTallies, WhatAServerCannotMergeIsNotSent) {
  const auto refused = [](const TallyRequest& request) {
    const auto written = encode(request, DataForm::exact);
    return written ? "" : std::string(name_of(written.error().code));
  };
  EXPECT_EQ(refused({.shape = {.kind = TallyKind::own}, .input = "state"}), "unsupported");
  EXPECT_EQ(refused({.input = 0.5}), "invalid");
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refused({.shape = {.kind = TallyKind::real}, .input = infinite}), "invalid");
  const std::vector<CountedItem> many = {{"a", std::uint64_t{1} << 63}};
  EXPECT_EQ(refused({.shape = {.kind = TallyKind::top}, .input = many}), "invalid");
  EXPECT_EQ(refused({.input = 1, .at = kNever}), "invalid");
}

TEST(WireTallies, AnOutcomeIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const DataForm form = *any_form();
    const TallyRequest request = any_merge(form);
    const TallyKind kind = request.shape.kind;
    Tallied tallied{*rc::gen::arbitrary<bool>(), std::nullopt};
    // The answer to a merge into a bloom filter has no value.
    if (kind != TallyKind::bloom) tallied.value = any_value(kind, form);
    const TallyOutcome outcome = *rc::gen::element<TallyOutcome>(
        tallied, Tallied{}, TallyMismatch{}, OtherTally{"sum", any_window()});
    const Response response = encode(request, outcome, form);
    RC_ASSERT(decode_tally_outcome(response, kind, form).value() == outcome);
  });
}

TEST(WireTallies, AReadIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const TalliesReadRequest request{*some_of(any_text()),
                                     {*maybe(any_time()), *maybe(any_time())}};
    RC_ASSERT(decode_tallies_read_request(encode(request).value()).value() == request);
  });
}

TEST(WireTallies, ReadingsAreReadAsTheyWereWritten) {
  check_property(kCases, [] {
    DataForm form = *any_form();
    std::vector<std::optional<TallyReading>> readings(1);
    const std::size_t count = *rc::gen::inRange<std::size_t>(0, 4);
    for (std::size_t i = 0; i < count; ++i) {
      TallyReading reading{any_kind(), any_window(), {}};
      // In JSON form the state of a filter is not sent, and a text is UTF-8.
      if (reading.kind != TallyKind::bloom || form == DataForm::exact) {
        reading.value = any_value(reading.kind, form);
      }
      const auto read = decode_tally_reading(encode(reading, form), form);
      RC_ASSERT(read.value() == std::optional(reading));
      readings.push_back(std::move(reading));
    }
    std::vector<std::size_t> order(readings.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const Response response = encode(readings, order, form);
    RC_ASSERT(decode_tally_readings(response, readings.size(), form).value() == readings);
    RC_ASSERT(!decode_tally_readings(response, readings.size() + 1, form));
  });
  EXPECT_EQ(decode_tally_reading(no_tally(), DataForm::exact).value(), std::nullopt);
}

TEST(WireLog, AnAppendWithIdsOfEventsAndItsAnswerAreReadAsTheyWereWritten) {
  check_property(kCases, [] {
    const DataForm form = *any_form();
    AppendBatch batch;
    batch.events = any_events(form);
    if (batch.events.empty()) batch.events.push_back({*any_data(form), std::nullopt});
    batch.id_ttl = std::chrono::minutes(5);
    batch.ids.resize(batch.events.size());
    batch.ids[0] = *any_name();
    RC_ASSERT(decode_append(encode(batch, form).value(), form).value() == batch);
    logs::AppendedEvents made{std::nullopt, {*any_integer(), *any_integer()}};
    if (*rc::gen::arbitrary<bool>()) {
      made.appended = Appended{*any_integer(), *any_integer(), *rc::gen::arbitrary<bool>()};
    }
    const auto read = decode_events_outcome(encode(logs::EventsOutcome(made))).value();
    const auto* const same = std::get_if<logs::AppendedEvents>(&read);
    RC_ASSERT(same != nullptr && same->indexes == made.indexes && same->appended == made.appended);
    const auto closed = decode_events_outcome(encode(logs::EventsOutcome(LogClosed{}))).value();
    RC_ASSERT(std::holds_alternative<LogClosed>(closed));
  });
}

effects::Request any_commit(DataForm form) {
  effects::Request request{.id = *rc::gen::oneOf(rc::gen::just(std::string()), any_name())};
  if (!request.id.empty()) {
    request.id_ttl = std::chrono::minutes(*rc::gen::element(2, 24 * 60, 30 * 24 * 60));
  }
  if (*rc::gen::arbitrary<bool>()) {
    request.claim = {*any_name(), any_ticket()};
    request.effects.result(*any_data(form));
  }
  const auto few = [] { return *rc::gen::inRange(0, 3); };
  for (int i = few(); i > 0; --i) request.effects.append(*any_name(), any_events(form));
  for (int i = few(); i > 0; --i) {
    // In JSON form a document is JSON.
    const std::string type = form == DataForm::exact ? any_type() : "application/json";
    request.effects.put(*any_name(), {*any_data(form), type}, any_condition());
    request.effects.overwrite(*any_name(), {*any_data(form), type});
  }
  const auto any_match = [] {
    return *rc::gen::arbitrary<bool>() ? std::optional(*any_etag()) : std::nullopt;
  };
  for (int i = few(); i > 0; --i) {
    const char* const text = *rc::gen::element(R"({"a":null,"b":[1]})", "null", R"("x")", "{}");
    request.effects.patch(*any_name(), once::merge_patch(text).value(), any_match());
  }
  for (int i = few(); i > 0; --i) request.effects.remove(*any_name(), any_match());
  for (int i = few(); i > 0; --i) request.effects.merge(*any_name(), any_merge(form));
  return request;
}

TEST(WireEffects, ACommitIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const DataForm form = *any_form();
    const effects::Request request = any_commit(form);
    const Commit commit = *rc::gen::element(Commit::made, Commit::prepared);
    const auto read = decode_commit_request(encode(request, form, commit).value(), form).value();
    RC_ASSERT(read.request == request);
    RC_ASSERT(read.commit == commit);
  });
}

effects::Made any_made(const Effects& effects, DataForm form) {
  effects::Made made{.replayed = *rc::gen::arbitrary<bool>()};
  for (std::size_t i = 0; i < effects.appends().size(); ++i) {
    made.appended.push_back({*any_integer(), *any_integer()});
  }
  for (const Effects::Document& document : effects.documents()) {
    const bool removed = document.action == Effects::Document::Action::remove;
    made.etags.push_back(removed ? "" : *any_etag());
  }
  for (const Effects::Tally& tally : effects.tallies()) {
    const TallyKind kind = tally.request.shape.kind;
    Tallied tallied;
    if (kind != TallyKind::bloom) tallied.value = any_value(kind, form);
    made.tallied.push_back(std::move(tallied));
  }
  return made;
}

// Of a document only if there is one: the answer names it.
effects::Refused any_refusal(const Effects& effects) {
  using Part = effects::Refused::Part;
  const std::size_t index = *rc::gen::inRange<std::size_t>(0, 1'000);
  const std::size_t documents = effects.documents().size();
  if (documents > 0 && *rc::gen::arbitrary<bool>()) {
    const std::size_t at = *rc::gen::inRange<std::size_t>(0, documents);
    return *rc::gen::element<effects::Refused>(
        effects::Refused{Part::document, at, documents::PreconditionFailed{}},
        effects::Refused{Part::document, at, documents::PreconditionFailed{*any_etag()}},
        effects::Refused{Part::document, at, documents::DoesNotApply{*any_text()}});
  }
  return *rc::gen::element<effects::Refused>(
      effects::Refused{Part::claim, 0, Fenced{}}, effects::Refused{Part::claim, 0, Mismatch{}},
      effects::Refused{Part::id, 0, Mismatch{}},
      effects::Refused{Part::tally, index, OtherTally{"top", any_window()}},
      effects::Refused{Part::tally, index, TallyMismatch{}});
}

TEST(WireEffects, AnOutcomeIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const DataForm form = *any_form();
    const effects::Request request = any_commit(form);
    const effects::Outcome outcome = *rc::gen::element<effects::Outcome>(
        any_made(request.effects, form), any_refusal(request.effects));
    const Response response = encode(request, outcome, form);
    RC_ASSERT(decode_commit_outcome(response, request.effects, form).value() == outcome);
  });
}

TEST(WireEffects, WhatIsPreparedIsReadAsItWasWritten) {
  check_property(kCases, [] {
    const DataForm form = *any_form();
    const effects::Request request = any_commit(form);
    effects::Made made = any_made(request.effects, form);
    made.replayed = true;
    const effects::PrepareOutcome outcome = *rc::gen::element<effects::PrepareOutcome>(
        effects::Sealed{*any_name()}, made, any_refusal(request.effects));
    const Response response = encode(request, outcome, form);
    RC_ASSERT(decode_prepare_outcome(response, request.effects, form).value() == outcome);
  });
}

TEST(WireProblem, AnErrorIsReadAsItWasWritten) {
  for (const ErrorCode code :
       {ErrorCode::invalid, ErrorCode::too_large, ErrorCode::denied, ErrorCode::unavailable,
        ErrorCode::unknown, ErrorCode::unsupported, ErrorCode::corrupt}) {
    const auto read = error_of(Request{"POST"}, problem(Error{code, "why \"so\""}));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->code, code);
    EXPECT_EQ(read->message, "why \"so\"");
  }
}

TEST(WireProblem, WhatACallHasAnOutcomeForIsNoError) {
  for (const Code code : {Code::busy, Code::mismatch, Code::fenced, Code::precondition_failed,
                          Code::not_found, Code::contended}) {
    const Response response = problem(code, "detail");
    EXPECT_EQ(problem_code(response), code);
    EXPECT_EQ(error_of(Request{"POST"}, response), std::nullopt);
  }
}

TEST(WireProblem, H39_AnAnswerOfAnotherServerDecidesNothing) {
  const auto code = [](std::string method, int status, std::string body) {
    Response response{status, {}, std::move(body)};
    response.headers.add("Content-Type", "application/json");
    return error_of(Request{std::move(method)}, response).value().code;
  };
  for (const int status : {301, 400, 401, 403, 404, 409, 412, 413, 422, 429, 500, 502, 503}) {
    for (const char* const body : {"<html>", R"({"code":"busy"})"}) {
      EXPECT_EQ(code("POST", status, body), ErrorCode::unknown) << status;
      EXPECT_EQ(code("GET", status, body), ErrorCode::unavailable) << status;
    }
  }
}

}  // namespace
}  // namespace once::wire
