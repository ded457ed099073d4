// Forwards the lines of a running job to a log that many write and many read: no index is missing,
// none is used twice, and what is delivered again is not stored again.
#include <fstream>
#include <iostream>
#include <limits>
#include <string>
#include <string_view>

#include "arguments.h"
#include "forwarding.h"
#include "once/open.h"
#include "program.h"
#include "story.h"
#include "temporary_directory.h"

namespace {

using examples::Arguments;
using examples::BadUsage;
using examples::say;

constexpr std::string_view kHelp =
    R"(log_forwarder: many forwarders, one log without gaps

  log_forwarder                          racing forwarders and readers in this process
  log_forwarder forward EXECUTION FILE   store the lines of FILE (- for standard input)
  log_forwarder read EXECUTION           print the log: an index, a space and the line

  --store URL    a directory, memory:, http://HOST:7600, dynamodb://TABLE, redis://HOST, s3://BUCKET;
                 without it the first form makes a directory that goes away, the others use ./log
  --source NAME  forward: what FILE is known by; its own name otherwise
  --from N       read: begin at this index (1)
  --until N      read: end after this index
  --follow       read: wait for more at the end
  --deliveries N the first form: how many (100)
  --seed N       the first form: what happens when (1)

A forwarder that died is simply started again: what is stored already keeps its indexes.
)";
constexpr examples::Program kProgram("log_forwarder", kHelp);

int forward_all(once::Once& once, const std::string& execution, const std::string& name,
                std::istream& in) {
  log_forwarder::Source source(name, in);
  for (;;) {
    const once::Result<log_forwarder::Delivery> delivery = source.next();
    if (!delivery) return kProgram.fail(delivery.error());
    if (delivery->lines.empty()) return 0;
    const auto place = log_forwarder::forward(once, execution, *delivery);
    if (!place) return kProgram.fail(place.error());
    say(delivery->id + " stands at " + std::to_string(place->first) + " to " +
        std::to_string(place->last) + (place->replayed ? ", as before" : ""));
  }
}

int run_forward(Arguments& arguments, const std::string& store) {
  const std::optional<std::string> named = arguments.option("--source");
  const std::string execution = arguments.word("the execution");
  const std::string file = arguments.word("the file");
  arguments.end();
  std::ifstream in;
  if (file != "-") in.open(file, std::ios::binary);
  if (!in) throw BadUsage("there is no file " + file + " to read");
  once::Result<once::Once> once = once::open(store);
  if (!once) return kProgram.fail(once.error());
  return forward_all(*once, execution, named.value_or(file), file == "-" ? std::cin : in);
}

int run_read(Arguments& arguments, const std::string& store) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max() - 1;
  const std::int64_t from = arguments.number("--from", 1, 1, kLast);
  const std::int64_t until = arguments.number("--until", kLast, 1, kLast);
  const bool follows = arguments.flag("--follow");
  const std::string execution = arguments.word("the execution");
  arguments.end();
  once::Result<once::Once> once = once::open(store);
  if (!once) return kProgram.fail(once.error());
  const auto print = [](const once::LogEntry& e) { say(std::to_string(e.index) + " " + e.data); };
  const auto end =
      follows ? log_forwarder::follow(*once, execution, from, until, print, [] { return false; })
              : log_forwarder::read(*once, execution, from, until, print);
  return end ? 0 : kProgram.fail(end.error());
}

int run_story(Arguments& arguments, const std::optional<std::string>& store) {
  const auto deliveries = arguments.number<int>("--deliveries", 100, 1, 100'000);
  const std::uint32_t seed = arguments.seed();
  arguments.end();
  const examples::TemporaryDirectory directory;
  once::Result<once::Once> once = once::open(store.value_or(directory.path().string()));
  if (!once) return kProgram.fail(once.error());
  const once::Result<bool> kept = log_forwarder::tell_story(*once, deliveries, seed);
  return kProgram.status_of(kept);
}

int run(Arguments& arguments) {
  const std::optional<std::string> store = arguments.option("--store");
  if (!arguments.has_words()) return run_story(arguments, store);
  const std::string verb = arguments.word("what to do");
  if (verb == "forward") return run_forward(arguments, store.value_or("./log"));
  if (verb == "read") return run_read(arguments, store.value_or("./log"));
  throw BadUsage("there is no '" + verb + "'");
}

}  // namespace

int main(int argc, char** argv) { return kProgram.main(argc, argv, run); }
