#include "testing/model/check_model.h"

#include "testing/model/comparison.h"
#include "testing/property.h"

namespace once::testing {

void check_model(int cases, ManualClock& clock,
                 const std::function<std::shared_ptr<Store>()>& fresh) {
  check_property(cases, [&] {
    const std::vector<Command> commands = *any_commands();
    const std::shared_ptr<Store> store = fresh();
    Comparison comparison(*store, clock);
    for (const Command& command : commands) comparison.run(command);
  });
}

}  // namespace once::testing
