package once

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"time"
)

// Document is a value with an ETag. Nothing is overwritten unseen.
type Document struct {
	client *Client
	key    string
}

// Document of that name.
func (c *Client) Document(key string) *Document { return &Document{c, key} }

// Snapshot is a document's value and its ETag, without quotes.
type Snapshot struct {
	Value       json.RawMessage // The bytes as they are; JSON unless ContentType says otherwise.
	ETag        string
	ContentType string
}

// Decode reads the value, which is JSON.
func (s *Snapshot) Decode(into any) error { return json.Unmarshal(s.Value, into) }

// Where a replay's document is another's by now: no document has this ETag.
const matchesNothing = "0000000000000000"

// net/http would repeat a request with the header Idempotency-Key by itself, and would not tell. Names are compared
// without case everywhere else.
const idempotencyKey = "idempotency-key"

// Get is value and ETag, or nil if there is no such document.
func (d *Document) Get(ctx context.Context) (*Snapshot, error) { return d.get(ctx, nil) }

// GetIfChanged is value and ETag if that is another one by now, else nil. A document that is gone is ErrNotFound.
func (d *Document) GetIfChanged(ctx context.Context, etag string) (*Snapshot, error) {
	return d.get(ctx, http.Header{"If-None-Match": {quoted(etag)}})
}

func (d *Document) get(ctx context.Context, header http.Header) (*Snapshot, error) {
	target, err := pathOf("docs", d.key, "")
	if err != nil {
		return nil, err
	}
	answer, err := d.client.call(ctx, &request{method: http.MethodGet, target: target, header: header, expect: expectDocument})
	if header == nil && errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil || answer.Status == http.StatusNotModified {
		return nil, err
	}
	return snapshotOf(answer), nil
}

func snapshotOf(answer *Answer) *Snapshot {
	return &Snapshot{answer.Body, unquoted(answer.Header.Get("ETag")), answer.Header.Get("Content-Type")}
}

// Put creates the document (Create), or replaces the one with that ETag (IfMatch), and tells the new ETag. A value is stored as
// JSON; []byte, and with a ContentType that is not JSON a string, are stored as they are. ErrPreconditionFailed: another was
// faster; Current of the Error is the ETag that is there.
//
// A repeat under an ID that is known changes nothing. Then, and if the document is another's by now, the ETag that is told
// matches nothing.
func (d *Document) Put(ctx context.Context, value any, options ...PutOption) (string, error) {
	given := gathered(options)
	if given.create == (given.ifMatch != "") {
		return "", invalid("a put needs one condition: Create() or IfMatch(etag)")
	}
	return d.put(ctx, value, given)
}

func (d *Document) put(ctx context.Context, value any, given settings) (string, error) {
	content, kind, err := contentOf(value, given.contentType)
	if err != nil {
		return "", err
	}
	r, err := d.change(http.MethodPut, given, content, kind)
	if err != nil {
		return "", err
	}
	answer, err := d.client.call(ctx, r)
	if err != nil {
		return "", err
	}
	if !answer.replayed() {
		return unquoted(answer.Header.Get("ETag")), nil
	}
	// A replay has the ETag of the document as it is now, which may be another's. The put is done, whatever this read says.
	current, err := d.Get(ctx)
	if err != nil || current == nil || !bytes.Equal(current.Value, content) {
		return matchesNothing, nil
	}
	return current.ETag, nil
}

func contentOf(value any, kind string) ([]byte, string, error) {
	if raw, is := value.([]byte); is {
		if kind == "" {
			kind = "application/octet-stream"
		}
		if raw == nil {
			raw = []byte{}
		}
		return raw, kind, nil
	}
	if kind != "" && !isJSON(kind) {
		text, is := value.(string)
		if !is {
			return nil, "", invalid("%s takes []byte or a string", kind)
		}
		return []byte(text), kind, nil
	}
	if kind == "" {
		kind = "application/json"
	}
	content, err := encode(value)
	return content, kind, err
}

func isJSON(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}

func (d *Document) change(method string, given settings, content []byte, kind string) (*request, error) {
	target, err := pathOf("docs", d.key, "")
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if given.create {
		header.Set("If-None-Match", "*")
	}
	if given.ifMatch != "" {
		header.Set("If-Match", quoted(given.ifMatch))
	}
	if given.ttl != 0 {
		header.Set("Once-TTL", durationText(given.ttl))
	}
	if given.id == "" {
		given.id = newID()
	}
	header[idempotencyKey] = []string{given.id}
	if !isPrintable(kind) {
		return nil, invalid("what is given for Content-Type cannot be a header")
	}
	return &request{
		method: method, target: target, header: header, body: content, contentType: kind, expect: expectDocument,
	}, nil
}

// Update sets *v to the document's value, calls change, which changes *v, and puts it; again if another was faster, so that no
// update of another is lost. If there is no document, *v keeps the value that it had (a nil map becomes an empty one), and the
// document is created. An error of change ends it, and nothing is put. On return *v is what was stored.
func (d *Document) Update(ctx context.Context, v any, change func() error, options ...UpdateOption) error {
	into := reflect.ValueOf(v)
	if into.Kind() != reflect.Pointer || into.IsNil() {
		return invalid("Update takes a pointer to the value")
	}
	initial, err := encode(v)
	if err != nil {
		return err
	}
	given := gathered(options)
	deadline := time.Now().Add(d.client.options.Patience)
	pauses := d.client.newBackoff(20*time.Millisecond, time.Second)
	for tries := 1; ; tries++ {
		current, err := d.Get(ctx)
		if err != nil {
			return err
		}
		now := settings{ttl: given.ttl, create: current == nil}
		text := initial
		if current != nil {
			now.ifMatch, now.contentType, text = current.ETag, current.ContentType, current.Value
		}
		if current != nil || tries > 1 {
			// Nothing of an earlier try is left: json only adds to what is there.
			into.Elem().Set(reflect.Zero(into.Elem().Type()))
			if err := json.Unmarshal(text, v); err != nil {
				return caused("invalid", err, "the document %q is of another type", d.key)
			}
		}
		if held := into.Elem(); held.Kind() == reflect.Map && held.IsNil() {
			held.Set(reflect.MakeMap(held.Type()))
		}
		if err := change(); err != nil {
			return err
		}
		_, err = d.put(ctx, v, now)
		if !errors.Is(err, ErrPreconditionFailed) {
			return err
		}
		if time.Now().After(deadline) {
			return caused("contended", err, "others always changed %q first", d.key)
		}
		if !sleep(ctx, pauses.next()) {
			return caused("contended", ctx.Err(), "another changed %q first", d.key)
		}
	}
}

// Patch changes a JSON document by a merge patch (an object), or by JSON patch operations (a slice). The server retries
// conflicts, unless IfMatch is given.
func (d *Document) Patch(ctx context.Context, patch any, options ...ChangeOption) (*Snapshot, error) {
	content, err := encode(patch)
	if err != nil {
		return nil, err
	}
	kind := "application/merge-patch+json"
	if bytes.HasPrefix(content, []byte("[")) {
		kind = "application/json-patch+json"
	}
	r, err := d.change(http.MethodPatch, gathered(options), content, kind)
	if err != nil {
		return nil, err
	}
	answer, err := d.client.call(ctx, r)
	if err != nil {
		return nil, err
	}
	return snapshotOf(answer), nil
}

// Delete removes the document with that ETag (IfMatch); without one, the document that is there. False: there was none.
func (d *Document) Delete(ctx context.Context, options ...ChangeOption) (bool, error) {
	given := gathered(options)
	if given.ttl != 0 {
		return false, invalid("a deletion has no TTL")
	}
	if given.ifMatch != "" {
		err := d.deleteMatching(ctx, given)
		return err == nil, err
	}
	deadline := time.Now().Add(d.client.options.Patience)
	pauses := d.client.newBackoff(20*time.Millisecond, time.Second)
	for {
		current, err := d.Get(ctx)
		if err != nil || current == nil {
			return false, err
		}
		given.ifMatch = current.ETag
		err = d.deleteMatching(ctx, given)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, ErrPreconditionFailed) || time.Now().After(deadline) || !sleep(ctx, pauses.next()) {
			return false, err
		}
	}
}

func (d *Document) deleteMatching(ctx context.Context, given settings) error {
	r, err := d.change(http.MethodDelete, given, nil, "")
	if err != nil {
		return err
	}
	r.expect = expectNothing
	_, err = d.client.call(ctx, r)
	return err
}

// DocumentInfo is a document in a listing.
type DocumentInfo struct {
	Key         string `json:"key"`
	ETag        string `json:"etag"`
	Bytes       int64  `json:"bytes"`
	ContentType string `json:"content_type"`
}

// Documents lists all documents whose names begin so, without their values.
func (c *Client) Documents(ctx context.Context, prefix string) ([]DocumentInfo, error) {
	found, err := pages[DocumentInfo](ctx, c, "/v1/docs", "docs", parameters{"prefix": prefix}, 0)
	for i := range found {
		found[i].ETag = unquoted(found[i].ETag)
	}
	return found, err
}

// DeleteDocuments deletes the documents whose names begin so, and tells how many. With dryRun it only counts them.
func (c *Client) DeleteDocuments(ctx context.Context, prefix string, dryRun bool) (int64, error) {
	return c.bulk(ctx, "docs/delete", "deleted", ClaimFilter{Prefix: prefix}, dryRun)
}
