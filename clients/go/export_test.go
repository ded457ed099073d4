package once

import "time"

// RecordInterruptedFor sets how long an outcome is still recorded once the caller's context is over: a machine that runs tests may
// stall for longer than users are made to wait.
func RecordInterruptedFor(within time.Duration) { whenInterrupted = within }
