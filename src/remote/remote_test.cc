// once::open of a server: every primitive there and back, byte for byte; and what a server cannot
// do.
#include <functional>

#include "once/merge_patch.h"
#include "remote/remote_fixture.h"
#include "testing/code_of.h"
#include "testing/needs_store.h"
#include "testing/server_process.h"
#include "testing/temp_dir.h"

namespace once {
namespace {

using namespace std::chrono_literals;
using Why = NotRun::Why;
using testing::code_of;
using testing::Conversation;
using testing::RawHttp;
using testing::ScriptedPeer;

// Neither JSON nor UTF-8, and texts that JSON would not give back as they were.
const std::vector<Bytes> kAnyBytes = {
    "", "r", "\"r\"", "{ \"a\": 1 }", "null", Bytes("\0\xff\xfe\n", 4)};

TEST_F(RemoteTest, AnyResultIsReplayedByteForByte) {
  for (std::size_t i = 0; i < kAnyBytes.size(); ++i) {
    const std::string key = "job/" + std::to_string(i);
    for (const bool replayed : {false, true}) {
      const auto ran = once_.run(
          key, {}, [&](Attempt&) -> Result<Effects> { return Effects().result(kAnyBytes[i]); });
      ASSERT_TRUE(ran.has_value()) << ran.error().error.message;
      EXPECT_EQ(ran->replayed, replayed);
      EXPECT_EQ(ran->result, kAnyBytes[i]);
    }
    EXPECT_EQ(once_.claims().show(key).value()->result, kAnyBytes[i]);
  }
}

TEST_F(RemoteTest, ClaimsGoThereAndBack) {
  Claims& claims = once_.claims();
  const ClaimRequest request{.owner = "me", .payload = "\xff", .lease = 10s};
  const auto taken = claims.take("a b/c", request).value();
  const auto& claimed = std::get<Claimed>(taken);
  EXPECT_EQ(claimed.attempt, 1);
  const auto busy = std::get<Busy>(claims.take("a b/c", {.payload = "\xff"}).value());
  EXPECT_EQ(busy.owner, "me");
  EXPECT_EQ(busy.lease_until, claimed.lease_until);
  EXPECT_EQ(busy.claimed, std::nullopt);  // Not told, and so not 1970.
  EXPECT_TRUE(std::holds_alternative<Mismatch>(claims.take("a b/c", {.payload = "\xfe"}).value()));
  const auto renewed = std::get<Renewed>(claims.renew("a b/c", claimed.ticket, 1min).value());
  EXPECT_GT(renewed.lease_until, claimed.lease_until);
  const auto state = claims.show("a b/c").value();
  EXPECT_EQ(state->kind, ClaimState::Kind::busy);
  EXPECT_EQ(state->fence, claimed.fence);
  for (const bool replayed : {false, true}) {
    const auto settled = claims.complete("a b/c", claimed.ticket, "done").value();
    EXPECT_EQ(std::get<Settled>(settled).replayed, replayed);
  }
  EXPECT_TRUE(
      std::holds_alternative<Mismatch>(claims.complete("a b/c", claimed.ticket, "x").value()));
  const auto done = std::get<Done>(claims.take("a b/c", request).value());
  EXPECT_EQ(done.result, "done");
  EXPECT_FALSE(done.failed);
  EXPECT_TRUE(claims.forget("a b/c").value());
  EXPECT_FALSE(claims.forget("a b/c").value());
  EXPECT_TRUE(std::holds_alternative<Fenced>(claims.renew("a b/c", claimed.ticket, 1min).value()));
}

TEST_F(RemoteTest, ForgettingIsOneRequest) {
  once_.claims().take("job", {}).value();
  std::vector<std::string> sent;
  const auto passing = [&](Conversation& with) {
    sent.push_back(with.read_request());
    testing::RawHttp behind(server_.port());
    behind.send(sent.back());
    const auto answer = behind.receive();
    if (answer) with.send(answer->head + "\r\n" + answer->body);
  };
  ScriptedPeer between({[&](Conversation& with) {
    passing(with);
    passing(with);
  }});
  Once far = opened(between.url());
  EXPECT_TRUE(far.claims().forget("job").value());
  EXPECT_FALSE(far.claims().forget("job").value());
  between.end();
  ASSERT_EQ(sent.size(), 2U);
  for (const std::string& request : sent) EXPECT_TRUE(request.starts_with("DELETE ")) << request;
}

TEST_F(RemoteTest, ClaimsAreListedAndIdsAreSeen) {
  Claims& claims = once_.claims();
  const auto taken = std::get<Claimed>(claims.take("b", {}).value());
  const std::vector<std::string> ids = {"x", "y", "x"};
  EXPECT_EQ(claims.seen(ids, 1h).value(), (std::vector{true, true, false}));
  EXPECT_EQ(claims.seen(ids, 1h).value(), (std::vector{false, false, false}));
  EXPECT_TRUE(claims.seen({}, 1h).value().empty());
  ASSERT_TRUE(claims.release("b", taken.ticket, "no \xff", Release::final).has_value());
  const auto failed = claims.list({.kind = ClaimState::Kind::failed}).value();
  ASSERT_EQ(failed.claims.size(), 1U);
  EXPECT_EQ(failed.claims[0].name, "b");
  EXPECT_EQ(failed.claims[0].state.result, "no \xff");
  std::size_t listed = 0;
  std::string cursor;
  do {
    auto page = claims.list({}, cursor, 1).value();
    listed += page.claims.size();
    cursor = page.cursor;
  } while (!cursor.empty());
  EXPECT_EQ(listed, 1U) << "seen ids are no claims";
}

TEST_F(RemoteTest, ClaimsInBulkAndSeenIdsGoThereAndBack) {
  Claims& claims = once_.claims();
  const std::vector<std::string> ids = {"x"};
  const claims::Seen first = claims.mark(ids, 1h).value();
  const claims::Seen second = claims.mark(ids, 1h).value();
  EXPECT_FALSE(second.first.at(0));
  EXPECT_EQ(second.at, first.at);
  EXPECT_EQ(claims.show_seen("x").value()->at, first.at.at(0));
  EXPECT_EQ(claims.show_seen("x").value()->until, first.at.at(0) + 1h);
  EXPECT_TRUE(claims.forget_seen("x").value());
  EXPECT_FALSE(claims.forget_seen("x").value());
  EXPECT_FALSE(claims.show_seen("x").value().has_value());
  for (const char* name : {"a/1", "a/2"}) {
    const auto taken = std::get<Claimed>(claims.take(name, {}).value());
    ASSERT_TRUE(claims.release(name, taken.ticket, "no \xff", Release::final).has_value());
  }
  EXPECT_EQ(claims.retry_all({.filter = {.prefix = "a/"}, .dry_run = true}).value().count, 2U);
  EXPECT_EQ(claims.retry_all({.name = "a/1"}).value().count, 1U);
  const auto free = claims.show("a/1").value();
  EXPECT_EQ(free->kind, ClaimState::Kind::free);
  EXPECT_EQ(free->result, "no \xff");
  const auto next = std::get<Claimed>(claims.take("a/1", {}).value());
  EXPECT_EQ(next.previous.value().failure, "no \xff");
  EXPECT_EQ(next.previous.value().failed, free->completed);
  EXPECT_EQ(claims.release_all({.filter = {.prefix = "a/"}, .dry_run = true}).value().count, 1U);
  EXPECT_EQ(claims.release_all({.name = "a/1"}).value().count, 1U);
  EXPECT_EQ(claims.show("a/1").value()->kind, ClaimState::Kind::free);
  EXPECT_EQ(claims.forget_all({.filter = {.prefix = "a/"}}).value().count, 2U);
  EXPECT_TRUE(claims.list({.prefix = "a/"}).value().claims.empty());
  EXPECT_EQ(claims.forget_all({}).error().code, ErrorCode::invalid);
}

TEST_F(RemoteTest, LogsGoThereAndBack) {
  Log& log = once_.log();
  EXPECT_EQ(log.ends("s").value().next, 1);
  std::vector<LogEvent> events;
  for (const Bytes& bytes : kAnyBytes) events.push_back({bytes, Time(1234567890123ms)});
  const auto count = static_cast<std::int64_t>(events.size());
  for (const bool replayed : {false, true}) {
    const auto appended = std::get<Appended>(log.append("s", events, {.batch = "b"}).value());
    EXPECT_EQ(appended.last, count);
    EXPECT_EQ(appended.replayed, replayed);
  }
  EXPECT_TRUE(std::holds_alternative<OtherBatch>(log.append("s", {{"x"}}, {.batch = "b"}).value()));
  EXPECT_EQ(std::get<NotNext>(log.append("s", {{"x"}}, {.expect = 3}).value()).next, count + 1);
  const LogPage page = log.read("s").value();
  ASSERT_EQ(page.events.size(), kAnyBytes.size());
  for (std::size_t i = 0; i < kAnyBytes.size(); ++i) {
    EXPECT_EQ(page.events[i].data, kAnyBytes[i]);
    EXPECT_EQ(page.events[i].time, Time(1234567890123ms));
  }
  EXPECT_EQ(log.trim("s", 3).value().oldest, 3);
  const LogEnds ends = log.ends("s").value();
  EXPECT_EQ(ends.oldest, 3);
  EXPECT_EQ(ends.next, count + 1);
  EXPECT_EQ(log.trim("s", count + 1).value().oldest, count + 1);
  EXPECT_EQ(log.ends("s").value().oldest, count + 1);
  EXPECT_EQ(code_of(log.append("s", {})), ErrorCode::invalid);
}

TEST_F(RemoteTest, DocumentsGoThereAndBack) {
  using namespace documents;
  Documents& documents = once_.documents();
  EXPECT_EQ(documents.get("d").value(), std::nullopt);
  const Content first{Bytes("\0\xff", 2), "image/png"};
  const auto put = std::get<Updated>(documents.put("d", first, IfAbsent{}, {.id = "p"}).value());
  EXPECT_EQ(put.document->content, first);
  EXPECT_EQ(documents.get("d").value(), put.document);
  const auto again = std::get<Updated>(documents.put("d", first, IfAbsent{}, {.id = "p"}).value());
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.document, put.document);
  const auto other = documents.put("d", {"x"}, IfAbsent{}, {.id = "p"}).value();
  EXPECT_TRUE(std::holds_alternative<documents::Mismatch>(other));
  const auto refused = documents.put("d", {"x"}, IfAbsent{}).value();
  EXPECT_EQ(std::get<PreconditionFailed>(refused).etag, put.document->etag);
  const auto stale = documents.remove("d", "0123456789abcdef").value();
  EXPECT_EQ(std::get<PreconditionFailed>(stale).etag, put.document->etag);
  const auto removed = std::get<Updated>(documents.remove("d", put.document->etag).value());
  EXPECT_EQ(removed.document, std::nullopt);
  EXPECT_EQ(documents.get("d").value(), std::nullopt);
}

TEST_F(RemoteTest, AnUpdateIsAppliedToWhatStandsThereAlthoughAnotherWasFaster) {
  using namespace documents;
  Once other = opened(server_.url());
  int tries = 0;
  const Modify append = [&](const std::optional<Content>& standing) -> Result<Modified> {
    if (++tries == 1) {
      EXPECT_TRUE(other.documents().put("d", {"theirs", "a/b"}, IfAbsent{}));
    }
    Content content = standing.value_or(Content{"", "a/b"});
    content.bytes += " ours";
    return content;
  };
  const auto updated = std::get<Updated>(once_.documents().update("d", {append}).value());
  EXPECT_EQ(updated.conflicts, 1);
  EXPECT_EQ(updated.document->content.bytes, "theirs ours");
  EXPECT_EQ(once_.documents().get("d").value(), updated.document);
  const Modify clear = [](const auto&) -> Result<Modified> { return Clear{}; };
  const auto stale = once_.documents().update_if("d", "0123456789abcdef", {clear}).value();
  EXPECT_EQ(std::get<PreconditionFailed>(stale).etag, updated.document->etag);
  EXPECT_TRUE(once_.documents().update_if("d", updated.document->etag, {clear}).has_value());
  EXPECT_TRUE(std::holds_alternative<NotFound>(once_.documents().update("d", {clear}).value()));
}

TEST_F(RemoteTest, TalliesOfEveryKindGoThereAndBack) {
  Tallies& tallies = once_.tallies();
  const auto merge = [&](std::string_view name, const TallyShape& shape, TallyInput input) {
    const auto outcome = tallies.merge(name, {.shape = shape, .input = std::move(input)});
    EXPECT_TRUE(outcome && std::holds_alternative<Tallied>(*outcome)) << name;
  };
  const auto value = [&](std::string_view name) { return tallies.read(name).value()->value; };
  merge("sum", {.kind = TallyKind::sum}, -5);
  merge("real", {.kind = TallyKind::real}, 0.1);
  merge("count", {.kind = TallyKind::count}, 2);
  merge("max", {.kind = TallyKind::max}, 7);
  merge("min", {.kind = TallyKind::min}, -7);
  const std::vector<CountedItem> items = {{"a", 1}, {"\xff", 3}};
  merge("distinct", {.kind = TallyKind::distinct}, items);
  merge("top", {.kind = TallyKind::top, .window = TallyWindow::day}, items);
  merge("bloom", {.kind = TallyKind::bloom}, items);
  EXPECT_EQ(std::get<std::int64_t>(value("sum")), -5);
  EXPECT_EQ(std::get<double>(value("real")), 0.1);
  EXPECT_EQ(std::get<std::int64_t>(value("count")), 2);
  EXPECT_EQ(std::get<std::int64_t>(value("max")), 7);
  EXPECT_EQ(std::get<std::int64_t>(value("min")), -7);
  EXPECT_EQ(std::get<std::int64_t>(value("distinct")), 2);
  const std::vector<HeavyItem> heavy = {{"\xff", 3, 0}, {"a", 1, 0}};
  EXPECT_EQ(std::get<std::vector<HeavyItem>>(value("top")), heavy);
  EXPECT_TRUE(std::get<BloomAnswer>(value("bloom")).may_contain("\xff"));
  EXPECT_FALSE(std::get<BloomAnswer>(value("bloom")).may_contain("b"));
  EXPECT_EQ(tallies.read("nothing").value().has_value(), false);
  const std::vector<std::string> names = {"sum", "nothing", "top"};
  const auto all = tallies.read_all(names).value();
  EXPECT_EQ(std::get<std::int64_t>(all[0]->value), -5);
  EXPECT_FALSE(all[1].has_value());
  EXPECT_EQ(all[2]->window, TallyWindow::day);
}

TEST_F(RemoteTest, AMergeUnderAnIdCountsOnceAndAnotherKindIsToldWhatItIs) {
  Tallies& tallies = once_.tallies();
  for (const bool replayed : {false, true}) {
    const auto outcome = tallies.merge("t", {.input = 5, .id = "m"}).value();
    EXPECT_EQ(std::get<Tallied>(outcome).replayed, replayed);
    EXPECT_EQ(std::get<std::int64_t>(*std::get<Tallied>(outcome).value), 5);
  }
  const auto mismatch = tallies.merge("t", {.input = 6, .id = "m"}).value();
  EXPECT_TRUE(std::holds_alternative<TallyMismatch>(mismatch));
  const auto other = tallies.merge("t", {.shape = {.kind = TallyKind::max}, .input = 6}).value();
  EXPECT_EQ(std::get<OtherTally>(other).kind, "sum");
  EXPECT_EQ(code_of(tallies.merge("t", {.input = std::numeric_limits<std::int64_t>::max()})),
            ErrorCode::invalid);
}

TEST_F(RemoteTest, ACommitTellsWhichPartRefusedIt) {
  using effects::Refused;
  using Part = Refused::Part;
  const documents::Content content{Bytes("\xff", 1), "a/b"};
  const Effects effects =
      Effects().append("s", "e").put("d", content, documents::IfAbsent{}).add("t", 5);
  const auto made = std::get<effects::Made>(once_.commit(effects).value());
  EXPECT_EQ(made.appended.at(0).first, 1);
  EXPECT_EQ(once_.documents().get("d").value()->content, content);
  EXPECT_EQ(made.etags.at(0), once_.documents().get("d").value()->etag);
  const auto document = std::get<Refused>(once_.commit(effects).value());
  EXPECT_EQ(document.part, Part::document);
  EXPECT_EQ(std::get<documents::PreconditionFailed>(document.why).etag, made.etags.at(0));
  const auto tally = std::get<Refused>(
      once_.commit(Effects().add("u", 1).merge("t", {.shape = {.kind = TallyKind::max}})).value());
  EXPECT_EQ(tally.part, Part::tally);
  EXPECT_EQ(tally.index, 1U);
  EXPECT_EQ(std::get<OtherTally>(tally.why).kind, "sum");
  ASSERT_TRUE(once_.commit(Effects().add("u", 1), "c").has_value());
  EXPECT_EQ(std::get<Refused>(once_.commit(Effects().add("u", 2), "c").value()).part, Part::id);
  EXPECT_EQ(std::get<std::int64_t>(once_.tallies().read("u").value()->value), 1);
}

TEST_F(RemoteTest, ACommitPatchesAndRemovesDocuments) {
  using effects::Refused;
  Documents& documents = once_.documents();
  ASSERT_TRUE(documents.put("a", {R"({"n":1})", "application/json"}, documents::IfAbsent{}));
  ASSERT_TRUE(documents.put("b", {"text"}, documents::IfAbsent{}));
  const MergePatch patch = merge_patch(R"({"m":2})").value();
  EXPECT_EQ(code_of(merge_patch("{")), ErrorCode::invalid);
  const auto does_not_apply =
      std::get<Refused>(once_.commit(Effects().patch("a", patch).patch("b", patch)).value());
  EXPECT_EQ(does_not_apply.part, Refused::Part::document);
  EXPECT_EQ(does_not_apply.index, 1U);
  EXPECT_FALSE(std::get<documents::DoesNotApply>(does_not_apply.why).why.empty());
  const auto stale = once_.commit(Effects().remove("b", "0123456789abcdef")).value();
  EXPECT_TRUE(std::holds_alternative<documents::PreconditionFailed>(std::get<Refused>(stale).why));
  const std::string etag = documents.get("b").value()->etag;
  const auto made =
      std::get<effects::Made>(once_.commit(Effects().patch("a", patch).remove("b", etag)).value());
  EXPECT_EQ(made.etags.at(0), documents.get("a").value()->etag);
  EXPECT_TRUE(made.etags.at(1).empty());
  EXPECT_EQ(documents.get("a").value()->content.bytes, R"({"m":2,"n":1})");
  EXPECT_FALSE(documents.get("b").value().has_value());
}

TEST_F(RemoteTest, EventsWithIdsAreStoredOnceHoweverTheyAreCutIntoBatches) {
  using logs::AppendedEvents;
  Log& log = once_.log();
  const auto append = [&](std::vector<std::string> ids) {
    std::vector<LogEvent> events;
    for (const std::string& id : ids) events.push_back({"of " + id, std::nullopt});
    return std::get<AppendedEvents>(log.append_events("s", events, {.ids = ids}).value());
  };
  EXPECT_EQ(append({"a", "b"}).indexes, (std::vector<std::int64_t>{1, 2}));
  const AppendedEvents mixed = append({"b", "c", "c"});
  EXPECT_EQ(mixed.indexes, (std::vector<std::int64_t>{2, 3, 3}));
  EXPECT_EQ(mixed.appended->first, 3);
  EXPECT_FALSE(append({"c", "a"}).appended.has_value());
  EXPECT_EQ(append({"d", ""}).indexes, (std::vector<std::int64_t>{4, 5}));
  EXPECT_EQ(log.ends("s").value().next, 6);
  EXPECT_EQ(code_of(log.append_events("s", {{"x"}}, {.ids = {"x", "y"}})), ErrorCode::invalid);
  EXPECT_EQ(code_of(log.append_events("s", {{"x"}}, {.ids = {""}})), ErrorCode::invalid);
  EXPECT_EQ(code_of(log.append_events("s", {{"x"}}, {.ids = {"e"}, .ttl = 1s})),
            ErrorCode::invalid);
  ASSERT_TRUE(log.close("s").value().has_value());
  EXPECT_TRUE(
      std::holds_alternative<LogClosed>(log.append_events("s", {{"x"}}, {.ids = {"z"}}).value()));
  EXPECT_EQ(append({"a"}).indexes, (std::vector<std::int64_t>{1}));
}

TEST_F(RemoteTest, WhatAServerCannotDoIsRefusedBeforeAnythingIsSent) {
  ScriptedPeer deaf({[](Conversation&) {}});
  Once far = opened(deaf.url());
  EXPECT_EQ(code_of(far.log().heal("s")), ErrorCode::unsupported);
  EXPECT_EQ(code_of(far.tallies().merge("t", {.shape = {.kind = TallyKind::own}})),
            ErrorCode::unsupported);
  EXPECT_EQ(code_of(far.documents().put("d", {"x"}, documents::IfAbsent{}, {"i", 1h})),
            ErrorCode::unsupported);
  const documents::Modify keep = [](const auto&) -> Result<documents::Modified> { return Keep{}; };
  EXPECT_EQ(code_of(far.documents().update("d", {keep, {"i"}})), ErrorCode::unsupported);
  EXPECT_EQ(far.store(), nullptr);
  EXPECT_EQ(code_of(far.claims().take("", {})), ErrorCode::invalid);
  EXPECT_EQ(code_of(far.tallies().merge("t", {.input = 0.5})), ErrorCode::invalid);
  EXPECT_EQ(deaf.connections(), 0);
}

TEST_F(RemoteTest, ACallEndsWhenItsTimeIsOverAlthoughTheServerDoesNotAnswer) {
  ScriptedPeer silent({[](Conversation& with) {
    while (!with.read_request().empty()) {
    }
  }});
  Once far = opened(silent.url());
  const Time began = system_clock().now();
  EXPECT_EQ(code_of(far.claims().renew("job", {"ticket"}, 30s, 50ms)), ErrorCode::unknown);
  EXPECT_LT(system_clock().now() - began, 4s);
}

TEST_F(RemoteTest, AServerThatIsNotThereIsUnavailableAndNothingRuns) {
  Once far = opened("http://127.0.0.1:1");
  const auto ran = far.run("job", {}, [](Attempt&) -> Result<Effects> {
    ADD_FAILURE() << "it ran";
    return Effects();
  });
  ASSERT_FALSE(ran.has_value());
  EXPECT_EQ(ran.error().why, Why::store_error);
  EXPECT_EQ(ran.error().error.code, ErrorCode::unavailable);
  far.claims().set_if_store_down(IfStoreDown::proceed);
  EXPECT_TRUE(std::holds_alternative<Unguarded>(far.claims().take("job", {}).value()));
}

TEST_F(RemoteTest, ProblemsAreTheErrorsOfAStore) {
  const auto refused = [](std::string_view status, std::string_view code) {
    ScriptedPeer peer({[=](Conversation& with) {
      with.read_request();
      with.refuse(status, code);
    }});
    return code_of(opened(peer.url()).tallies().merge("t", {.input = 5}));
  };
  EXPECT_EQ(refused("401 X", "unauthorized"), ErrorCode::denied);
  EXPECT_EQ(refused("413 X", "too_large"), ErrorCode::too_large);
  EXPECT_EQ(refused("501 X", "unsupported"), ErrorCode::unsupported);
  EXPECT_EQ(refused("503 X", "overloaded"), ErrorCode::unavailable);
  EXPECT_EQ(refused("500 X", "corrupt"), ErrorCode::corrupt);
  EXPECT_EQ(refused("500 X", "unknown"), ErrorCode::unknown);
}

TEST_F(RemoteTest, TheTokenGoesToTheServerAndIntoNoMessage) {
  std::string request;
  ScriptedPeer peer({[&](Conversation& with) {
    request = with.read_request();
    with.refuse("401 X", "unauthorized");
  }});
  Result<Once> once = open(peer.url(), "default", {.token = "secret"});
  ASSERT_TRUE(once.has_value());
  const auto shown = once->claims().show("a");
  peer.end();
  EXPECT_EQ(code_of(shown), ErrorCode::denied);
  EXPECT_EQ(shown.error().message.find("secret"), std::string::npos);
  EXPECT_NE(request.find("Authorization: Bearer secret\r\n"), std::string::npos);
}

TEST_F(RemoteTest, WhatIsNoServersAddressIsSaidSo) {
  for (const auto* address : {"http://", "http://user:word@host", "http://host/path"}) {
    EXPECT_EQ(code_of(open(address)), ErrorCode::invalid) << address;
  }
  EXPECT_EQ(code_of(open("https://host/below")), ErrorCode::invalid);
  EXPECT_EQ(code_of(open_store("http://host")), ErrorCode::unsupported);
}

TEST_F(RemoteTest, AServerThatIsKilledWhileTheWorkRunsIsWaitedFor) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
  const testing::TempDir dir;
  testing::ServerProcess server(dir.path() / "state");
  Once far = opened(server.url());
  const auto ran = far.run("job", {}, [&](Attempt&) -> Result<Effects> {
    server.kill();
    server.start(server.port());
    return Effects().result("r").append("s", "e");
  });
  ASSERT_TRUE(ran.has_value()) << ran.error().error.message;
  EXPECT_EQ(far.log().ends("s").value().next, 2);
}

TEST_F(RemoteTest, WhatRanThroughAServerIsReplayedByALocalOpenAndTheOtherWayRound) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
  const testing::TempDir dir;
  const std::string state = dir.path() / "state";
  const auto run = [&](Once& once, const std::string& prefix, bool replayed) {
    for (std::size_t i = 0; i < kAnyBytes.size(); ++i) {
      const auto ran =
          once.run(prefix + std::to_string(i), {.payload = "p"}, [&](Attempt&) -> Result<Effects> {
            return Effects().result(kAnyBytes[i]).append("s", kAnyBytes[i]);
          });
      ASSERT_TRUE(ran.has_value()) << ran.error().error.message;
      EXPECT_EQ(ran->replayed, replayed);
      EXPECT_EQ(ran->result, kAnyBytes[i]);
    }
  };
  const auto count = static_cast<std::int64_t>(kAnyBytes.size());
  {
    Once here = opened(state);
    run(here, "here", false);
  }
  {
    testing::ServerProcess server(state);
    Once far = opened(server.url());
    run(far, "here", true);
    run(far, "far", false);
    EXPECT_EQ(server.terminate(), 0);
  }
  Once here = opened(state);
  run(here, "far", true);
  EXPECT_EQ(here.log().ends("s").value().next, 2 * count + 1);
}

}  // namespace
}  // namespace once
