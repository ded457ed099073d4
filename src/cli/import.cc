#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "api/stored_items.h"
#include "cli/answer.h"
#include "cli/export_json.h"
#include "cli/input.h"
#include "cli/request.h"
#include "cli/target.h"
#include "cli/terminal.h"
#include "primitives/claim_record.h"
#include "primitives/keys.h"
#include "wire/text.h"

namespace once::cli::import_command {
namespace {

// An export that is read twice: once to see that all of it is sound, and then to import it. What
// comes through a pipe is kept in a file without a name meanwhile.
class ImportInput {
 public:
  explicit ImportInput(int file) : file_(file) {}
  ~ImportInput();
  ImportInput(const ImportInput&) = delete;
  ImportInput& operator=(const ImportInput&) = delete;

  // `invalid`, with the number of the line, for what is no export, is damaged or does not end.
  Result<LastLine> check();

  // After check(): each item as its line, until `on_item` fails. `denied` when what is read is no
  // longer what was checked.
  using OnItem = std::function<Result<void>(const ItemLine& item, const std::string& line)>;
  Result<void> each(const OnItem& on_item);

 private:
  Result<void> keep_lines();
  Result<void> keep(const std::string& line);

  const int file_;
  off_t begin_ = 0;
  int kept_ = -1;  // The file without a name, if there is one.
};

constexpr Lines::Room kRoom = {.lines = 1'000, .bytes = 4U << 20};

std::unexpected<Error> bad_input(std::string problem) {
  return failure(ErrorCode::invalid, std::move(problem));
}

std::unexpected<Error> cannot_keep() {
  const std::string why = std::error_code(errno, std::generic_category()).message();
  return failure(ErrorCode::denied, "the input cannot be kept in a temporary file: " + why);
}

// Reads an export once, from its first line to its last.
class ExportReader {
 public:
  // The item of the line; nothing for a line without one.
  Result<std::optional<ItemLine>> take(std::string_view text) {
    ++line_;
    if (text.empty()) return std::nullopt;
    Result<ExportLine> line = parse_export_line(text);
    Result<std::optional<ItemLine>> item =
        line ? place(std::move(*line))
             : Result<std::optional<ItemLine>>(std::unexpected(std::move(line.error())));
    if (!item) {
      std::string where = "line ";
      where.append(std::to_string(line_)).append(": ").append(item.error().message);
      return failure(item.error().code, std::move(where));
    }
    return item;
  }

  Result<LastLine> finish() const {
    if (last_) return *last_;
    return bad_input("the export is not complete: its last line is missing");
  }

 private:
  Result<std::optional<ItemLine>> place(ExportLine line) {
    const bool is_first = std::holds_alternative<FirstLine>(line);
    if (is_first == begun_) return bad_input("this is no export of once");
    begun_ = true;
    if (last_) return bad_input("there is more after the last line");
    if (const auto* last = std::get_if<LastLine>(&line)) {
      last_ = *last;
      if (last->items != items_) {
        std::string problem = "the export had ";
        problem.append(std::to_string(last->items)).append(" items, not ");
        return bad_input(problem.append(std::to_string(items_)));
      }
      if (last->check != check_) return bad_input("the export had other items");
    }
    if (auto* item = std::get_if<ItemLine>(&line)) {
      ++items_;
      check_ += item->check;
      return std::move(*item);
    }
    return std::nullopt;
  }

  std::uint64_t line_ = 0;
  std::uint64_t items_ = 0;
  std::uint32_t check_ = 0;  // Wraps around.
  bool begun_ = false;
  std::optional<LastLine> last_;
};

// Hands over line by line what is read from `file`.
template <class OnLine>
Result<void> each_line(int file, OnLine on_line) {
  Lines lines(file, Lines::Empty::keep);
  for (;;) {
    const std::vector<std::string> batch = lines.next(kRoom, Lines::Partial::at_the_end);
    if (lines.broken()) return std::unexpected(*lines.broken());
    if (batch.empty()) return {};
    for (const std::string& line : batch) {
      if (Result<void> ok = on_line(line); !ok) return ok;
    }
  }
}

ImportInput::~ImportInput() {
  if (kept_ >= 0) ::close(kept_);
}

Result<void> ImportInput::keep_lines() {
  std::error_code error;
  std::string name = std::filesystem::temp_directory_path(error) / "once-import-XXXXXX";
  if (error) return failure(ErrorCode::denied, "there is no directory for temporary files");
  kept_ = ::mkstemp(name.data());
  if (kept_ < 0) return cannot_keep();
  ::unlink(name.c_str());
  return {};
}

Result<void> ImportInput::keep(const std::string& line) {
  std::string_view left = line;
  while (!left.empty()) {
    const ssize_t count = ::write(kept_, std::to_address(left.begin()), left.size());
    if (count < 0 && errno != EINTR) return cannot_keep();
    if (count > 0) left.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<LastLine> ImportInput::check() {
  begin_ = ::lseek(file_, 0, SEEK_CUR);
  if (begin_ < 0) {
    if (Result<void> ok = keep_lines(); !ok) return std::unexpected(ok.error());
  }
  ExportReader reading;
  const Result<void> ok = each_line(file_, [&](const std::string& line) -> Result<void> {
    const auto item = reading.take(line);
    if (!item) return std::unexpected(item.error());
    return kept_ >= 0 ? keep(line + "\n") : Result<void>();
  });
  if (!ok) return std::unexpected(ok.error());
  return reading.finish();
}

Result<void> ImportInput::each(const OnItem& on_item) {
  const int file = kept_ >= 0 ? kept_ : file_;
  if (::lseek(file, kept_ >= 0 ? 0 : begin_, SEEK_SET) < 0) return cannot_keep();
  ExportReader reading;
  const Result<void> ok = each_line(file, [&](const std::string& line) -> Result<void> {
    Result<std::optional<ItemLine>> item = reading.take(line);
    if (!item) return std::unexpected(item.error());
    return *item ? on_item(**item, line) : Result<void>();
  });
  if (!ok) return ok;
  const Result<LastLine> last = reading.finish();
  return last ? Result<void>() : std::unexpected(last.error());
}

// What goes into one request; a line that is larger goes alone.
constexpr std::size_t kLines = 1'000;
constexpr std::size_t kBytes = 512U << 10;

class Importer {
 public:
  Importer(const Invocation& invocation, Target& target)
      : invocation_(invocation), target_(target), progress_("items", Progress::Output::at_the_end) {
    const auto name_space = invocation.option("namespace");
    if (name_space) prefixes_ = keys::prefixes(*name_space);
  }

  // Whether an export of that time may come in here; otherwise it was told why not.
  int check_time(Time exported) {
    const auto page = target_.call(request_for(invocation_, "GET", "/v1/items?limit=1"));
    if (!page) return print_error(invocation_, page.error());
    if (page->status != 200) return print_error(invocation_, *page);
    const auto now = api::parse_time(field_of(*page, "time"));
    // A clock that is behind by less gives no fence twice.
    if (now && *now + claims::kFenceMemory >= exported) return kDone;
    return print_error(invocation_, {ErrorCode::denied,
                                     "this store's clock is more than an hour behind that of the "
                                     "export, and fences would not rise"});
  }

  Result<void> add(const ItemLine& item, const std::string& line) {
    const bool wanted = std::ranges::any_of(
        prefixes_, [&](const std::string& prefix) { return item.home.starts_with(prefix); });
    if (!wanted) return {};
    if (item.is_token && !invocation_.flag("with-tokens")) {
      if (!api::is_closed_mark(item.home)) ++tokens_left_out_;
      return {};
    }
    if (count_ == kLines || (count_ > 0 && items_.size() + line.size() > kBytes)) {
      if (Result<void> ok = send(); !ok) return ok;
    }
    items_.append(count_ == 0 ? "" : ",").append(line);
    ++count_;
    return {};
  }

  // What was added since the last time.
  Result<void> send() {
    if (count_ == 0) return {};
    const std::string_view tokens =
        invocation_.flag("with-tokens") ? R"(],"with_tokens":true})" : "]}";
    const auto answer =
        target_.write(request_for(invocation_, "POST", "/v1/items",
                                  std::string(R"({"items":[)").append(items_).append(tokens)));
    if (!answer) return std::unexpected(answer.error());
    const Result<api::Json> body = api::parse_json(answer->body);
    if (answer->status != 200 || !body) {
      problem_ = *answer;
      return failure(ErrorCode::unknown, "the store refused");
    }
    imported_ += number(*body, "imported");
    known_ += number(*body, "known");
    refused_ += number(*body, "refused");
    progress_.add(count_);
    items_.clear();
    count_ = 0;
    return {};
  }

  // An import that could not go on: what was imported before stays.
  int stopped(const Error& error) const {
    const int exit =
        problem_ ? print_error(invocation_, *problem_) : print_error(invocation_, error);
    std::cerr << "once import: it stopped after " << imported_
              << " items, which stay; repeat it to import the rest\n";
    return exit;
  }

  int report() const {
    if (invocation_.flag("json")) {
      print_line(api::JsonObject()
                     .integer("imported", imported_)
                     .integer("known", known_)
                     .integer("refused", refused_)
                     .finish());
    } else {
      std::cout << "imported " << imported_ << " items";
      if (known_ > 0) std::cout << ", " << known_ << " were there already";
      std::cout << '\n';
    }
    if (tokens_left_out_ > 0) {
      std::cerr << "once import: " << tokens_left_out_
                << " tokens were left out; --with-tokens imports them, too\n";
    }
    if (refused_ == 0) return kDone;
    return print_error(invocation_,
                       {ErrorCode::denied, std::to_string(refused_) +
                                               " items were not imported: others stand where they "
                                               "would"});
  }

 private:
  static std::int64_t number(api::Json body, std::string_view name) {
    std::int64_t value = 0;
    return body.at_key(name).get(value) == simdjson::SUCCESS ? value : 0;
  }

  const Invocation& invocation_;
  Target& target_;
  Progress progress_;
  std::vector<std::string> prefixes_ = {""};

  std::string items_;  // Of the next request.
  std::size_t count_ = 0;
  std::optional<api::Response> problem_;
  std::int64_t imported_ = 0;
  std::int64_t known_ = 0;
  std::int64_t refused_ = 0;
  std::int64_t tokens_left_out_ = 0;
};

int run(const Invocation& invocation) {
  const auto name_space = invocation.option("namespace");
  if (const auto ok = keys::check_namespace(name_space.value_or("default")); !ok) {
    return print_error(invocation, ok.error());
  }
  ImportInput input(STDIN_FILENO);
  const Result<LastLine> last = input.check();
  if (!last) return print_error(invocation, last.error());
  if (last->as_found && !invocation.flag("as-found")) {
    return print_error(invocation, {ErrorCode::invalid,
                                    "the items of this export may be of different moments; "
                                    "--as-found imports it nevertheless"});
  }
  const auto target = open_target(invocation);
  Importer importer(invocation, *target);
  if (const int exit = importer.check_time(last->time); exit != kDone) return exit;
  Result<void> ok = input.each(
      [&](const ItemLine& item, const std::string& line) { return importer.add(item, line); });
  if (ok) ok = importer.send();
  return ok ? importer.report() : importer.stopped(ok.error());
}

constexpr std::array kOptions = {Option{"as-found", Option::Kind::flag},
                                 Option{"with-tokens", Option::Kind::flag}};
constexpr std::array kVerbs = {Verb{.options = kOptions, .run = run}};

}  // namespace

const Command kCommand = {
    .name = "import",
    .summary = "Reads into a store what an export wrote",
    .help = R"help(Usage: once import [--namespace NAME] [--as-found] [--with-tokens]

Reads on standard input what 'once export' wrote, all of it or the items of one namespace, into a
store that should be empty: what is there already is left as it is, and exit is 1 if it is not the
same. Nothing is imported before all of the input was found whole and sound; a bad line is named by
its number. An import that was cut short is simply repeated. What was exported with --as-found is
taken with --as-found only.

Each record is decoded as what its key is for, and one that does not decode is refused. Tokens are
left out without --with-tokens: the author of the file could have put one of their own into it.

Example:
  once export | once import --store ./copy
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli::import_command
