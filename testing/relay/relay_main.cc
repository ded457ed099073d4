// relay PORT EVERY: stands before the server on that loopback port, and loses every EVERYth answer:
// the server has done what was asked, and the connection is closed. Prints its own port, and ends
// with its standard input. For tests in other languages.
#include <cstdlib>
#include <iostream>
#include <string>

#include "testing/relay/relay.h"

int main(int argc, char** argv) {
  using namespace once::testing;
  if (argc != 3) return EXIT_FAILURE;
  const auto port = static_cast<std::uint16_t>(std::stoul(argv[1]));
  const std::size_t every = std::stoul(argv[2]);
  Relay relay(port, [every](const RelayedRequest& request) -> Fault {
    if (every > 0 && request.number % every == every - 1) return DropReply{};
    return Pass{};
  });
  std::cout << relay.port() << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  return EXIT_SUCCESS;
}
