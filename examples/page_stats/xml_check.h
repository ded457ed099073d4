// Whether a text is well-formed XML, as far as a picture needs it: elements, attributes, text and
// the entities that XML itself has.
#pragma once

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace page_stats {

class XmlCheck {
 public:
  explicit XmlCheck(std::string_view text) : text_(text) {}

  // What is wrong; "" if nothing is.
  std::string fault() {
    while (fault_.empty() && at_ < text_.size()) {
      if (!take("<")) {
        content('<');
      } else if (take("/")) {
        if (open_.empty() || name() != open_.back()) return fail("an end of what is not open");
        open_.pop_back();
        skip_space();
        if (!take(">")) return fail("an end that does not end");
      } else {
        element();
      }
    }
    if (fault_.empty() && !open_.empty()) return fail(open_.back() + " does not end");
    if (fault_.empty() && roots_ != 1) return fail("there is not one root");
    return fault_;
  }

 private:
  std::string fail(const std::string& why) {
    if (fault_.empty()) fault_ = why + ", before: " + std::string(text_.substr(at_, 60));
    return fault_;
  }
  bool take(std::string_view what) {
    if (text_.substr(at_, what.size()) != what) return false;
    at_ += what.size();
    return true;
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  std::string name() {
    const std::size_t from = at_;
    const auto is_part = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == ':' || c == '_';
    };
    while (at_ < text_.size() && is_part(text_[at_])) ++at_;
    if (at_ == from) fail("no name");
    return std::string(text_.substr(from, at_ - from));
  }

  // Text or a value, up to `end`.
  void content(char end) {
    for (; at_ < text_.size() && text_[at_] != end; ++at_) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '<' || c == 0x7f || (c < 0x20 && c != '\n')) fail("a character that cannot be");
      if (open_.empty() && end == '<' && std::isspace(c) == 0) fail("text outside of all");
      if (c == '&') entity();
    }
  }
  void entity() {
    for (const char* const known : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"}) {
      if (text_.substr(at_).starts_with(known)) return;
    }
    fail("an entity that nobody knows");
  }

  void element() {
    const std::string element = name();
    if (open_.empty()) ++roots_;
    std::set<std::string> attributes;
    for (;;) {
      skip_space();
      if (take("/>")) return;
      if (take(">")) return open_.push_back(element);
      if (!attributes.insert(name()).second) fail("an attribute twice");
      if (!take("=\"")) fail("an attribute without a value");
      content('"');
      if (!take("\"")) fail("a value that does not end");
      if (!fault_.empty()) return;
    }
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;
  int roots_ = 0;
  std::string fault_;
};

inline std::string xml_fault(std::string_view text) { return XmlCheck(text).fault(); }

}  // namespace page_stats
