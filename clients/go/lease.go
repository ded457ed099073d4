package once

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

const longestRenewal = 30 * time.Second // Of one try: one whose answer never comes is not the only one.

// Counts down by the monotonic clock from the moment at which the lease was asked for. The server began to count no
// earlier, so the lease is never believed in for longer than the server does, however long the answer took
// (docs/hazards.md#h38).
type lease struct {
	length time.Duration
	mutex  sync.Mutex
	until  time.Time // Guarded.
	next   time.Time // Guarded: the next renewal; two of them may fail.
}

func newLease(asked time.Time, length time.Duration) *lease {
	l := &lease{length: length}
	l.renewed(asked)
	return l
}

func (l *lease) renewed(asked time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.until, l.next = asked.Add(l.length), asked.Add(l.length/3)
}

// Tries again after a pause, but no later than its end.
func (l *lease) failed(pause time.Duration) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.next = time.Now().Add(pause); l.next.After(l.until) {
		l.next = l.until
	}
}

func (l *lease) due() time.Time {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.next
}

func (l *lease) left() time.Duration {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return time.Until(l.until)
}

func (l *lease) isOver() bool { return l.left() <= 0 }

// How long one try to renew may take.
func (l *lease) tryFor() time.Duration {
	return longer(shortestTry, shorter(l.left(), shorter(longer(time.Second, l.length/4), longestRenewal)))
}

// Attempt is one attempt at a key: what the work may know of it.
type Attempt struct {
	Key      string
	Fence    int64     // Only rises for a key. Give it to what you call outside, to refuse a stale one.
	Attempt  int64     // Counts from 1.
	Previous *Previous // What the attempt before left behind, if it failed.
	Effects  *Effects  // Committed with the result, or not at all.

	preparing func(ctx context.Context, result json.RawMessage) (string, map[string]any, error)
	prepared  *prepared // The work's own.

	lease *lease
	lost  chan struct{}
	once  sync.Once

	mutex  sync.Mutex
	giving *gaveUp // Guarded.
}

// Lost is closed when the lease is lost: another attempt may hold the key. The work's context ends then, too.
func (a *Attempt) Lost() <-chan struct{} { return a.lost }

// Check is ErrFenced if the lease is lost, else nil.
func (a *Attempt) Check() error {
	if a.isLost() || a.lease.isOver() {
		return failure("fenced", "the lease was lost, and another attempt may hold the key")
	}
	return nil
}

// LeaseLeft is how long the lease lasts, as far as is known here.
func (a *Attempt) LeaseLeft() time.Duration { return a.lease.left() }

// Prepare makes a token of the result and the effects, for `select once.apply($1)` in a transaction of your own.
//
// They happen if that transaction commits, and only then: what the work returns is not recorded, and work that ends without it has
// failed. The token is empty if an earlier one of this attempt was applied. Apply it within seconds: the lease is not renewed any
// more, except by the next call. Only on a store on PostgreSQL.
func (a *Attempt) Prepare(ctx context.Context, result any) (string, error) {
	if a.preparing == nil {
		return "", failure("unavailable", "the store was down when the work began, so nothing can be prepared")
	}
	encoded, err := encode(result)
	if err != nil {
		return "", err
	}
	a.prepared = &prepared{result: encoded}
	token, body, err := a.preparing(ctx, encoded)
	if err == nil {
		a.prepared.body = body
	}
	return token, err
}

// What is recorded by a transaction of the work's own, or not at all.
type prepared struct {
	result json.RawMessage
	body   map[string]any // Of the last token.
}

// GiveUp stores the failure, any JSON, as the outcome: nobody tries this key again. The work returns what this returns:
//
//	return nil, a.GiveUp("no such card")
func (a *Attempt) GiveUp(failure any) error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.giving = &gaveUp{failure}
	return a.giving
}

type gaveUp struct{ failure any }

func (g *gaveUp) Error() string { return fmt.Sprintf("gave up: %v", g.failure) }

func (a *Attempt) gaveUp() *gaveUp {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.giving
}

func (a *Attempt) lose() { a.once.Do(func() { close(a.lost) }) }

func (a *Attempt) isLost() bool {
	select {
	case <-a.lost:
		return true
	default:
		return false
	}
}

type attemptKey struct{}

// CurrentAttempt is the attempt whose work the context belongs to, or nil outside of one.
func CurrentAttempt(ctx context.Context) *Attempt {
	attempt, _ := ctx.Value(attemptKey{}).(*Attempt)
	return attempt
}

// Renews the lease of one claim from its first third on. Until then it costs a timer, and no goroutine.
type keeper struct {
	client *Client
	ticket *Ticket
	lease  *lease
	length time.Duration // That is asked for, which may be more than the lease that is believed in.
	lost   func(reason string)

	context context.Context
	cancel  context.CancelFunc
	begin   *time.Timer
	mutex   sync.Mutex
	expiry  *time.Timer // Guarded.
	ended   bool        // Guarded: nothing is told any more.
}

// Keeps the claim until stop is called. `lost` is called at most once, and not after that.
func (c *Client) keep(
	ctx context.Context, ticket *Ticket, held *lease, length time.Duration, lost func(reason string),
) *keeper {
	k := &keeper{client: c, ticket: ticket, lease: held, length: length, lost: lost}
	// The caller's end is not the lease's: it is kept while the work comes to its end.
	k.context, k.cancel = context.WithCancel(detached{ctx})
	if ticket.Guarded {
		// The end of the lease is told in time even if a renewal is under way and does not end.
		k.mutex.Lock()
		k.expiry = time.AfterFunc(held.left(), k.expire)
		k.mutex.Unlock()
		k.begin = time.AfterFunc(time.Until(held.due()), k.renew)
	}
	return k
}

func (k *keeper) stop() {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.ended = true
	if k.begin != nil {
		k.begin.Stop()
		k.expiry.Stop()
	}
	k.cancel()
}

func (k *keeper) expire() {
	if left := k.lease.left(); left > 0 {
		k.mutex.Lock()
		defer k.mutex.Unlock()
		if !k.ended {
			k.expiry.Reset(left)
		}
		return
	}
	k.lose("it ended before it could be renewed")
}

func (k *keeper) lose(reason string) {
	k.mutex.Lock()
	told := k.ended
	k.ended = true
	k.mutex.Unlock()
	if !told {
		k.lost(reason)
	}
	k.cancel()
}

func (k *keeper) renew() {
	pauses := k.client.newBackoff(firstPause, 500*time.Millisecond)
	for sleep(k.context, time.Until(k.lease.due())) {
		if k.lease.isOver() {
			k.lose("it ended before it could be renewed")
			return
		}
		within := k.lease.tryFor()
		asked := time.Now()
		err := k.client.renew(k.context, k.ticket.Key, k.ticket.Ticket, k.length, &within)
		switch {
		case err == nil:
			k.lease.renewed(asked)
			pauses.reset()
			k.client.tell("renewed", map[string]any{"key": k.ticket.Key})
		case k.context.Err() != nil:
			return
		case isUncertain(err):
			k.lease.failed(pauses.next())
		default:
			k.lose(err.Error())
			return
		}
	}
}
