// One change, edited by many at once: customers' back ends that record what they did, and people
// who edit it and plan meetings. No entry is lost, and none is recorded twice.
#include <iostream>
#include <string>
#include <string_view>

#include "archive.h"
#include "arguments.h"
#include "once/open.h"
#include "program.h"
#include "story.h"
#include "temporary_directory.h"

namespace {

using change_archive::Entry;
using examples::Arguments;
using examples::BadUsage;

constexpr std::string_view kHelp =
    R"(change_archive: one object that many edit, with its history

  change_archive                                   thirty customers and a front end in this process
  change_archive create CHANGE TITLE
  change_archive edit CHANGE TITLE                 another title
  change_archive schedule CHANGE MEETING
  change_archive cancel CHANGE MEETING
  change_archive processed CHANGE CUSTOMER TASK... what a customer's back end has done
  change_archive show CHANGE                       its ETag and the object

  --store URL      a directory, memory:, http://HOST:7600, s3://BUCKET/PREFIX, dynamodb://TABLE,
                   redis://HOST; without it the first form makes a directory that goes away, the
                   others use ./changes
  --by NAME        who does it (me)
  --id ID          edit, schedule, cancel: what it is known by when it is sent again; otherwise an
                   edit is always another one, and a meeting is scheduled and cancelled once
  --etag ETAG      edit: only if the change is still the one that was shown with this ETag; if not,
                   it exits with 3
  --customers N    the first form: how many (30)
  --seed N         the first form: what happens when (1)

After an interruption, do the same again: an entry is recorded once.
)";
constexpr examples::Program kProgram("change_archive", kHelp);

std::string new_id() {
  const auto words = {once::system_entropy().random(), once::system_entropy().random()};
  std::string id = "edited";
  for (const std::uint64_t word : words) id.append("/").append(std::to_string(word));
  return id;
}

void check_text(const Entry& entry) {
  try {
    (void)change_archive::Json{entry.id, entry.by, entry.about}.dump();
  } catch (const change_archive::Json::exception&) {
    throw BadUsage("what is recorded must be UTF-8");
  }
}

int tell(const once::Result<change_archive::Recorded>& recorded, const std::string& id) {
  if (!recorded) return kProgram.fail(recorded.error());
  std::cout << id << (recorded->before ? " was recorded before\n" : " is recorded\n") << std::flush;
  return 0;
}

int save_page(once::Once& once, const std::string& change, const std::string& etag,
              const Entry& entry) {
  const auto saved = change_archive::save(once, change, etag, entry);
  if (!saved) return kProgram.fail(saved.error());
  if (const auto* recorded = std::get_if<change_archive::Recorded>(&*saved)) {
    return tell(*recorded, entry.id);
  }
  std::cerr << "change_archive: it has changed meanwhile; its ETag is "
            << std::get<change_archive::Stale>(*saved).etag << '\n';
  return 3;
}

int show(once::Once& once, const std::string& change) {
  const auto current = change_archive::load(once, change);
  if (!current) return kProgram.fail(current.error());
  if (!*current) return kProgram.fail({once::ErrorCode::invalid, "there is no such change"});
  std::cout << (*current)->etag << '\n' << (*current)->change.dump(2) << '\n';
  return 0;
}

// The entries that a command line asks for.
std::vector<Entry> entries_of(const std::string& verb, Arguments& arguments,
                              const std::optional<std::string>& id, const std::string& by) {
  const std::string what =
      arguments.word(verb == "processed" ? "the customer" : "what it is about");
  if (verb == "create") return {{"created", "created", by, {what}}};
  if (verb == "edit") return {{id ? *id : new_id(), "edited", by, {what}}};
  if (verb == "schedule")
    return {{id.value_or("scheduled/" + what), "meeting_scheduled", by, {what}}};
  if (verb == "cancel")
    return {{id.value_or("cancelled/" + what), "meeting_cancelled", by, {what}}};
  std::vector<Entry> entries;
  do {
    const std::string task = arguments.word("the task");
    entries.push_back({"processed/" + what + "/" + task, "processed", by, {what, task}});
  } while (arguments.has_words());
  return entries;
}

int run_story(Arguments& arguments, const std::optional<std::string>& store) {
  const auto customers = arguments.number<int>("--customers", 30, 1, 1'000);
  const std::uint32_t seed = arguments.seed();
  arguments.end();
  const examples::TemporaryDirectory directory;
  once::Result<once::Once> once = once::open(store.value_or(directory.path().string()));
  if (!once) return kProgram.fail(once.error());
  const once::Result<bool> kept = change_archive::tell_story(*once, customers, seed);
  return kProgram.status_of(kept);
}

int run_verb(Arguments& arguments, const std::string& store) {
  const std::string by = arguments.option("--by").value_or("me");
  std::optional<std::string> id;
  std::optional<std::string> etag;
  const std::string verb = arguments.word("what to do");
  constexpr std::string_view kVerbs = " create edit schedule cancel processed show ";
  if (!kVerbs.contains(" " + verb + " ")) throw BadUsage("there is no '" + verb + "'");
  if (verb == "edit") etag = arguments.option("--etag");
  if (verb == "edit" || verb == "schedule" || verb == "cancel") id = arguments.option("--id");
  const std::string change = arguments.word("the change");
  std::vector<Entry> entries;
  if (verb != "show") entries = entries_of(verb, arguments, id, by);
  arguments.end();
  for (const Entry& entry : entries) check_text(entry);

  once::Result<once::Once> once = once::open(store);
  if (!once) return kProgram.fail(once.error());
  if (verb == "show") return show(*once, change);
  for (Entry& entry : entries) {
    entry.time = once->now().time_since_epoch().count();
    if (etag) return save_page(*once, change, *etag, entry);
    if (const int status = tell(change_archive::record(*once, change, entry), entry.id)) {
      return status;
    }
  }
  return 0;
}

int run(Arguments& arguments) {
  const std::optional<std::string> store = arguments.option("--store");
  return arguments.has_words() ? run_verb(arguments, store.value_or("./changes"))
                               : run_story(arguments, store);
}

}  // namespace

int main(int argc, char** argv) { return kProgram.main(argc, argv, run); }
