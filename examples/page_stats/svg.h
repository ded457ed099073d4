// The few shapes that a chart is made of.
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

namespace page_stats {

// What stands for itself in XML. Control characters have no place in it.
inline std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
  }
  return out;
}

// At most so many characters of UTF-8, with an ellipsis in place of the rest.
inline std::string shortened(std::string_view text, std::size_t most) {
  std::size_t characters = 0;
  std::size_t cut = 0;  // Where the last one that may stay before an ellipsis ends.
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;
    if (++characters == most) cut = i;
  }
  return characters <= most ? std::string(text) : std::string(text.substr(0, cut)).append("…");
}

struct Point {
  double x;
  double y;
};

class Svg {
 public:
  Svg(double width, double height, std::string_view title) {
    const std::string w = number(width);
    const std::string h = number(height);
    text_ = R"(<svg xmlns="http://www.w3.org/2000/svg" role="img" width=")" + w + R"(" height=")" +
            h + R"(" viewBox="0 0 )" + w + " " + h +
            R"(" font-family="Inter, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif">)" +
            "\n<title>" + escaped(title) + "</title>\n";
    rectangle({0, 0}, {width, height}, R"(fill="#ffffff")");
  }

  // `style` is attributes of SVG.
  void rectangle(Point at, Point size, const std::string& style) {
    text_ += "<rect x=\"" + number(at.x) + "\" y=\"" + number(at.y) + "\" width=\"" +
             number(size.x) + "\" height=\"" + number(size.y) + "\" " + style + "/>\n";
  }
  void line(Point from, Point to, const std::string& style) {
    text_ += "<line x1=\"" + number(from.x) + "\" y1=\"" + number(from.y) + "\" x2=\"" +
             number(to.x) + "\" y2=\"" + number(to.y) + "\" " + style + "/>\n";
  }
  void circle(Point at, double radius, const std::string& style) {
    text_ += "<circle cx=\"" + number(at.x) + "\" cy=\"" + number(at.y) + "\" r=\"" +
             number(radius) + "\" " + style + "/>\n";
  }
  void path(const std::string& steps, const std::string& style) {
    text_ += "<path d=\"" + steps + "\" " + style + "/>\n";
  }
  void text(Point at, std::string_view words, const std::string& style) {
    text_ += "<text x=\"" + number(at.x) + "\" y=\"" + number(at.y) + "\" " + style + ">" +
             escaped(words) + "</text>\n";
  }
  void raw(std::string_view markup) { text_ += markup; }

  std::string finish() && { return std::move(text_) + "</svg>\n"; }

  static std::string number(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f", value);
    return text.data();
  }

 private:
  std::string text_;
};

}  // namespace page_stats
