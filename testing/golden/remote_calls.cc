// remote_calls URL: makes every call of the library once, through the server at URL, and prints
// what came of it. What it sends is compared by golden.py.
#include <cstdio>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "once/open.h"

using namespace std::chrono_literals;

namespace {

const std::string kBytes("\xff\0\1", 3);

// Which alternative it is, or the error.
template <class Outcome>
void print(const char* call, const once::Result<Outcome>& outcome) {
  if (!outcome) {
    std::printf("%s: error %d, %s\n", call, static_cast<int>(outcome.error().code),
                outcome.error().message.c_str());
  } else if constexpr (requires { outcome->index(); }) {
    std::printf("%s: outcome %zu\n", call, outcome->index());
  } else {
    std::printf("%s: ok\n", call);
  }
}

void claims(once::Once& once) {
  once::Claims& claims = once.claims();
  const auto taken = claims.take("c/1", {.owner = "me", .payload = kBytes, .lease = 1min}, 1s);
  print("take", taken);
  const once::Ticket ticket = std::get<once::Claimed>(taken.value()).ticket;
  print("take a busy one", claims.take("c/1", {.owner = "you"}));
  print("take with another payload", claims.take("c/1", {.payload = "other"}));
  print("renew", claims.renew("c/1", ticket, 2min));
  print("show", claims.show("c/1"));
  print("complete", claims.complete("c/1", ticket, kBytes));
  print("complete again", claims.complete("c/1", ticket, "other"));
  print("take a done one", claims.take("c/1", {.payload = kBytes}));
  for (const auto how : {once::Release::retryable, once::Release::final}) {
    const auto second = claims.take("c2", {.request = "r", .ttl = 1h});
    print("take", second);
    print("release",
          claims.release("c2", std::get<once::Claimed>(second.value()).ticket, kBytes, how));
  }
  print("take a failed one", claims.take("c2", {}));
  print("list", claims.list());
  print("list the done", claims.list({.kind = once::ClaimState::Kind::done}, "", 1));
  print("show none", claims.show("none"));
  const std::vector<std::string> ids{"a", "b", "a"};
  print("seen", claims.seen(ids, 1h, "r"));
  print("seen without a request", claims.seen(ids, 1h));
}

void logs(once::Once& once) {
  once::Log& log = once.log();
  const std::vector<once::LogEvent> events{{kBytes, once::Time(1h)}, {"two", std::nullopt}};
  print("append", log.append("s", events));
  print("append a batch", log.append("s", events, {.batch = "b", .ttl = 24h}));
  print("append it again", log.append("s", events, {.batch = "b", .ttl = 24h}));
  print("append at", log.append("s", events, {.expect = 1}));
  print("read", log.read("s"));
  print("read down", log.read("s", {.limit = 2, .order = once::Direction::descending}));
  print("ends", log.ends("s"));
  print("trim", log.trim("s", 2));
}

void documents(once::Once& once) {
  using namespace once::documents;
  once::Documents& documents = once.documents();
  const auto made = documents.put("d/1", {kBytes, "x/y"}, IfAbsent{}, {.id = "i1"});
  print("put", made);
  print("put again", documents.put("d/1", {"other", "x/y"}, IfAbsent{}));
  const std::string etag = std::get<Updated>(made.value()).document->etag;
  print("put if", documents.put("d/1", {"two", "x/y"}, IfMatch{etag}, {.id = "i2"}));
  print("get", documents.get("d/1"));
  const auto longer = [](const std::optional<Content>& before) -> once::Result<Modified> {
    return Content{before->bytes + "+", before->type};
  };
  print("update", documents.update("d/1", {.modify = longer}));
  print("remove the wrong one", documents.remove("d/1", etag));
  const auto now = documents.get("d/1");
  print("remove", documents.remove("d/1", now.value()->etag, {.id = "i3"}));
  print("get none", documents.get("d/1"));
}

void tallies(once::Once& once) {
  using once::TallyKind;
  once::Tallies& tallies = once.tallies();
  const once::Time at(1'794'735'000'000ms);
  const auto merge = [&](const char* name, TallyKind kind, once::TallyInput input, std::string id) {
    once::TallyRequest request{.shape = {.kind = kind}, .input = std::move(input)};
    request.id = std::move(id);
    if (kind == TallyKind::count) {
      request.shape.window = once::TallyWindow::hour;
      request.at = at;
      request.ttl = 24h * 3650;
    }
    print(name, tallies.merge(name, request));
  };
  const std::vector<once::CountedItem> items{{"a", 1}, {kBytes, 3}};
  merge("sum", TallyKind::sum, 5, "i");
  merge("sum", TallyKind::sum, 5, "i");
  merge("real", TallyKind::real, 0.5, "i");
  merge("count", TallyKind::count, 2, "i");
  merge("max", TallyKind::max, 5, "");
  merge("min", TallyKind::min, 5, "");
  merge("distinct", TallyKind::distinct, items, "");
  merge("top", TallyKind::top, items, "i");
  merge("bloom", TallyKind::bloom, items, "");
  merge("sum", TallyKind::max, 5, "");
  print("read", tallies.read("sum"));
  print("read from", tallies.read("count", {.from = at, .to = at + 1h}));
  const std::vector<std::string> names{"sum", "none", "top", "bloom"};
  print("read all", tallies.read_all(names));
}

void effects(once::Once& once) {
  print("commit", once.commit(once::Effects().append("ledger", kBytes).add("revenue", 1), "e1"));
  print("commit again",
        once.commit(once::Effects().append("ledger", kBytes).add("revenue", 1), "e1"));
  const auto pay = [](once::Attempt&) -> once::Result<once::Effects> {
    return once::Effects()
        .result(kBytes)
        .append("ledger", "paid")
        .put("receipt", {"{}", "application/json"}, once::documents::IfAbsent{})
        .add("revenue", 1900);
  };
  for (int i = 0; i < 2; ++i) {
    const auto ran = once.run("invoice", {.owner = "me", .payload = "p"}, pay);
    std::printf("run: %s\n", !ran            ? ran.error().error.message.c_str()
                             : ran->replayed ? "replayed"
                                             : "ran");
  }
  const auto later = [](once::Attempt& attempt) { return attempt.retry_later("not yet"); };
  const auto never = [](once::Attempt& attempt) { return attempt.give_up("no"); };
  once.run("later", {.owner = "me"}, later);
  once.run("never", {.owner = "me"}, never);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("remote_calls URL\n", stderr), 64;
  auto once = once::open(argv[1]);
  if (!once) return std::fprintf(stderr, "%s\n", once.error().message.c_str()), 1;
  claims(*once);
  logs(*once);
  documents(*once);
  tallies(*once);
  effects(*once);
}
