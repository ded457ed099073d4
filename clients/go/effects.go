package once

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Effects are appends, documents and tallies that take effect together, or not at all. Every method returns the effects
// themselves, so that calls can be chained; what is wrong is told by the commit. Not for several goroutines at once.
type Effects struct {
	logs      []logPart
	documents []documentPart
	tallies   []map[string]any
	err       error // The first thing that was wrong.
}

// NewEffects is empty.
func NewEffects() *Effects { return &Effects{} }

type logPart struct {
	Stream string      `json:"stream"`
	Events []eventBody `json:"events"`
}

// A document of a commit. Without a condition it is created or replaced.
type documentPart struct {
	key     string
	change  string // body, patch or delete.
	value   json.RawMessage
	ifMatch string
	create  bool
}

func (p *documentPart) body() map[string]any {
	body := map[string]any{"key": p.key, p.change: p.value}
	switch {
	case p.create:
		body["if_none_match"] = "*"
	case p.ifMatch != "":
		body["if_match"] = p.ifMatch
	case p.change == "body":
		body["overwrite"] = true
	}
	return body
}

type claimPart struct {
	Key    string          `json:"key"`
	Ticket string          `json:"ticket"`
	Result json.RawMessage `json:"result"`
}

func (e *Effects) wrong(err error) bool {
	if err != nil && e.err == nil {
		e.err = err
	}
	return err != nil
}

func (e *Effects) isEmpty() bool { return len(e.logs)+len(e.documents)+len(e.tallies) == 0 }

// Append appends events to a log, adjacent and in this order. An event is any JSON, or a LogEvent. A single []any is taken for the
// events, as Log.Append takes them; an event that is an array goes into a LogEvent.
func (e *Effects) Append(stream string, events ...any) *Effects {
	if len(events) == 1 {
		if several, is := events[0].([]any); is {
			events = several
		}
	}
	if len(events) == 0 {
		e.wrong(invalid("no event to append"))
		return e
	}
	bodies, err := eventBodies(events)
	if !e.wrong(checkName(stream)) && !e.wrong(err) {
		e.logs = append(e.logs, logPart{stream, bodies})
	}
	return e
}

// Put puts a document: creates or replaces it unless Create or IfMatch is given.
func (e *Effects) Put(key string, value any, options ...PartOption) *Effects {
	return e.document(key, "body", value, options)
}

// Patch changes a JSON document by a merge patch.
func (e *Effects) Patch(key string, patch any, options ...PartOption) *Effects {
	return e.document(key, "patch", patch, options)
}

// Delete removes a document.
func (e *Effects) Delete(key string, options ...PartOption) *Effects {
	return e.document(key, "delete", true, options)
}

func (e *Effects) document(key, change string, value any, options []PartOption) *Effects {
	given := gathered(options)
	encoded, err := encode(value)
	if e.wrong(checkName(key)) || e.wrong(err) {
		return e
	}
	if given.create && (given.ifMatch != "" || change != "body") {
		e.wrong(invalid("Create goes with Put alone, and without IfMatch"))
		return e
	}
	e.documents = append(e.documents, documentPart{key, change, encoded, given.ifMatch, given.create})
	return e
}

// Add merges into a tally: an integer into a sum, a float into a real, texts into a top. Options as for Tally.Add, without ID.
func (e *Effects) Add(tally string, amount any, options ...MergeOption) *Effects {
	return e.merge(tally, "", amount, options)
}

// Count adds to a count.
func (e *Effects) Count(tally string, add int64, options ...MergeOption) *Effects {
	return e.merge(tally, "count", add, options)
}

// Max keeps the larger.
func (e *Effects) Max(tally string, value int64, options ...MergeOption) *Effects {
	return e.merge(tally, "max", value, options)
}

// Min keeps the smaller.
func (e *Effects) Min(tally string, value int64, options ...MergeOption) *Effects {
	return e.merge(tally, "min", value, options)
}

// Distinct counts different texts.
func (e *Effects) Distinct(tally string, items []string, options ...MergeOption) *Effects {
	return e.merge(tally, "distinct", items, options)
}

// Hit counts the most frequent texts.
func (e *Effects) Hit(tally string, items []string, options ...MergeOption) *Effects {
	return e.merge(tally, "top", items, options)
}

// Bloom adds texts to a filter.
func (e *Effects) Bloom(tally string, items []string, options ...MergeOption) *Effects {
	return e.merge(tally, "bloom", items, options)
}

func (e *Effects) merge(tally, kind string, amount any, options []MergeOption) *Effects {
	given := gathered(options)
	body, err := mergeBody(kind, amount, given)
	if given.id != "" {
		err = invalid("an effect needs no id: it happens with the commit, once")
	}
	if !e.wrong(checkName(tally)) && !e.wrong(err) {
		body["key"] = tally
		e.tallies = append(e.tallies, body)
	}
	return e
}

// Committed tells that all parts of a commit happened, with one answer for each.
type Committed struct {
	Replayed bool
	Logs     []Appended
	ETags    []string // Of the documents.
	Tallies  []Tallied
}

// Commit makes several effects happen at once. A repeat under the same ID does nothing.
func (c *Client) Commit(ctx context.Context, effects *Effects, options ...CommitOption) (Committed, error) {
	return c.commit(ctx, effects, gathered(options).id, nil)
}

// Prepare makes a token of the effects, for `select once.apply($1)` in a transaction of your own: they happen if that commits. A
// token can be applied for a minute. It is empty if under this ID they have happened. Only on a store on PostgreSQL.
func (c *Client) Prepare(ctx context.Context, effects *Effects, options ...CommitOption) (string, error) {
	body := map[string]any{}
	if id := gathered(options).id; id != "" {
		body["id"] = id
	}
	return c.prepare(ctx, effects, body)
}

// The token, or none if the commit was made before. The body is as it was sent.
func (c *Client) prepare(ctx context.Context, effects *Effects, body map[string]any) (string, error) {
	body["prepare"] = true
	var found struct {
		Apply string `json:"apply"`
	}
	_, err := c.sendEffects(ctx, effects, body, &found)
	return found.Apply, err
}

// Whether a token that was made for this body has been applied.
func (c *Client) wasApplied(ctx context.Context, body map[string]any) (bool, error) {
	got, err := c.post(ctx, "/v1/commit", body, nil)
	return err == nil && got.replayed(), err
}

func (c *Client) commit(ctx context.Context, effects *Effects, id string, claim *claimPart) (Committed, error) {
	body := map[string]any{}
	own := id == "" && claim == nil
	switch {
	case claim != nil:
		body["claim"] = claim
	case own:
		body["id"] = newID()
	default:
		body["id"] = id
	}
	var answer committedBody
	got, err := c.sendEffects(ctx, effects, body, &answer)
	if err != nil {
		return Committed{}, err
	}
	return answer.committed(got.replayed() && !own), nil
}

// Puts the effects into the body, and sends it.
func (c *Client) sendEffects(ctx context.Context, effects *Effects, body map[string]any, into any) (*Answer, error) {
	if effects.err != nil {
		return nil, effects.err
	}
	if len(effects.logs) > 0 {
		body["logs"] = effects.logs
	}
	if len(effects.tallies) > 0 {
		body["tallies"] = effects.tallies
	}
	if len(effects.documents) > 0 {
		bodies := make([]map[string]any, len(effects.documents))
		for i := range bodies {
			bodies[i] = effects.documents[i].body()
		}
		body["docs"] = bodies
	}
	got, err := c.post(ctx, "/v1/commit", body, into)
	if err != nil {
		return nil, effects.explained(err)
	}
	return got, nil
}

// A patch without a condition is refused only if there is nothing to patch.
func (e *Effects) explained(err error) error {
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != "precondition_failed" {
		return err
	}
	for i, part := range e.documents {
		if part.change == "patch" && part.ifMatch == "" && refused.Part == fmt.Sprintf("docs[%d]", i) {
			return failure("not_found", "there is no document %q to patch", part.key)
		}
	}
	return err
}

type committedBody struct {
	Logs []appendedBody `json:"logs"`
	Docs []struct {
		ETag string `json:"etag"`
	} `json:"docs"`
	Tallies []talliedBody `json:"tallies"`
}

func (b *committedBody) committed(replayed bool) Committed {
	done := Committed{Replayed: replayed}
	for _, one := range b.Logs {
		done.Logs = append(done.Logs, one.appended(replayed))
	}
	for _, one := range b.Docs {
		done.ETags = append(done.ETags, unquoted(one.ETag))
	}
	for _, one := range b.Tallies {
		done.Tallies = append(done.Tallies, one.tallied(replayed))
	}
	return done
}
