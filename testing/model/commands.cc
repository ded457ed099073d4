#include "testing/model/commands.h"

#include <array>
#include <limits>
#include <ostream>

namespace once::testing {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// The whole range. RapidCheck would otherwise give short sequences only a few values.
rc::Gen<std::size_t> between(std::size_t first, std::size_t end) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(first, end));
}
rc::Gen<std::size_t> below(std::size_t end) { return between(0, end); }

// Chosen so that most commits succeed and the others fail in every way.
rc::Gen<WriteChoice> any_write() {
  using rc::gen::element;
  using rc::gen::set;
  using rc::gen::weightedElement;
  return rc::gen::build<WriteChoice>(
      set(&WriteChoice::kind, weightedElement<Write::Kind>({{4, Write::Kind::put},
                                                            {2, Write::Kind::add},
                                                            {2, Write::Kind::raise},
                                                            {2, Write::Kind::erase},
                                                            {1, Write::Kind::check}})),
      set(&WriteChoice::key, below(model_keys().size())),
      set(&WriteChoice::guard, weightedElement<GuardChoice>({{4, GuardChoice::anything},
                                                             {2, GuardChoice::absent},
                                                             {4, GuardChoice::current},
                                                             {1, GuardChoice::seen_earlier},
                                                             {1, GuardChoice::permanent}})),
      set(&WriteChoice::earlier, below(50)), set(&WriteChoice::value, below(model_values().size())),
      set(&WriteChoice::expiry,
          element(ExpiryChoice::never, ExpiryChoice::never, ExpiryChoice::past, ExpiryChoice::soon,
                  ExpiryChoice::later)));
}

rc::Gen<TransactionChoice> any_transaction() {
  const auto of = [](std::size_t writes) {
    return rc::gen::container<TransactionChoice>(writes, any_write());
  };
  return rc::gen::weightedOneOf<TransactionChoice>({{6, of(1)}, {3, of(2)}, {1, of(4)}});
}

rc::Gen<Command> any_command() {
  using Kind = Command::Kind;
  using rc::gen::set;
  return rc::gen::build<Command>(
      set(&Command::kind, rc::gen::weightedElement<Kind>({{6, Kind::commit},
                                                          {4, Kind::commit_each},
                                                          {2, Kind::scan},
                                                          {1, Kind::list},
                                                          {1, Kind::sweep},
                                                          {3, Kind::pass}})),
      set(&Command::transactions,
          rc::gen::resize(6,
                          rc::gen::container<std::vector<TransactionChoice>>(any_transaction()))),
      set(&Command::at, below(model_keys().size())),
      set(&Command::first, below(model_bounds().size())),
      set(&Command::last, below(model_bounds().size())),
      set(&Command::direction, rc::gen::element(Direction::ascending, Direction::descending)),
      set(&Command::limit, between(1, 6)), set(&Command::amount, below(40)));
}

void show(std::ostream& out, const WriteChoice& write) {
  constexpr std::array kKinds = {"put", "add", "raise", "erase", "check"};
  constexpr std::array kGuards = {"anything", "absent", "current", "seen earlier", "permanent"};
  constexpr std::array kExpiries = {"never", "past", "soon", "later"};
  out << kKinds.at(static_cast<std::size_t>(write.kind)) << ' ' << to_text(model_keys()[write.key])
      << " if " << kGuards.at(static_cast<std::size_t>(write.guard)) << '(' << write.earlier
      << ") value " << write.value << " expiry "
      << kExpiries.at(static_cast<std::size_t>(write.expiry)) << "; ";
}

}  // namespace

const std::vector<Key>& model_keys() {
  static const std::vector<Key> keys = {{{"h", ""}, 0},  {{"h", ""}, 1},  {{"h", ""}, kMax},
                                        {{"h", "p"}, 0}, {{"hp", ""}, 0}, {{"hp", ""}, 7}};
  return keys;
}

const std::vector<Value>& model_values() {
  static const std::vector<Value> values = {std::int64_t{1},
                                            std::int64_t{-2},
                                            std::int64_t{0},
                                            kMax,
                                            std::numeric_limits<std::int64_t>::min(),
                                            Bytes(),
                                            Bytes("text"),
                                            Bytes(20, '\0')};
  return values;
}

const std::vector<std::int64_t>& model_bounds() {
  static const std::vector<std::int64_t> bounds = {0, 1, 2, 7, 8, kMax - 1, kMax};
  return bounds;
}

rc::Gen<std::vector<Command>> any_commands() {
  return rc::gen::container<std::vector<Command>>(any_command());
}

std::ostream& operator<<(std::ostream& out, const Command& command) {
  constexpr std::array kKinds = {"commit", "commit_each", "scan", "list", "sweep", "pass"};
  out << '\n' << kKinds.at(static_cast<std::size_t>(command.kind));
  if (command.kind == Command::Kind::commit || command.kind == Command::Kind::commit_each) {
    for (const TransactionChoice& transaction : command.transactions) {
      out << " {";
      for (const WriteChoice& write : transaction) show(out, write);
      out << '}';
    }
    return out;
  }
  return out << " at " << to_text(model_keys()[command.at]) << " bounds " << command.first << ' '
             << command.last << (command.direction == Direction::ascending ? " up" : " down")
             << " limit " << command.limit << " amount " << command.amount;
}

}  // namespace once::testing
