#include "testing/simulator/describe.h"

namespace once::testing {
namespace {

using namespace detail;

std::string kind_of(Write::Kind kind) {
  switch (kind) {
    case Write::Kind::put: return "put";
    case Write::Kind::add: return "add";
    case Write::Kind::raise: return "raise";
    case Write::Kind::erase: return "erase";
    case Write::Kind::check: return "check";
  }
  return "?";
}

std::string describe(const Guard& guard) {
  switch (guard.kind) {
    case Guard::Kind::anything: return "";
    case Guard::Kind::absent: return " if absent";
    case Guard::Kind::permanent: return " if permanent";
    case Guard::Kind::unchanged: return " if " + std::to_string(guard.version.number);
  }
  return "?";
}

std::string describe(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  return std::to_string(std::get<Bytes>(value).size()) + " bytes";
}

std::string describe(const std::optional<Item>& item) {
  if (!item) return "nothing";
  return describe(item->value) + " v" + std::to_string(item->version.number);
}

struct StepText {
  std::string operator()(std::monostate) const { return "starts"; }
  std::string operator()(const GetStep* step) const {
    return "get " + std::to_string(step->keys.size()) + " keys";
  }
  std::string operator()(const GetOneStep* step) const { return "get " + to_text(*step->key); }
  std::string operator()(const ScanStep* step) const {
    return "scan " + to_text({step->request->partition, step->request->first});
  }
  std::string operator()(const ListStep* step) const {
    return "list " + step->request->home_prefix;
  }
  std::string operator()(const CommitStep* step) const { return "commit" + text_of(step->writes); }
  std::string operator()(const CommitEachStep* step) const {
    std::string text = "commit each";
    for (const std::span<Write>& writes : step->transactions) text += text_of(writes) + ';';
    return text;
  }
  std::string operator()(const JoinStep* step) const {
    return "join " + to_text(step->member->queue());
  }
  std::string operator()(const PauseStep* step) const {
    return "pause " + std::to_string(step->length.count()) + " ms";
  }
  std::string operator()(const WaitStep* step) const { return "wait for " + to_text(*step->key); }

 private:
  static std::string text_of(std::span<const Write> writes) {
    std::string text;
    for (const Write& write : writes) text += " [" + testing::describe(write) + "]";
    return text;
  }
};

struct AnswerText {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(const GetStep* step) const { return kind(step->answer, "got"); }
  std::string operator()(const GetOneStep* step) const {
    return kind(step->answer, step->answer ? describe(*step->answer) : "");
  }
  std::string operator()(const ScanStep* step) const {
    return kind(step->answer,
                step->answer ? std::to_string(step->answer->entries.size()) + " entries" : "");
  }
  std::string operator()(const ListStep* step) const {
    return kind(step->answer,
                step->answer ? std::to_string(step->answer->items.size()) + " items" : "");
  }
  std::string operator()(const CommitStep* step) const { return text_of(step->answer); }
  std::string operator()(const CommitEachStep* step) const {
    if (!step->answer) return kind(step->answer, "");
    std::string text;
    for (const Result<CommitOutcome>& answer : *step->answer) text += text_of(answer) + ';';
    return text;
  }
  std::string operator()(const JoinStep* step) const { return kind(step->answer, "answered"); }
  std::string operator()(const PauseStep* step) const { return kind(step->answer, "over"); }
  std::string operator()(const WaitStep* step) const { return kind(step->answer, "over"); }

 private:
  static std::string text_of(const Result<CommitOutcome>& answer) {
    if (!answer) return kind(answer, "");
    if (committed(*answer)) return "committed";
    const Lost& lost = std::get<Lost>(*answer);
    return "lost write " + std::to_string(lost.write) + " to " + describe(lost.current);
  }
  template <class T>
  static std::string kind(const Result<T>& answer, const std::string& good) {
    return answer ? good : std::string(name_of(answer.error().code));
  }
};

}  // namespace

std::string describe(const Write& write) {
  std::string text = kind_of(write.kind) + ' ' + to_text(write.key);
  if (write.kind != Write::Kind::erase && write.kind != Write::Kind::check) {
    text += " = " + describe(write.value) + " v" + std::to_string(write.version.number);
  }
  return text + describe(write.guard);
}

std::string describe(const detail::Step& step) { return std::visit(StepText{}, step); }

std::string describe_answer(const detail::Step& step) { return std::visit(AnswerText{}, step); }

}  // namespace once::testing
