#include "cli/man.h"

#include <algorithm>
#include <vector>

namespace once::cli {
namespace {

// Text as roff takes it: no line is a request, and a hyphen can be copied from the page.
std::string roff(std::string_view line) {
  std::string out;
  if (line.starts_with('.') || line.starts_with('\'')) out = "\\&";
  for (const char letter : line) {
    switch (letter) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      default: out += letter;
    }
  }
  return out;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Paragraphs are filled; what is indented keeps its lines.
void add_text(std::string_view text, std::string& page) {
  bool is_first = true;
  bool is_kept = false;
  bool begins = true;
  for (const std::string_view line : lines_of(text)) {
    if (line.empty()) {
      begins = true;
      continue;
    }
    const bool keeps = line.starts_with(' ');
    if (is_kept && !keeps) page += ".fi\n";
    if (begins && !is_first) page += ".PP\n";
    if (keeps && !is_kept) page += ".nf\n";
    is_kept = keeps;
    is_first = begins = false;
    page += roff(line) + "\n";
  }
  if (is_kept) page += ".fi\n";
}

void add_kept(std::string_view text, std::string& page) {
  page += ".nf\n";
  for (const std::string_view line : lines_of(text)) page += roff(line) + "\n";
  page += ".fi\n";
}

std::string heading(std::string_view name, std::string_view summary) {
  std::string upper(name);
  for (char& letter : upper) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return ".TH " + roff(upper) + " 1 \"\" \"once " ONCE_VERSION "\" \"Once\"\n.SH NAME\n" +
         roff(name) + " \\- " + roff(summary) + "\n";
}

}  // namespace

std::string main_page(std::string_view overview) {
  std::string page = heading("once", "effects that happen once");
  page += ".SH SYNOPSIS\n.B once\n.I COMMAND\n[\\fIARGUMENTS\\fR]\n.SH DESCRIPTION\n";
  const std::size_t commands = overview.find("\n  ");
  add_text(overview.substr(std::min(commands, overview.size())), page);
  page += ".SH SEE ALSO\n";
  std::string_view comma;
  for (const Command& command : cli::commands()) {
    page.append(comma).append(".BR once\\-").append(command.name).append(" (1)");
    comma = ",\n";
  }
  return page += "\n";
}

std::string page_of(const Command& command) {
  constexpr std::string_view kUsageMark = "Usage: ";
  constexpr std::string_view kExample = "\nExample:\n";
  std::string page = heading("once-" + std::string(command.name), command.summary);
  std::string_view help = command.help;
  if (help.starts_with(kUsageMark)) {
    const std::size_t end = std::min(help.find("\n\n"), help.size());
    page += ".SH SYNOPSIS\n";
    std::string usage(help.substr(0, end));
    usage.replace(0, kUsageMark.size(), kUsageMark.size(), ' ');
    add_kept(usage, page);
    help.remove_prefix(end);
  }
  const std::size_t example = std::min(help.find(kExample), help.size());
  page += ".SH DESCRIPTION\n";
  add_text(help.substr(0, example), page);
  if (example < help.size()) {
    page += ".SH EXAMPLES\n";
    add_kept(help.substr(example + kExample.size()), page);
  }
  return page +=
         ".SH SEE ALSO\n.BR once (1)\nfor the options that every command takes, and exit codes.\n";
}

}  // namespace once::cli
