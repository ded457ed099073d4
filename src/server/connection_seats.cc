#include "server/connection_seats.h"

namespace once::server {

ConnectionSeats::Machine ConnectionSeats::machine_of(const boost::asio::ip::address& address) {
  namespace ip = boost::asio::ip;
  constexpr Machine kIpv4 = Machine{1} << 32;  // No network of IPv6 begins like that.
  if (address.is_v4()) return kIpv4 | address.to_v4().to_uint();
  const ip::address_v6 whole = address.to_v6();
  if (whole.is_v4_mapped()) return kIpv4 | ip::make_address_v4(ip::v4_mapped, whole).to_uint();
  const auto bytes = whole.to_bytes();
  Machine number = 0;
  for (std::size_t i = 0; i < sizeof(number); ++i) number = (number << 8) | bytes[i];
  return number != 0 ? number : 1;
}

ConnectionSeats::Seat ConnectionSeats::enter(const boost::asio::ip::address& address) {
  const Machine machine = machine_of(address);
  ++all_;
  const Lock lock(mutex_);
  ++machines_[machine];
  return {*this, machine};
}

void ConnectionSeats::leave(Machine machine) {
  --all_;
  const Lock lock(mutex_);
  const auto found = machines_.find(machine);
  if (--found->second == 0) machines_.erase(found);
}

std::size_t ConnectionSeats::from(const boost::asio::ip::address& address) const {
  const Lock lock(mutex_);
  const auto found = machines_.find(machine_of(address));
  return found != machines_.end() ? found->second : 0;
}

}  // namespace once::server
