#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <numeric>
#include <vector>

#include "cli/command.h"

namespace once::cli {
namespace {

// How many letters to insert, delete or replace to get from one name to the other.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (const char letter : from) {
    std::size_t diagonal = row[0]++;
    for (std::size_t i = 1; i < row.size(); ++i) {
      const std::size_t replaced = diagonal + (letter == to[i - 1] ? 0 : 1);
      diagonal = row[i];
      row[i] = std::min({replaced, row[i] + 1, row[i - 1] + 1});
    }
  }
  return row.back();
}

// Null unless some name is nearer to `name` than a new word would be.
const Command* nearest(std::string_view name) {
  const auto away = [&](const Command& command) { return distance(name, command.name); };
  const auto found = std::ranges::min_element(commands(), std::less{}, away);
  return away(*found) * 2 <= found->name.size() ? &*found : nullptr;
}

}  // namespace

std::span<const Command> commands() {
  static const std::array kCommands = {
      run_command::kCommand,    work_command::kCommand,       serve_command::kCommand,
      proxy_command::kCommand,  claim_command::kCommand,      seen_command::kCommand,
      log_command::kCommand,    doc_command::kCommand,        tally_command::kCommand,
      hot_command::kCommand,    token_command::kCommand,      table_command::kCommand,
      export_command::kCommand, import_command::kCommand,     checkpoint_command::kCommand,
      backup_command::kCommand, restore_command::kCommand,    verify_command::kCommand,
      doctor_command::kCommand, audit_command::kCommand,      bench_command::kCommand,
      demo_command::kCommand,   completion_command::kCommand, version_command::kCommand,
      help_command::kCommand,
  };
  return kCommands;
}

std::span<const Option> common_options() {
  static constexpr std::array kOptions = {
      Option{"store"},      Option{"namespace"},
      Option{"token"},      Option{"token-file"},
      Option{"ca"},         Option{"client-cert"},
      Option{"client-key"}, Option{"if-store-down"},
      Option{"config"},     Option{"json", Option::Kind::flag},
      Option{"field"},
  };
  return kOptions;
}

const Command* find_command(std::string_view name) {
  const auto found = std::ranges::find(commands(), name, &Command::name);
  return found != commands().end() ? &*found : nullptr;
}

int refuse_unknown(std::string_view name) {
  std::cerr << "once: there is no command '" << name << "'";
  if (const Command* meant = nearest(name)) std::cerr << "; did you mean '" << meant->name << "'?";
  std::cerr << "\nonce: 'once help' lists the commands\n";
  return kUsage;
}

int refuse_usage(std::string_view command, std::string_view problem) {
  const std::string_view first_word = command.substr(0, command.find(' '));
  std::cerr << "once " << command << ": " << problem << "; see 'once help " << first_word << "'\n";
  return kUsage;
}

}  // namespace once::cli
