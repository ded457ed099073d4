package once

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// HotKey is a key with many conflicts of late.
type HotKey struct {
	Key       string `json:"key"`
	Conflicts int64  `json:"conflicts"`
}

// Hot is the keys with most conflicts of late.
func (c *Client) Hot(ctx context.Context) ([]HotKey, error) {
	var body struct {
		Keys []HotKey `json:"keys"`
	}
	_, err := c.ask(ctx, get("/v1/hot"), &body)
	return body.Keys, err
}

// Token tells who may come in. Secret is there only when it was just made.
type Token struct {
	ID, Label, Namespace string
	ReadOnly             bool
	CreatedAt, ExpiresAt time.Time
	Secret               string
}

// UnmarshalJSON reads what the server writes.
func (t *Token) UnmarshalJSON(text []byte) error {
	var body struct {
		ID        string    `json:"id"`
		Label     string    `json:"label"`
		Namespace string    `json:"namespace"`
		ReadOnly  bool      `json:"read_only"`
		CreatedAt timestamp `json:"created_at"`
		ExpiresAt timestamp `json:"expires_at"`
		Token     string    `json:"token"`
	}
	err := json.Unmarshal(text, &body)
	*t = Token{body.ID, body.Label, body.Namespace, body.ReadOnly, body.CreatedAt.Time, body.ExpiresAt.Time, body.Token}
	return err
}

// Tokens lists all tokens, without their secrets.
func (c *Client) Tokens(ctx context.Context) ([]Token, error) {
	var body struct {
		Tokens []Token `json:"tokens"`
	}
	_, err := c.ask(ctx, get("/v1/tokens"), &body)
	return body.Tokens, err
}

// TokenRequest says what a new token may do.
type TokenRequest struct {
	Namespace string
	ReadOnly  bool
	Expires   time.Duration
	Label     string
}

// NewToken makes a token; its Secret is told this once. Sent once: a token whose answer was lost is known to no caller.
func (c *Client) NewToken(ctx context.Context, wanted TokenRequest) (*Token, error) {
	r, err := withJSON(http.MethodPost, "/v1/tokens", struct {
		Namespace string `json:"namespace,omitempty"`
		ReadOnly  bool   `json:"read_only,omitempty"`
		Expires   string `json:"expires,omitempty"`
		Label     string `json:"label,omitempty"`
	}{wanted.Namespace, wanted.ReadOnly, givenDuration(wanted.Expires), wanted.Label})
	if err != nil {
		return nil, err
	}
	r.once = true
	made := &Token{}
	if _, err := c.ask(ctx, r, made); err != nil {
		return nil, err
	}
	return made, nil
}

// RevokeToken lets a token open nothing any more. False if there was none. A repeat revokes the same one.
func (c *Client) RevokeToken(ctx context.Context, id string) (bool, error) {
	target, err := pathOf("tokens", id, "")
	if err != nil {
		return false, err
	}
	_, err = c.call(ctx, &request{method: http.MethodDelete, target: target, expect: expectNothing})
	return err == nil, unlessNotFound(err)
}

// EventStatus is what became of a CloudEvent: "processed", "skipped", or in a batch also other things.
type EventStatus struct {
	Status      string
	EventID     string
	ProcessedAt time.Time
	Raw         json.RawMessage // As the server wrote it.
}

// UnmarshalJSON reads what the server writes.
func (s *EventStatus) UnmarshalJSON(text []byte) error {
	var body struct {
		Status      string    `json:"status"`
		EventID     string    `json:"event_id"`
		ProcessedAt timestamp `json:"processed_at"`
	}
	err := json.Unmarshal(text, &body)
	*s = EventStatus{body.Status, body.EventID, body.ProcessedAt.Time, append(json.RawMessage(nil), text...)}
	return err
}

// SendEvent sends a CloudEvent 1.0 in structured mode, any value that is such an object as JSON. It is processed once. ErrBusy
// while another delivery is processed.
func (c *Client) SendEvent(ctx context.Context, event any) (*EventStatus, error) {
	status := &EventStatus{}
	if err := c.sendEvents(ctx, event, "application/cloudevents+json", status); err != nil {
		return nil, err
	}
	return status, nil
}

// SendEvents sends a batch of CloudEvents; one status each.
func (c *Client) SendEvents(ctx context.Context, events []any) ([]EventStatus, error) {
	var statuses []EventStatus
	err := c.sendEvents(ctx, events, "application/cloudevents-batch+json", &statuses)
	return statuses, err
}

func (c *Client) sendEvents(ctx context.Context, body any, kind string, into any) error {
	r, err := withJSON(http.MethodPost, "/v1/events", body)
	if err != nil {
		return err
	}
	r.contentType = kind
	_, err = c.ask(ctx, r, into)
	return err
}

// Items lists all items of the store as they are.
func (c *Client) Items(ctx context.Context) ([]json.RawMessage, error) {
	return pages[json.RawMessage](ctx, c, "/v1/items", "items", parameters{}, 0)
}

// ImportItems puts items where there is nothing yet, and gives the server's counts. The same again changes nothing.
func (c *Client) ImportItems(ctx context.Context, items []json.RawMessage, withTokens bool) (map[string]int64, error) {
	if items == nil {
		items = []json.RawMessage{}
	}
	body := map[string]any{"items": items}
	if withTokens {
		body["with_tokens"] = true
	}
	counts := map[string]int64{}
	_, err := c.post(ctx, "/v1/items", body, &counts)
	return counts, err
}

// Checkpoint copies an embedded store, on the server's machine, and gives the server's answer. Sent once.
func (c *Client) Checkpoint(ctx context.Context) (json.RawMessage, error) {
	answer, err := c.call(ctx, &request{method: http.MethodPost, target: "/v1/checkpoints", once: true})
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// WhoAmI is what the token, if there is one, allows: open, access and others.
func (c *Client) WhoAmI(ctx context.Context) (json.RawMessage, error) {
	answer, err := c.call(ctx, get("/v1/whoami"))
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// Health is what a server that runs tells of itself.
func (c *Client) Health(ctx context.Context) (json.RawMessage, error) {
	answer, err := c.call(ctx, get("/healthz"))
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// Ready tells whether the store answers and would take a write. One try.
func (c *Client) Ready(ctx context.Context) (bool, error) {
	r := get("/readyz")
	r.within = new(time.Duration)
	_, err := c.call(ctx, r)
	if errors.Is(err, ErrUnavailable) && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// Metrics is the page for Prometheus.
func (c *Client) Metrics(ctx context.Context) (string, error) { return c.page(ctx, "/metrics") }

// OpenAPI is the contract of the server.
func (c *Client) OpenAPI(ctx context.Context) (string, error) { return c.page(ctx, "/openapi.yaml") }

func (c *Client) page(ctx context.Context, target string) (string, error) {
	r := get(target)
	r.expect = expectText
	answer, err := c.call(ctx, r)
	if err != nil {
		return "", err
	}
	return string(answer.Body), nil
}

// RequestOptions of Client.Request.
type RequestOptions struct {
	Header http.Header
	Repeat bool // It may be sent again after a lost answer.
}

// Request is any other call. The body is JSON, []byte as they are, or nil.
func (c *Client) Request(ctx context.Context, method, target string, body any, options RequestOptions) (*Answer, error) {
	if _, err := url.ParseRequestURI(target); err != nil || !strings.HasPrefix(target, "/") || !isPrintable(target) ||
		strings.ContainsAny(target, " #") {
		return nil, invalid("not a path of the server: %q", target)
	}
	if method == "" || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return nil, invalid("not a method: %q", method)
	}
	r := &request{method: method, target: target, header: options.Header, once: !options.Repeat, expect: expectText}
	if body != nil {
		var err error
		if r.body, r.contentType, err = contentOf(body, options.Header.Get("Content-Type")); err != nil {
			return nil, err
		}
	}
	return c.call(ctx, r)
}
