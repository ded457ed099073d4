#include "once/marked_store.h"
#include "primitives/keys.h"
#include "primitives/record.h"

namespace once {

StoreMark birth_mark(Time created) {
  RecordWriter record(RecordKind::birth, 1);
  record.time(created);
  return {keys::birth_mark(), record.finish()};
}

}  // namespace once
