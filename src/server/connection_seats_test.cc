#include "server/connection_seats.h"

#include <gtest/gtest.h>

namespace once::server {
namespace {

boost::asio::ip::address ip(const char* text) { return boost::asio::ip::make_address(text); }

TEST(ConnectionSeats, AreCountedForEachAddressUntilTheyAreLeft) {
  ConnectionSeats seats;
  ConnectionSeats::Seat first = seats.enter(ip("192.0.2.1"));
  {
    const ConnectionSeats::Seat second = seats.enter(ip("192.0.2.1"));
    const ConnectionSeats::Seat other = seats.enter(ip("192.0.2.2"));
    EXPECT_EQ(seats.all(), 3U);
    EXPECT_EQ(seats.from(ip("192.0.2.1")), 2U);
    EXPECT_EQ(seats.from(ip("192.0.2.2")), 1U);
  }
  EXPECT_EQ(seats.from(ip("192.0.2.2")), 0U);
  first.leave();
  first.leave();
  EXPECT_EQ(seats.all(), 0U);
  EXPECT_EQ(seats.from(ip("192.0.2.1")), 0U);
}

// One machine has a whole network of IPv6, and an IPv4 address looks like an IPv6 one where both
// come to one port.
TEST(ConnectionSeats, ANetworkOfIpv6IsOneAddressAndSoIsAMappedIpv4One) {
  ConnectionSeats seats;
  const ConnectionSeats::Seat a = seats.enter(ip("2001:db8:1:2::1"));
  const ConnectionSeats::Seat b = seats.enter(ip("2001:db8:1:2:ffff::9"));
  const ConnectionSeats::Seat c = seats.enter(ip("2001:db8:1:3::1"));
  const ConnectionSeats::Seat d = seats.enter(ip("192.0.2.1"));
  const ConnectionSeats::Seat e = seats.enter(ip("::ffff:192.0.2.1"));
  EXPECT_EQ(seats.from(ip("2001:db8:1:2::77")), 2U);
  EXPECT_EQ(seats.from(ip("2001:db8:1:3::77")), 1U);
  EXPECT_EQ(seats.from(ip("192.0.2.1")), 2U);
}

}  // namespace
}  // namespace once::server
