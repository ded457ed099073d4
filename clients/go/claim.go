package once

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// KeepNothing as a TTL of a run or claim: its outcome is forgotten at once, so that the key is a lock.
const KeepNothing time.Duration = -1

const (
	defaultLease = 30 * time.Second
	defaultTTL   = 24 * time.Hour
	longestWait  = 50 * time.Second // In one call. Balancers often end what takes a minute.
)

// Claim is one key's claim, by hand. Client.Run does all of this by itself.
type Claim struct {
	client *Client
	key    string
}

// Claim of a key, by hand.
func (c *Client) Claim(key string) *Claim { return &Claim{c, key} }

// Ticket is a claim that is the caller's until its lease ends.
type Ticket struct {
	Key        string
	Ticket     string
	Fence      int64
	Attempt    int64
	LeaseUntil time.Time // By the server's clock.
	Guarded    bool      // False: the store was down, and the server was told to proceed.
	Previous   *Previous
	asked      time.Time // The lease began no earlier.
}

// Previous is what the attempt before left behind.
type Previous struct {
	Failure  json.RawMessage
	FailedAt time.Time
	Attempt  int64
}

// Finished is a claim that has an outcome. Failed: it failed for good, and Result is its failure.
type Finished struct {
	Key         string
	Result      json.RawMessage
	Failed      bool
	CompletedAt time.Time
}

// TakeOptions of a claim. The zero value is good.
type TakeOptions struct {
	Lease   time.Duration // 30s.
	TTL     time.Duration // How long the outcome is kept: 24h; or KeepNothing.
	Wait    time.Duration // For the outcome of another attempt.
	Payload any           // Another one under the same key is ErrMismatch.
	Owner   string        // A label for people; the client's without it.
	Request string        // An equal one gets the same ticket again.
}

type takeBody struct {
	Owner   string          `json:"owner"`
	Request string          `json:"request"`
	Lease   string          `json:"lease"`
	TTL     string          `json:"ttl"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Wait    string          `json:"wait,omitempty"`
}

type takenBody struct {
	State       string          `json:"state"`
	Ticket      string          `json:"ticket"`
	Fence       int64           `json:"fence"`
	Attempt     int64           `json:"attempt"`
	LeaseUntil  timestamp       `json:"lease_until"`
	CompletedAt timestamp       `json:"completed_at"`
	Result      json.RawMessage `json:"result"`
	Failure     json.RawMessage `json:"failure"`
	Previous    *struct {
		Failure  json.RawMessage `json:"failure"`
		FailedAt timestamp       `json:"failed_at"`
		Attempt  int64           `json:"attempt"`
	} `json:"previous"`
}

// Take takes the claim, or tells its outcome: one of the three results is there. The error is ErrBusy or ErrMismatch, among
// others. All tries have one request id.
func (l *Claim) Take(ctx context.Context, options TakeOptions) (*Ticket, *Finished, error) {
	return l.client.take(ctx, l.key, options)
}

func (c *Client) take(ctx context.Context, key string, options TakeOptions) (*Ticket, *Finished, error) {
	target, err := pathOf("claims", key, "")
	if err != nil {
		return nil, nil, err
	}
	body, err := options.body(c.options.Owner)
	if err != nil {
		return nil, nil, err
	}
	until := time.Now().Add(options.Wait)
	for {
		left := longer(0, time.Until(until))
		step := shorter(left, longestWait)
		if body.Wait = ""; options.Wait > 0 && step > 0 {
			body.Wait = durationText(roundUp(step))
		}
		r, err := withJSON(http.MethodPost, target, body)
		if err != nil {
			return nil, nil, err
		}
		r.wait = step
		asked := time.Now()
		var found takenBody
		_, err = c.ask(ctx, r, &found)
		if errors.Is(err, ErrBusy) && left > step && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		return found.taken(key, asked)
	}
}

// To whole seconds where that is close, so that a wait of five seconds is asked for as such.
func roundUp(d time.Duration) time.Duration {
	if rounded := d.Round(time.Second); rounded-d >= 0 && rounded-d < 100*time.Millisecond {
		return rounded
	}
	return d
}

func (o TakeOptions) body(owner string) (*takeBody, error) {
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	if o.TTL == 0 {
		o.TTL = defaultTTL
	}
	if o.Lease < 0 || o.Wait < 0 {
		return nil, invalid("a lease and a wait are not negative")
	}
	body := &takeBody{Owner: owner, Request: o.Request, Lease: durationText(o.Lease), TTL: durationText(o.TTL)}
	if o.Owner != "" {
		body.Owner = o.Owner
	}
	if body.Request == "" {
		body.Request = newID()
	}
	if o.Payload == nil {
		return body, nil
	}
	var err error
	body.Payload, err = encode(o.Payload)
	return body, err
}

func (b *takenBody) taken(key string, asked time.Time) (*Ticket, *Finished, error) {
	switch b.State {
	case "done":
		return nil, &Finished{key, orNull(b.Result), false, b.CompletedAt.Time}, nil
	case "failed":
		return nil, &Finished{key, orNull(b.Failure), true, b.CompletedAt.Time}, nil
	case "claimed", "unguarded":
	default:
		return nil, nil, failure("unknown", "the answer has an unknown state: %q", b.State)
	}
	if b.State == "claimed" && b.Ticket == "" {
		return nil, nil, failure("unknown", "the answer has no ticket")
	}
	ticket := &Ticket{key, b.Ticket, b.Fence, b.Attempt, b.LeaseUntil.Time, b.State == "claimed", nil, asked}
	if b.Previous != nil {
		ticket.Previous = &Previous{orNull(b.Previous.Failure), b.Previous.FailedAt.Time, b.Previous.Attempt}
	}
	return ticket, nil, nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// Renew holds the claim for longer, counted from now.
func (l *Claim) Renew(ctx context.Context, ticket *Ticket, lease time.Duration) error {
	asked := time.Now()
	if err := l.client.renew(ctx, l.key, ticket.Ticket, lease, nil); err != nil {
		return err
	}
	ticket.asked = asked
	return nil
}

func (c *Client) renew(ctx context.Context, key, ticket string, lease time.Duration, within *time.Duration) error {
	return c.ofClaim(ctx, key, "renew", map[string]any{"ticket": ticket, "lease": durationText(lease)}, within, nil)
}

// Complete records the result. True if it had been recorded before.
func (l *Claim) Complete(ctx context.Context, ticket *Ticket, result any) (bool, error) {
	encoded, err := encode(result)
	if err != nil {
		return false, err
	}
	return l.client.recordResult(ctx, l.key, ticket.Ticket, encoded)
}

func (c *Client) recordResult(ctx context.Context, key, ticket string, result json.RawMessage) (replayed bool, err error) {
	err = c.ofClaim(ctx, key, "complete", map[string]any{"ticket": ticket, "result": result}, nil, &replayed)
	return replayed, err
}

// Release frees the claim for the next attempt, which is told the failure unless that is nil.
func (l *Claim) Release(ctx context.Context, ticket *Ticket, failure any) error {
	encoded, err := encode(failure)
	if err != nil {
		return err
	}
	return l.client.release(ctx, l.key, ticket.Ticket, encoded, false, nil)
}

// Fail records the failure as the outcome: nobody tries this key again.
func (l *Claim) Fail(ctx context.Context, ticket *Ticket, failure any) error {
	encoded, err := encode(failure)
	if err != nil {
		return err
	}
	return l.client.release(ctx, l.key, ticket.Ticket, encoded, true, nil)
}

func (c *Client) release(
	ctx context.Context, key, ticket string, why json.RawMessage, final bool, within *time.Duration,
) error {
	body := map[string]any{"ticket": ticket}
	if len(why) > 0 && string(why) != "null" {
		body["failure"] = why
	}
	if final {
		body["final"] = true
	}
	return c.ofClaim(ctx, key, "release", body, within, nil)
}

func (c *Client) ofClaim(
	ctx context.Context, key, action string, body map[string]any, within *time.Duration, replayed *bool,
) error {
	target, err := pathOf("claims", key, action)
	if err != nil {
		return err
	}
	r, err := withJSON(http.MethodPost, target, body)
	if err != nil {
		return err
	}
	r.within = within
	answer, err := c.call(ctx, r)
	if err == nil && replayed != nil {
		*replayed = answer.replayed()
	}
	return err
}

// ClaimRecord is a claim as it is stored. State: busy, abandoned, done, failed, free or corrupt.
type ClaimRecord struct {
	Key         string
	State       string
	Owner       string
	Fence       int64
	Attempt     int64
	ClaimedAt   time.Time
	LeaseUntil  time.Time
	CompletedAt time.Time
	FailedAt    time.Time
	Result      json.RawMessage
	Failure     json.RawMessage
	Raw         json.RawMessage // As the server wrote it.
}

// UnmarshalJSON reads what the server writes.
func (r *ClaimRecord) UnmarshalJSON(text []byte) error {
	var body struct {
		Key         string          `json:"key"`
		State       string          `json:"state"`
		Owner       string          `json:"owner"`
		Fence       int64           `json:"fence"`
		Attempt     int64           `json:"attempt"`
		ClaimedAt   timestamp       `json:"claimed_at"`
		LeaseUntil  timestamp       `json:"lease_until"`
		CompletedAt timestamp       `json:"completed_at"`
		FailedAt    timestamp       `json:"failed_at"`
		Result      json.RawMessage `json:"result"`
		Failure     json.RawMessage `json:"failure"`
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return err
	}
	*r = ClaimRecord{body.Key, body.State, body.Owner, body.Fence, body.Attempt, body.ClaimedAt.Time,
		body.LeaseUntil.Time, body.CompletedAt.Time, body.FailedAt.Time, body.Result, body.Failure,
		append(json.RawMessage(nil), text...)}
	return nil
}

// Get is the claim's record, or nil if it does not exist.
func (l *Claim) Get(ctx context.Context) (*ClaimRecord, error) {
	target, err := pathOf("claims", l.key, "")
	if err != nil {
		return nil, err
	}
	record := &ClaimRecord{}
	if _, err := l.client.ask(ctx, get(target), record); err != nil {
		return nil, unlessNotFound(err)
	}
	if record.Key == "" {
		record.Key = l.key
	}
	return record, nil
}

func unlessNotFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Forget lets the key be claimed anew; its old ticket is fenced. Sent once: a repeat might forget what another has claimed
// since.
func (l *Claim) Forget(ctx context.Context) error {
	_, err := l.client.remove(ctx, "claims", l.key)
	return err
}

// Sent once: a repeat might remove what came since. False: there was none.
func (c *Client) remove(ctx context.Context, noun, name string) (bool, error) {
	target, err := pathOf(noun, name, "")
	if err != nil {
		return false, err
	}
	_, err = c.call(ctx, &request{method: http.MethodDelete, target: target, once: true, expect: expectNothing})
	return err == nil, unlessNotFound(err)
}

// ClaimFilter says which claims. What is empty does not matter.
type ClaimFilter struct {
	State     string // busy, abandoned, done, failed or free.
	Owner     string
	Prefix    string
	OlderThan time.Duration
	PageSize  int
}

// Claims lists all claims of a kind.
func (c *Client) Claims(ctx context.Context, filter ClaimFilter) ([]ClaimRecord, error) {
	given := parameters{"state": filter.State, "owner": filter.Owner, "prefix": filter.Prefix}
	return pages[ClaimRecord](ctx, c, "/v1/claims", "claims", given.duration("older_than", filter.OlderThan), filter.PageSize)
}

// All of a listing, page by page.
func pages[T any](ctx context.Context, c *Client, target, name string, given parameters, size int) ([]T, error) {
	var found []T
	given.number("limit", int64(size))
	for {
		var body map[string]json.RawMessage
		if _, err := c.ask(ctx, get(given.on(target)), &body); err != nil {
			return nil, err
		}
		var page []T
		if err := json.Unmarshal(orNull(body[name]), &page); err != nil {
			return nil, caused("unavailable", err, "the listing cannot be understood")
		}
		found = append(found, page...)
		var cursor string
		_ = json.Unmarshal(orNull(body["cursor"]), &cursor)
		if cursor == "" {
			return found, nil
		}
		given["cursor"] = cursor
	}
}

// ForgetClaims forgets many claims, and tells how many. With dryRun it only counts them.
func (c *Client) ForgetClaims(ctx context.Context, filter ClaimFilter, dryRun bool) (int64, error) {
	return c.bulk(ctx, "claims/forget", "forgotten", filter, dryRun)
}

// RetryClaims frees claims that failed for good, and tells how many.
func (c *Client) RetryClaims(ctx context.Context, filter ClaimFilter, dryRun bool) (int64, error) {
	return c.bulk(ctx, "claims/retry", "retried", filter, dryRun)
}

// ReleaseClaims frees claims that are busy or abandoned, without their tickets, and tells how many. Their holders are fenced.
func (c *Client) ReleaseClaims(ctx context.Context, filter ClaimFilter, dryRun bool) (int64, error) {
	return c.bulk(ctx, "claims/release", "released", filter, dryRun)
}

// In bounded steps until there is no cursor. A repeat of a step finds nothing left to do, except that a repeated release might free
// what others have claimed since: each of its steps is sent once.
func (c *Client) bulk(ctx context.Context, action, counts string, filter ClaimFilter, dryRun bool) (int64, error) {
	body := map[string]any{}
	for name, value := range map[string]string{
		"prefix": filter.Prefix, "state": filter.State, "owner": filter.Owner, "older_than": givenDuration(filter.OlderThan),
	} {
		if value != "" {
			body[name] = value
		}
	}
	if filter.PageSize > 0 {
		body["limit"] = filter.PageSize
	}
	if dryRun {
		body["dry_run"] = true
	}
	var done int64
	for {
		var answer map[string]json.RawMessage
		step, err := withJSON(http.MethodPost, "/v1/bulk/"+action, body)
		if err != nil {
			return done, err
		}
		step.once = action == "claims/release"
		if _, err := c.ask(ctx, step, &answer); err != nil {
			return done, err
		}
		var count int64
		var cursor string
		_ = json.Unmarshal(orNull(answer[counts]), &count)
		_ = json.Unmarshal(orNull(answer["cursor"]), &cursor)
		if done += count; cursor == "" {
			return done, nil
		}
		body["cursor"] = cursor
	}
}
