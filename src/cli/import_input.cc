#include "cli/import_input.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/lines.h"

namespace once::cli {
namespace {

constexpr Lines::Room kRoom = {.lines = 1'000, .bytes = 4U << 20};

std::unexpected<Error> bad_input(std::string problem) {
  return failure(ErrorCode::invalid, std::move(problem));
}

std::unexpected<Error> cannot_keep() {
  const std::string why = std::error_code(errno, std::generic_category()).message();
  return failure(ErrorCode::denied, "the input cannot be kept in a temporary file: " + why);
}

// One reading of an export from its first line to its last.
class Reading {
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

}  // namespace

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
  Reading reading;
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
  Reading reading;
  const Result<void> ok = each_line(file, [&](const std::string& line) -> Result<void> {
    Result<std::optional<ItemLine>> item = reading.take(line);
    if (!item) return std::unexpected(item.error());
    return *item ? on_item(**item, line) : Result<void>();
  });
  if (!ok) return ok;
  const Result<LastLine> last = reading.finish();
  return last ? Result<void>() : std::unexpected(last.error());
}

}  // namespace once::cli
