package once

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

const mostOfFailure = 4096 // Bytes of a failure's text that are kept.

// How long an outcome is still recorded once the caller's context is over. Tests allow for more.
var whenInterrupted = 3 * time.Second

// RunOptions of a run. The zero value is good.
type RunOptions struct {
	Lease   time.Duration // 30s; renewed while the work runs.
	TTL     time.Duration // How long the outcome is kept: 24h; or KeepNothing.
	Wait    time.Duration // For another attempt's outcome; without it a busy key is ErrBusy at once.
	Payload any           // Another one under the same key is ErrMismatch.
	Owner   string        // A label for people; the client's without it.
}

// Outcome is what came of a key. Replayed: it had been done before, and nothing ran now.
type Outcome struct {
	Result      json.RawMessage
	Replayed    bool
	CompletedAt time.Time // Of a replay.
	Attempt     int64     // 0 of a replay.
	Fence       int64     // 0 of a replay.
}

// Decode reads the result.
func (o Outcome) Decode(into any) error { return json.Unmarshal(o.Result, into) }

// Work is what a run does. Its context ends when the lease is lost or the caller's context ends: then another attempt may
// hold the key, so stop. What it returns must be JSON.
type Work func(ctx context.Context, attempt *Attempt) (any, error)

// Run runs the work unless the key has an outcome, and records its result with the effects of the attempt in one commit.
//
// The lease is renewed while the work runs. If the work returns an error or panics, the key is free again, with the failure for
// the next attempt, and the error is returned. ErrBusy: another attempt runs for longer than Wait. ErrMismatch: the key has
// another payload. ErrFenced: the lease was lost. ErrFailed: the key failed for good, with Failure of the Error.
//
// Once the caller's context is over, the outcome of work that has ended is still recorded, for at most three seconds.
func (c *Client) Run(ctx context.Context, key string, options RunOptions, work Work) (outcome Outcome, err error) {
	ctx, end := c.span(ctx, "once.run", key)
	defer func() { end(err) }()
	r := &run{client: c, key: key, length: options.Lease, began: time.Now()}
	if r.length == 0 {
		r.length = defaultLease
	}
	taking := TakeOptions{
		Lease: r.length, TTL: options.TTL, Wait: options.Wait, Payload: options.Payload, Owner: options.Owner, Request: newID(),
	}
	ticket, finished, err := c.take(ctx, key, taking)
	if err != nil && ctx.Err() != nil && errors.Is(err, ErrUnknown) {
		r.withdraw(ctx, taking)
	}
	if err != nil {
		return Outcome{}, err
	}
	if finished != nil {
		return r.replay(finished)
	}
	held := newLease(ticket.asked, r.length)
	if err := r.freshen(ctx, ticket, held); err != nil {
		return Outcome{}, err
	}
	return r.perform(ctx, ticket, held, work)
}

// One run of a key.
type run struct {
	client *Client
	key    string
	length time.Duration // Of the lease.
	began  time.Time
}

func (r *run) tell(outcome string) {
	r.client.tell("run", map[string]any{"key": r.key, "outcome": outcome, "seconds": time.Since(r.began).Seconds()})
}

// The caller's context ended while the claim was taken: frees it. The same id gets the same ticket.
func (r *run) withdraw(ctx context.Context, taking TakeOptions) {
	ctx, cancel := afterwards(ctx)
	defer cancel()
	taking.Wait = 0
	if ticket, _, err := r.client.take(ctx, r.key, taking); err == nil && ticket != nil && ticket.Guarded {
		_ = r.client.release(ctx, r.key, ticket.Ticket, nil, false, nil)
	}
}

func (r *run) replay(found *Finished) (Outcome, error) {
	if found.Failed {
		r.tell("failed")
		return Outcome{}, r.failedForGood(found.Result)
	}
	r.tell("replayed")
	return Outcome{Result: found.Result, Replayed: true, CompletedAt: found.CompletedAt}, nil
}

func (r *run) failedForGood(why json.RawMessage) error {
	return &Error{Code: "failed", Detail: fmt.Sprintf("%q failed for good: %s", r.key, why), Failure: why}
}

// Nothing begins after the lease's end: one whose grant took long is renewed first.
func (r *run) freshen(ctx context.Context, ticket *Ticket, held *lease) error {
	if !ticket.Guarded || time.Now().Before(held.due()) {
		return nil
	}
	within := held.tryFor()
	if held.isOver() {
		within = shorter(r.length, longestRenewal)
	}
	asked := time.Now()
	err := r.client.renew(ctx, ticket.Key, ticket.Ticket, r.length, &within)
	if err == nil {
		held.renewed(asked)
	} else if !isUncertain(err) {
		return err
	}
	if ctx.Err() != nil {
		return caused("unavailable", ctx.Err(), "the work did not begin")
	}
	if held.isOver() {
		return failure("fenced", "the lease ended before the work could begin")
	}
	return nil
}

func isUncertain(err error) bool { return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnknown) }

func (r *run) perform(ctx context.Context, ticket *Ticket, held *lease, work Work) (Outcome, error) {
	inside, cancel := context.WithCancel(ctx)
	defer cancel()
	attempt := &Attempt{
		Key: ticket.Key, Fence: ticket.Fence, Attempt: ticket.Attempt, Previous: ticket.Previous, Effects: &Effects{},
		lease: held, lost: make(chan struct{}),
	}
	keeper := r.client.keep(inside, ticket, held, r.length, func(reason string) {
		attempt.lose()
		cancel()
		r.client.tell("lease_lost", map[string]any{"key": r.key, "reason": reason})
	})
	defer keeper.stop()
	if ticket.Guarded {
		attempt.preparing = func(ctx context.Context, result json.RawMessage) (string, map[string]any, error) {
			keeper.stop() // A renewal would make the token fail.
			if err := r.freshen(ctx, ticket, held); err != nil {
				return "", nil, err
			}
			body := map[string]any{"claim": &claimPart{ticket.Key, ticket.Ticket, result}}
			token, err := r.client.prepare(ctx, attempt.Effects, body)
			return token, body, err
		}
	}
	returned := false
	defer func() {
		if !returned { // It panics, or its goroutine ends: the key is free, and the panic goes on.
			_ = r.fail(ctx, ticket, attempt, errors.New("the work panicked"))
		}
	}()
	result, err := work(context.WithValue(inside, attemptKey{}, attempt), attempt)
	returned = true
	if gaveUp := attempt.gaveUp(); gaveUp != nil {
		return Outcome{}, r.giveUp(ctx, ticket, gaveUp)
	}
	if err != nil {
		return Outcome{}, r.fail(ctx, ticket, attempt, err)
	}
	return r.succeed(ctx, ticket, attempt, result)
}

// Records the result with the effects. The work is done, so it is tried for long.
//
// A commit that is refused because the claim is another's is not followed by a release: there is nothing to release. One
// that a condition of its own effects refuses frees the key, as work that fails does.
func (r *run) succeed(ctx context.Context, ticket *Ticket, attempt *Attempt, result any) (Outcome, error) {
	ctx, cancel := afterwards(ctx)
	defer cancel()
	encoded, err := encode(result)
	if attempt.prepared != nil {
		encoded, err = attempt.prepared.result, r.checkApplied(ctx, attempt.prepared)
	} else if err == nil {
		err = r.record(ctx, ticket, attempt.Effects, encoded)
	}
	if err == nil {
		r.tell("executed")
		return Outcome{Result: encoded, Attempt: attempt.Attempt, Fence: attempt.Fence}, nil
	}
	var refused *Error
	if !errors.As(err, &refused) {
		refused = caused("unknown", err, "the result was not recorded")
	}
	switch refused.Code {
	case "too_large", "unsupported", "corrupt": // It can never be stored.
		r.release(ctx, ticket, attempt, "the outcome could not be stored: "+refused.Error(), true)
	case "fenced", "unknown", "unavailable", "overloaded":
	case "mismatch": // Of the claim: another result was recorded by this ticket, and nothing is left to release.
		if refused.Part != "" && refused.Part != "claim" {
			r.release(ctx, ticket, attempt, refused.Error(), false)
		}
	default:
		r.release(ctx, ticket, attempt, refused.Error(), false)
	}
	r.tell(refused.Code)
	return Outcome{}, refused
}

// To commit it here would leave out what else was in the transaction of the work.
func (r *run) checkApplied(ctx context.Context, made *prepared) error {
	applied := false
	var err error
	if made.body != nil {
		applied, err = r.client.wasApplied(ctx, made.body)
	}
	if err == nil && !applied {
		err = invalid("what was prepared was not applied")
	}
	return err
}

func (r *run) record(ctx context.Context, ticket *Ticket, effects *Effects, result json.RawMessage) error {
	if !ticket.Guarded {
		// The store was down when it began. Effects are tried once more; a result has no key.
		if effects.isEmpty() {
			return effects.err
		}
		_, err := r.client.commit(ctx, effects, "", nil)
		return err
	}
	if effects.isEmpty() && effects.err == nil {
		_, err := r.client.recordResult(ctx, ticket.Key, ticket.Ticket, result)
		return err
	}
	_, err := r.client.commit(ctx, effects, "", &claimPart{ticket.Key, ticket.Ticket, result})
	return err
}

// The work failed: frees the key with its failure. A lost claim has nothing to free.
func (r *run) fail(ctx context.Context, ticket *Ticket, attempt *Attempt, err error) error {
	if attempt.isLost() {
		r.tell("fenced")
		return caused("fenced", err, "the lease was lost, and another attempt may hold the key")
	}
	r.tell("failed")
	ctx, cancel := afterwards(ctx)
	defer cancel()
	r.release(ctx, ticket, attempt, err.Error(), false)
	return err
}

// Stores the failure as the outcome, and returns it.
func (r *run) giveUp(ctx context.Context, ticket *Ticket, gaveUp *gaveUp) error {
	ctx, cancel := afterwards(ctx)
	defer cancel()
	encoded, err := encode(gaveUp.failure)
	if err != nil {
		encoded, _ = encode(fmt.Sprint(gaveUp.failure))
	}
	if ticket.Guarded {
		if err := r.client.release(ctx, ticket.Key, ticket.Ticket, encoded, true, nil); err != nil {
			r.tell("not_recorded")
			return err
		}
	}
	r.tell("gave_up")
	return r.failedForGood(encoded)
}

// What it cannot free becomes free by itself when the lease ends.
func (r *run) release(ctx context.Context, ticket *Ticket, attempt *Attempt, why string, final bool) {
	left := attempt.lease.left()
	if !ticket.Guarded || (left <= 0 && !final) {
		return
	}
	var within *time.Duration
	if !final {
		bounded := shorter(left, r.client.options.Patience)
		within = &bounded
	}
	encoded, _ := encode(strings.ToValidUTF8(why[:least(len(why), mostOfFailure)], ""))
	if err := r.client.release(ctx, ticket.Key, ticket.Ticket, encoded, final, within); err != nil {
		var refused *Error
		code := ""
		if errors.As(err, &refused) {
			code = refused.Code
		}
		r.client.tell("not_released", map[string]any{"key": ticket.Key, "code": code})
	}
}

// A context with the values of ctx, which goes on for a while after ctx ended.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	going, cancel := context.WithCancel(detached{ctx})
	over := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
			if sleep(going, whenInterrupted) {
				cancel()
			}
		case <-over:
		}
	}()
	return going, func() { close(over); cancel() }
}

// The values of a context, without its end.
type detached struct{ context.Context }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }
