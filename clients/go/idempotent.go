package once

import (
	"context"
	"encoding/json"
)

// Idempotent makes a function that runs once for each key, and whose repeats get its result. CurrentAttempt(ctx) is the
// attempt, inside. The first call gets its result as it comes back from JSON, like every repeat.
//
//	pay := once.Idempotent(client, func(i Invoice) string { return "invoice-" + i.ID }, charge)
//	receipt, err := pay(ctx, invoice)
//
// A Payload of the options that is a func(In) any is called with the argument. What Idempotent returns is what lambda.Start
// takes as a handler, too.
func Idempotent[In, Out any](
	client *Client, key func(In) string, work func(context.Context, In) (Out, error), options ...RunOptions,
) func(context.Context, In) (Out, error) {
	var given RunOptions
	if len(options) > 0 {
		given = options[0]
	}
	return func(ctx context.Context, in In) (out Out, err error) {
		given := given
		if payload, is := given.Payload.(func(In) any); is {
			given.Payload = payload(in)
		}
		outcome, err := client.Run(ctx, key(in), given, func(ctx context.Context, _ *Attempt) (any, error) {
			return work(ctx, in)
		})
		if err != nil {
			return out, err
		}
		if err := json.Unmarshal(outcome.Result, &out); err != nil {
			return out, caused("invalid", err, "the result of %q is of another type", key(in))
		}
		return out, nil
	}
}
