#include "cli/outcome.h"

#include <algorithm>
#include <iostream>

#include "base/encoding.h"
#include "cli/command.h"
#include "wire/json.h"
#include "wire/text.h"

namespace once::cli {
namespace {

using process::Captured;

constexpr std::string_view kCutMark = "\n[once: cut here; no more was kept]\n";

constexpr std::size_t kQuotes = 2;

// The start of a character that was cut in two is left out.
void trim_to_characters(Captured& captured) {
  for (int i = 0; captured.cut && i < 3 && !api::is_utf8(captured.bytes); ++i) {
    captured.bytes.pop_back();
  }
}

// As text, unless it is none, or its escapes are longer than base64: six bytes for a NUL.
void add_output(api::JsonObject& out, const std::string& name, Captured captured,
                std::size_t most) {
  captured.cut = captured.cut || captured.bytes.size() > most;
  captured.bytes.resize(std::min(captured.bytes.size(), most));
  trim_to_characters(captured);
  const std::string in_base64 = base64url_encode(captured.bytes);
  const bool is_text = api::is_utf8(captured.bytes);
  if (is_text && api::json_text(captured.bytes).size() <= in_base64.size() + kQuotes) {
    out.text(name, captured.bytes);
  } else {
    out.text(name + "_base64", in_base64);
  }
  if (captured.cut) out.boolean(name + "_cut", true);
}

std::optional<std::string> text_in(api::Json object, const std::string& name) {
  std::string_view text;
  if (object.at_key(name).get(text) != simdjson::SUCCESS) return std::nullopt;
  return std::string(text);
}

void print_output(api::Json outcome, const std::string& name, std::ostream& to) {
  if (const auto text = text_in(outcome, name)) to << *text;
  if (const auto text = text_in(outcome, name + "_base64"))
    to << base64url_decode(*text).value_or("");
  bool cut = false;
  if (outcome.at_key(name + "_cut").get(cut) == simdjson::SUCCESS && cut) to << kCutMark;
  to.flush();
}

}  // namespace

std::string outcome_json(const process::Finished& finished, std::size_t most) {
  api::JsonObject out;
  out.integer("exit", finished.exit_code());
  add_output(out, "stdout", finished.outputs.at(0), most);
  add_output(out, "stderr", finished.outputs.at(1), most);
  return api::stored_as_json(out.finish());  // With the escapes that the API stores.
}

int print_outcome(const std::string& key, const api::Response& record) {
  const Result<api::Json> body = api::parse_json(record.body);
  if (!body) return kRefused;
  api::Json outcome;
  std::int64_t exit_code = 0;
  const bool failed = body->at_key("failure").get(outcome) == simdjson::SUCCESS;
  const bool known = failed || body->at_key("result").get(outcome) == simdjson::SUCCESS;
  std::cerr << "once run: '" << key << "' ran at " << text_in(*body, "completed_at").value_or("?")
            << " and is replayed until " << text_in(*body, "kept_until").value_or("?") << '\n';
  if (!known || outcome.at_key("exit").get(exit_code) != simdjson::SUCCESS) {
    // Completed by something other than `once run`.
    if (known && !outcome.is_null()) std::cout << api::to_line(outcome) << '\n';
    return failed ? kRefused : kDone;
  }
  print_output(outcome, "stdout", std::cout);
  print_output(outcome, "stderr", std::cerr);
  return static_cast<int>(exit_code);
}

std::string readable_record(api::Json record) {
  simdjson::dom::object members;
  if (record.get(members) != simdjson::SUCCESS) return api::to_line(record);
  api::JsonObject out;
  for (const auto& [name, value] : members) {
    std::int64_t exit_code = 0;
    const bool is_outcome = (name == "result" || name == "failure") &&
                            value.at_key("exit").get(exit_code) == simdjson::SUCCESS;
    if (!is_outcome) {
      out.raw(name, api::to_line(value));
      continue;
    }
    out.integer("exit", exit_code);
    for (const std::string part : {"stdout", "stderr"}) {
      std::optional<std::string> text = text_in(value, part);
      const std::string coded = text_in(value, part + "_base64").value_or("");
      if (!text) text = base64url_decode(coded);
      const bool is_text = text && api::is_utf8(*text);
      if (is_text && !text->empty()) out.text(part, *text);
      if (!is_text && !coded.empty()) out.text(part + "_base64", coded);
    }
  }
  return out.finish();
}

}  // namespace once::cli
