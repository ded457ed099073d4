package once

import (
	"context"
	"encoding/json"
	"time"
)

// SeenOptions of Client.SeenWith. The zero value is good.
type SeenOptions struct {
	TTL     time.Duration // How long the ids are known: 24h.
	Request string        // A repeat with the same one gets the same answer.
}

// Seen tells of each id whether it is here for the first time, in order. An id that comes twice in one call is first once.
func (c *Client) Seen(ctx context.Context, ids ...string) ([]bool, error) {
	return c.SeenWith(ctx, SeenOptions{}, ids...)
}

// SeenWith is Seen with options.
func (c *Client) SeenWith(ctx context.Context, options SeenOptions, ids ...string) ([]bool, error) {
	for _, id := range ids {
		if err := checkName(id); err != nil {
			return nil, err
		}
	}
	if len(ids) == 0 {
		return []bool{}, nil
	}
	body := struct {
		IDs     []string `json:"ids"`
		Request string   `json:"request"`
		TTL     string   `json:"ttl,omitempty"`
	}{ids, options.Request, givenDuration(options.TTL)}
	if body.Request == "" {
		body.Request = newID()
	}
	var answer struct {
		First []bool `json:"first"`
	}
	if _, err := c.post(ctx, "/v1/seen", body, &answer); err != nil {
		return nil, err
	}
	if len(answer.First) != len(ids) {
		return nil, failure("unknown", "the answer is not about these ids")
	}
	return answer.First, nil
}

// SeenRecord tells when an id was first seen, and until when that is known.
type SeenRecord struct {
	ID        string
	At, Until time.Time
}

// UnmarshalJSON reads what the server writes.
func (r *SeenRecord) UnmarshalJSON(text []byte) error {
	var body struct {
		ID    string    `json:"id"`
		At    timestamp `json:"at"`
		Until timestamp `json:"until"`
	}
	err := json.Unmarshal(text, &body)
	*r = SeenRecord{body.ID, body.At.Time, body.Until.Time}
	return err
}

// SeenRecord of an id, or nil if it was not seen.
func (c *Client) SeenRecord(ctx context.Context, id string) (*SeenRecord, error) {
	target, err := pathOf("seen", id, "")
	if err != nil {
		return nil, err
	}
	record := &SeenRecord{}
	if _, err := c.ask(ctx, get(target), record); err != nil {
		return nil, unlessNotFound(err)
	}
	return record, nil
}

// ForgetSeen lets an id be first again. False if it was not seen. Sent once.
func (c *Client) ForgetSeen(ctx context.Context, id string) (bool, error) {
	return c.remove(ctx, "seen", id)
}
