package once

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"time"
)

// Tally is a number or a sketch that many merge into. Its first change fixes its kind.
type Tally struct {
	client *Client
	key    string
}

// Tally of that name.
func (c *Client) Tally(key string) *Tally { return &Tally{c, key} }

// Tallied is a tally after a change.
type Tallied struct {
	Kind     string
	Value    int64           // Of a sum, count, max, min or distinct; 0 of any other, and where a commit does not tell it.
	Raw      json.RawMessage // As the server wrote it: a number, or the most frequent items.
	Replayed bool            // The ID was known, and nothing was added.
}

type talliedBody struct {
	Kind  string          `json:"kind"`
	Value json.RawMessage `json:"value"`
}

func (b *talliedBody) tallied(replayed bool) Tallied {
	number, _ := wholeNumber(orNull(b.Value))
	return Tallied{b.Kind, number, orNull(b.Value), replayed}
}

// Add merges: an integer into a sum, a float into a real, a string or []string into a top. With an ID a repeat adds nothing.
// ErrMismatch: the tally is of another kind.
func (t *Tally) Add(ctx context.Context, amount any, options ...MergeOption) (Tallied, error) {
	return t.merge(ctx, "", amount, options)
}

// Count adds to a count.
func (t *Tally) Count(ctx context.Context, add int64, options ...MergeOption) (Tallied, error) {
	return t.merge(ctx, "count", add, options)
}

// Max keeps the larger.
func (t *Tally) Max(ctx context.Context, value int64, options ...MergeOption) (Tallied, error) {
	return t.merge(ctx, "max", value, options)
}

// Min keeps the smaller.
func (t *Tally) Min(ctx context.Context, value int64, options ...MergeOption) (Tallied, error) {
	return t.merge(ctx, "min", value, options)
}

// Distinct counts different texts, as an estimate.
func (t *Tally) Distinct(ctx context.Context, items []string, options ...MergeOption) (Tallied, error) {
	return t.merge(ctx, "distinct", items, options)
}

// Bloom adds texts to a filter; ask with Contains.
func (t *Tally) Bloom(ctx context.Context, items []string, options ...MergeOption) (Tallied, error) {
	return t.merge(ctx, "bloom", items, options)
}

// Hit counts the most frequent texts; read with Top.
func (t *Tally) Hit(ctx context.Context, items []string, options ...MergeOption) (Tallied, error) {
	return t.merge(ctx, "top", items, options)
}

// HitCounted is Hit of items that came several times.
func (t *Tally) HitCounted(ctx context.Context, items []CountedItem, options ...MergeOption) (Tallied, error) {
	return t.merge(ctx, "top", items, options)
}

// CountedItem is an item that came so many times.
type CountedItem struct {
	Item  string `json:"item"`
	Count int64  `json:"count"`
}

// Without an id of the caller it has one of its own, so that a repeat adds nothing.
func (t *Tally) merge(ctx context.Context, kind string, amount any, options []MergeOption) (Tallied, error) {
	target, err := pathOf("tallies", t.key, "")
	if err != nil {
		return Tallied{}, err
	}
	given := gathered(options)
	own := given.id == ""
	if own {
		given.id = newID()
	}
	body, err := mergeBody(kind, amount, given)
	if err != nil {
		return Tallied{}, err
	}
	var answer talliedBody
	got, err := t.client.post(ctx, target, body, &answer)
	if err != nil {
		return Tallied{}, err
	}
	return answer.tallied(got.replayed() && !own), nil
}

func mergeBody(kind string, amount any, given settings) (map[string]any, error) {
	if kind == "" {
		if kind = kindOfAmount(amount); kind == "" {
			return nil, invalid("not an amount: %v", amount)
		}
	}
	body := map[string]any{"kind": kind}
	switch kind {
	case "sum", "real", "count":
		body["add"] = amount
	case "max", "min":
		body["value"] = amount
	default:
		if one, is := amount.(string); is {
			amount = []string{one}
		}
		body["items"] = amount
	}
	for name, value := range map[string]string{
		"id": given.id, "id_ttl": givenDuration(given.idTTL), "at": givenTime(given.at), "window": given.window,
		"ttl": givenDuration(given.ttl),
	} {
		if value != "" {
			body[name] = value
		}
	}
	var shape map[string]any
	encoded, err := json.Marshal(given.shape)
	if err != nil {
		return nil, caused("invalid", err, "not a shape")
	}
	_ = json.Unmarshal(encoded, &shape)
	for name, value := range shape {
		body[name] = value
	}
	return body, nil
}

func kindOfAmount(amount any) string {
	switch amount.(type) {
	case string, []string, []CountedItem:
		return "top"
	}
	switch reflect.ValueOf(amount).Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "sum"
	case reflect.Float32, reflect.Float64:
		return "real"
	}
	return ""
}

func (s settings) rangeParameters() parameters {
	return parameters{}.time("from", s.start).time("to", s.end).duration("last", s.last)
}

// Reading is what a tally holds: Value is a number, or the most frequent items.
type Reading struct {
	Kind  string          `json:"kind"`
	Value json.RawMessage `json:"value"`
}

// Read is what the tally holds, or nil if it does not exist.
func (t *Tally) Read(ctx context.Context, options ...RangeOption) (*Reading, error) {
	return t.read(ctx, gathered(options).rangeParameters())
}

func (t *Tally) read(ctx context.Context, query parameters) (*Reading, error) {
	found := &Reading{}
	ok, err := t.ask(ctx, query, found)
	if err != nil || !ok {
		return nil, err
	}
	found.Value = orNull(found.Value)
	return found, nil
}

// False if it does not exist.
func (t *Tally) ask(ctx context.Context, query parameters, into any) (bool, error) {
	target, err := pathOf("tallies", t.key, "")
	if err != nil {
		return false, err
	}
	_, err = t.client.ask(ctx, get(query.on(target)), into)
	return err == nil, unlessNotFound(err)
}

// Value is the number of a sum, count, max, min or distinct, of all buckets or of those in a range. ErrNotFound: there is none,
// or all of it has expired.
func (t *Tally) Value(ctx context.Context, options ...RangeOption) (int64, error) {
	found, err := t.Read(ctx, options...)
	if err != nil {
		return 0, err
	}
	if found == nil {
		return 0, failure("not_found", "there is no tally %q", t.key)
	}
	number, err := wholeNumber(found.Value)
	if err != nil {
		return 0, caused("invalid", err, "a tally of kind %s has no whole number", found.Kind)
	}
	return number, nil
}

// Real is the value as a float, of a real or any other number.
func (t *Tally) Real(ctx context.Context, options ...RangeOption) (float64, error) {
	found, err := t.Read(ctx, options...)
	if err != nil {
		return 0, err
	}
	if found == nil {
		return 0, failure("not_found", "there is no tally %q", t.key)
	}
	var number float64
	if err := json.Unmarshal(found.Value, &number); err != nil {
		return 0, caused("invalid", err, "a tally of kind %s has no number", found.Kind)
	}
	return number, nil
}

// 2.0 is whole, too.
func wholeNumber(raw json.RawMessage) (int64, error) {
	var whole int64
	err := json.Unmarshal(raw, &whole)
	if err == nil && string(raw) != "null" {
		return whole, nil
	}
	var real float64
	if json.Unmarshal(raw, &real) == nil && real == math.Trunc(real) && math.Abs(real) < 1<<53 && string(raw) != "null" {
		return int64(real), nil
	}
	return 0, errors.New("not a whole number: " + string(raw))
}

// TopItem is one of the most frequent items: counted at most Count times, and at least Count - Error.
type TopItem struct {
	Item  string `json:"item"`
	Count int64  `json:"count"`
	Error int64  `json:"error"`
}

// Top is the most frequent items; 0 for all of them. None if there is no such tally.
func (t *Tally) Top(ctx context.Context, limit int, options ...RangeOption) ([]TopItem, error) {
	query := gathered(options).rangeParameters()
	var refused *Error
	found, err := t.read(ctx, query.number("limit", int64(limit)))
	if errors.As(err, &refused) && refused.Code == "invalid" && strings.Contains(refused.Detail, "limit") {
		delete(query, "limit") // A server that knows no limit gives all of them.
		found, err = t.read(ctx, query)
	}
	if err != nil || found == nil {
		return nil, err
	}
	var items []TopItem
	if err := json.Unmarshal(found.Value, &items); err != nil {
		return nil, caused("invalid", err, "a tally of kind %s has no items", found.Kind)
	}
	if limit > 0 && len(items) > limit {
		items = items[:limit]
	}
	return items, nil
}

// Contains tells whether a filter has the text. False is certain, true is likely.
func (t *Tally) Contains(ctx context.Context, item string) (bool, error) {
	found, err := t.read(ctx, parameters{"item": item})
	if err != nil || found == nil {
		return false, err
	}
	var has bool
	if err := json.Unmarshal(found.Value, &has); err != nil {
		return false, caused("invalid", err, "a tally of kind %s is no filter", found.Kind)
	}
	return has, nil
}

// Bucket is one bucket of a windowed tally.
type Bucket struct {
	At    time.Time
	Value json.RawMessage
}

// Series is a row for each bucket that holds something, in order.
func (t *Tally) Series(ctx context.Context, options ...RangeOption) ([]Bucket, error) {
	query := gathered(options).rangeParameters()
	query["series"] = "true"
	var body struct {
		Series []struct {
			At    timestamp       `json:"at"`
			Value json.RawMessage `json:"value"`
		} `json:"series"`
	}
	if _, err := t.ask(ctx, query, &body); err != nil {
		return nil, err
	}
	var rows []Bucket
	for _, row := range body.Series {
		rows = append(rows, Bucket{row.At.Time, orNull(row.Value)})
	}
	return rows, nil
}

// Delete removes buckets, ids and kind. False if there was none. Sent once: a repeat might delete what was added since.
func (t *Tally) Delete(ctx context.Context) (bool, error) {
	return t.client.remove(ctx, "tallies", t.key)
}

// TallyInfo is a tally in a listing.
type TallyInfo struct {
	Key    string `json:"key"`
	Kind   string `json:"kind"`
	Window string `json:"window"`
}

// Tallies lists all tallies whose names begin so, without their values.
func (c *Client) Tallies(ctx context.Context, prefix string) ([]TallyInfo, error) {
	return pages[TallyInfo](ctx, c, "/v1/tallies", "tallies", parameters{"prefix": prefix}, 0)
}

// ReadTallies reads many tallies at once, in order; nil for those that do not exist.
func (c *Client) ReadTallies(ctx context.Context, keys []string, options ...RangeOption) ([]*Reading, error) {
	for _, key := range keys {
		if err := checkName(key); err != nil {
			return nil, err
		}
	}
	body := map[string]any{"keys": keys}
	for name, value := range gathered(options).rangeParameters() {
		body[name] = value
	}
	r, err := withJSON("POST", "/v1/tallies/read", body)
	if err != nil {
		return nil, err
	}
	r.asks = true
	var answer struct {
		Values []*Reading `json:"values"`
	}
	if _, err := c.ask(ctx, r, &answer); err != nil {
		return nil, err
	}
	if len(answer.Values) != len(keys) {
		return nil, failure("unavailable", "the answer is not about these tallies")
	}
	return answer.Values, nil
}

// DeleteTallies deletes the tallies whose names begin so, and tells how many. With dryRun it only counts them.
func (c *Client) DeleteTallies(ctx context.Context, prefix string, dryRun bool) (int64, error) {
	return c.bulk(ctx, "tallies/delete", "deleted", ClaimFilter{Prefix: prefix}, dryRun)
}
