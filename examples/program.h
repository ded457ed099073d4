// What the examples' programs have in common: they exit with 0 if all is well, with 1 if something
// is not and with 2 if they were asked for something that is not there, and say why.
#pragma once

#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#include "arguments.h"
#include "once/error.h"

namespace examples {

// Prints a whole line at once; safe from several threads.
inline void say(const std::string& line) { std::cout << (line + "\n") << std::flush; }

class Program {
 public:
  constexpr Program(std::string_view name, std::string_view help) : name_(name), help_(help) {}

  // `run` takes the Arguments and answers the exit status.
  template <class Run>
  int main(int argc, char** argv, Run run) const {
    try {
      Arguments arguments(argc, argv);
      if (!arguments.flag("--help") && !arguments.flag("-h")) return run(arguments);
      std::cout << help_;
      return 0;
    } catch (const BadUsage& wrong) {
      const std::string name(name_);
      complain(std::string(wrong.what()).append("; see ").append(name).append(" --help"));
      return 2;
    } catch (const std::exception& error) {
      complain(error.what());
      return 1;
    }
  }

  // The exit status after that.
  int fail(const once::Error& error) const {
    complain(error.message);
    return 1;
  }
  int status_of(const once::Result<void>& done) const { return done ? 0 : fail(done.error()); }
  int status_of(const once::Result<bool>& right) const {
    if (!right) return fail(right.error());
    return *right ? 0 : 1;
  }

 private:
  void complain(const std::string& why) const {
    std::cerr << std::string(name_).append(": ").append(why).append("\n") << std::flush;
  }

  std::string_view name_;
  std::string_view help_;
};

}  // namespace examples
