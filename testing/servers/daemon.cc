#include "testing/servers/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include "testing/loopback.h"

namespace once::testing {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {
    if (descriptor_ < 0) std::abort();
  }
  ~Descriptor() { ::close(descriptor_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  const int descriptor_;
};

int new_socket() { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Between fork and exec, in a copy of a program with threads: only what is safe in a signal
// handler.
[[noreturn]] void become(char* const* argv, const char* directory, int log, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (::getppid() != parent || ::chdir(directory) != 0 || nothing < 0) ::_exit(127);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execvp(argv[0], argv);
  ::_exit(127);
}

}  // namespace

std::uint16_t free_port() {
  const Descriptor socket(new_socket());
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof(address);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), name, length) != 0 || ::getsockname(socket.get(), name, &length) != 0) {
    std::abort();
  }
  return ntohs(address.sin_port);
}

bool answers_http(std::uint16_t port) {
  const Descriptor socket(new_socket());
  const timeval patience{.tv_sec = 2, .tv_usec = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  const sockaddr_in address = loopback(port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return false;
  }
  constexpr std::string_view kRequest =
      "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (::send(socket.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL) < 0) return false;
  std::array<char, 5> answer{};
  return ::recv(socket.get(), answer.data(), answer.size(), MSG_WAITALL) == 5 &&
         std::string_view(answer.data(), 5) == "HTTP/";
}

std::string output_of(const std::string& line) {
  std::string said;
  FILE* const out = ::popen(line.c_str(), "r");
  if (out == nullptr) std::abort();
  std::array<char, 4096> room{};
  while (std::fgets(room.data(), room.size(), out) != nullptr) said += room.data();
  ::pclose(out);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return said;
}

bool installed(const std::string& program) {
  std::istringstream path(variable("PATH"));
  for (std::string directory; std::getline(path, directory, ':');) {
    if (::access((directory + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::filesystem::path servers_directory() {
  if (const std::string own = variable("ONCE_TEST_SERVERS"); !own.empty()) return own;
  const std::string cache = variable("XDG_CACHE_HOME");
  return std::filesystem::path(cache.empty() ? variable("HOME") + "/.cache" : cache) /
         "once-test-servers";
}

Daemon::Daemon(const std::string& program, const std::vector<std::string>& arguments,
               std::filesystem::path directory)
    : directory_(std::move(directory)) {
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int log =
      ::open((directory_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  began_ = log < 0 ? 0 : static_cast<std::size_t>(::lseek(log, 0, SEEK_END));
  const pid_t parent = ::getpid();
  pid_ = log < 0 ? -1 : ::fork();
  if (pid_ == 0) become(argv.data(), directory_.c_str(), log, parent);
  if (pid_ < 0) std::abort();
  ::close(log);
}

bool Daemon::alive() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = 0;
  return pid_ > 0;
}

void Daemon::kill() {
  if (!alive()) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

bool Daemon::says(const std::string& text) {
  if (!alive()) return false;
  const Descriptor end(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  const Descriptor growth(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (::inotify_add_watch(growth.get(), (directory_ / "log").c_str(), IN_MODIFY) < 0) std::abort();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (log().find(text, began_) == std::string::npos) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (!alive() || left.count() <= 0) return false;
    std::array<pollfd, 2> watched = {pollfd{end.get(), POLLIN, 0}, {growth.get(), POLLIN, 0}};
    (void)::poll(watched.data(), watched.size(), static_cast<int>(left.count()));
    std::array<char, 4096> told{};
    while (::read(growth.get(), told.data(), told.size()) > 0) continue;
  }
  return alive();
}

std::string Daemon::log() const {
  std::ifstream file(directory_ / "log");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace once::testing
