package once

import (
	"context"
	"encoding/json"
	"time"
)

// Log is a stream of events with consecutive indexes from 1. It exists once something was appended.
type Log struct {
	client *Client
	stream string
}

// Log of that name.
func (c *Client) Log(stream string) *Log { return &Log{c, stream} }

// LogEvent is an event to append, if it has a time or an id of its own.
type LogEvent struct {
	Data any
	Time time.Time
	ID   string // A stream that knows it does not store the event again.
}

// Event is an event as it was read.
type Event struct {
	Index int64
	Time  time.Time
	Data  json.RawMessage
}

// Decode reads the data.
func (e Event) Decode(into any) error { return json.Unmarshal(e.Data, into) }

// UnmarshalJSON reads what the server writes.
func (e *Event) UnmarshalJSON(text []byte) error {
	var body struct {
		Index int64           `json:"index"`
		Time  timestamp       `json:"time"`
		Data  json.RawMessage `json:"data"`
	}
	err := json.Unmarshal(text, &body)
	*e = Event{body.Index, body.Time.Time, orNull(body.Data)}
	return err
}

// Appended tells where events are. First and Last are 0 if all of them were known by their ids.
type Appended struct {
	First, Last int64
	Replayed    bool    // The batch was known.
	Indexes     []int64 // One for each event, if any had an id.
}

type appendedBody struct {
	First   int64   `json:"first"`
	Last    int64   `json:"last"`
	Indexes []int64 `json:"indexes"`
}

func (b *appendedBody) appended(replayed bool) Appended {
	return Appended{b.First, b.Last, replayed, b.Indexes}
}

type eventBody struct {
	Data json.RawMessage `json:"data"`
	Time string          `json:"time,omitempty"`
	ID   string          `json:"id,omitempty"`
}

func eventBodies(events []any) ([]eventBody, error) {
	bodies := make([]eventBody, len(events))
	for i, one := range events {
		event, is := one.(LogEvent)
		if !is {
			event.Data = one
		}
		encoded, err := encode(event.Data)
		if err != nil {
			return nil, err
		}
		bodies[i] = eventBody{encoded, givenTime(event.Time), event.ID}
	}
	return bodies, nil
}

// Append appends events, all adjacent; each is any JSON, or a LogEvent. A repeat under the same Batch appends nothing.
// ErrPreconditionFailed: the next index is not the one of Expect. ErrClosed: the log is closed.
func (l *Log) Append(ctx context.Context, events []any, options ...AppendOption) (Appended, error) {
	given := gathered(options)
	target, err := pathOf("logs", l.stream, "")
	if err != nil {
		return Appended{}, err
	}
	body := struct {
		Events []eventBody `json:"events"`
		Batch  string      `json:"batch"`
		Expect int64       `json:"expect,omitempty"`
		TTL    string      `json:"ttl,omitempty"`
		IDTTL  string      `json:"id_ttl,omitempty"`
	}{nil, given.batch, given.expect, givenDuration(given.ttl), givenDuration(given.idTTL)}
	if body.Events, err = eventBodies(events); err != nil {
		return Appended{}, err
	}
	own := body.Batch == ""
	if own {
		body.Batch = newID()
	}
	var answer appendedBody
	got, err := l.client.post(ctx, target, body, &answer)
	if err != nil {
		return Appended{}, err
	}
	return answer.appended(got.replayed() && !own), nil
}

// Page is a page of events, and where the next one begins.
type Page struct {
	Events []Event
	Next   int64
	Closed bool
}

// Read reads up to Limit events (100) from From (1) on.
func (l *Log) Read(ctx context.Context, options ...ReadOption) ([]Event, error) {
	page, err := l.ReadPage(ctx, options...)
	return page.Events, err
}

// ReadPage is Read, and tells where to read on.
func (l *Log) ReadPage(ctx context.Context, options ...ReadOption) (Page, error) {
	given := gathered(options)
	target, err := pathOf("logs", l.stream, "")
	if err != nil {
		return Page{}, err
	}
	query := parameters{}.number("from", given.from).number("limit", given.limit).time("since", given.since)
	if given.descending {
		query["order"] = "desc"
	}
	var page struct {
		Events []Event `json:"events"`
		Next   int64   `json:"next"`
		Closed bool    `json:"closed"`
	}
	if _, err := l.client.ask(ctx, get(query.on(target)), &page); err != nil {
		return Page{}, err
	}
	return Page(page), nil
}

// LogInfo is a log in a listing, or both ends of one.
type LogInfo struct {
	Stream string `json:"stream"`
	Oldest int64  `json:"oldest"`
	Next   int64  `json:"next"`
	Closed bool   `json:"closed"`
}

// Trim makes the events below an index unreadable.
func (l *Log) Trim(ctx context.Context, before int64) (LogInfo, error) {
	return l.act(ctx, "trim", map[string]any{"before": before})
}

// Close lets no event be appended from now on. With a TTL the log is gone after that.
func (l *Log) Close(ctx context.Context, ttl ...TTL) (LogInfo, error) {
	body := map[string]any{}
	if len(ttl) > 0 {
		body["ttl"] = durationText(time.Duration(ttl[0]))
	}
	return l.act(ctx, "close", body)
}

func (l *Log) act(ctx context.Context, action string, body map[string]any) (LogInfo, error) {
	target, err := pathOf("logs", l.stream, action)
	if err != nil {
		return LogInfo{}, err
	}
	var found LogInfo
	_, err = l.client.post(ctx, target, body, &found)
	found.Stream = l.stream
	return found, err
}

// Delete removes a closed log. False if there was none. Sent once: a repeat might delete another log of that name.
func (l *Log) Delete(ctx context.Context) (bool, error) {
	return l.client.remove(ctx, "logs", l.stream)
}

// Logs lists all logs whose names begin so.
func (c *Client) Logs(ctx context.Context, prefix string) ([]LogInfo, error) {
	return pages[LogInfo](ctx, c, "/v1/logs", "logs", parameters{"prefix": prefix}, 0)
}

// DeleteLogs deletes the logs whose names begin so, and tells how many. With dryRun it only counts them.
func (c *Client) DeleteLogs(ctx context.Context, prefix string, dryRun bool) (int64, error) {
	return c.bulk(ctx, "logs/delete", "deleted", ClaimFilter{Prefix: prefix}, dryRun)
}
