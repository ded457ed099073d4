package once_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"once"
)

func TestSeen(t *testing.T) {
	client := newClient(t)
	same(t, must[[]bool](t)(client.Seen(ctx, "a", "b", "a")), []bool{true, true, false})
	same(t, must[[]bool](t)(client.Seen(ctx, "b", "c")), []bool{false, true})
	same(t, must[[]bool](t)(client.Seen(ctx)), []bool{})
	for i := 0; i < 2; i++ {
		same(t, must[[]bool](t)(client.SeenWith(ctx, once.SeenOptions{Request: "r", TTL: time.Hour}, "d")), []bool{true})
	}
	record := must[*once.SeenRecord](t)(client.SeenRecord(ctx, "d"))
	if record.ID != "d" || record.Until.Sub(record.At) < 59*time.Minute {
		t.Errorf("%+v", record)
	}
	equal(t, must[bool](t)(client.ForgetSeen(ctx, "d")), true)
	equal(t, must[bool](t)(client.ForgetSeen(ctx, "d")), false)
	if must[*once.SeenRecord](t)(client.SeenRecord(ctx, "d")) != nil {
		t.Error("it is still seen")
	}
}

func TestLogs(t *testing.T) {
	client := newClient(t)
	log := client.Log("builds/ü?&+ .")
	equal(t, must[once.Appended](t)(log.Append(ctx, []any{map[string]int{"n": 1}}, once.Batch("b-1"))).First, int64(1))
	equal(t, must[once.Appended](t)(log.Append(ctx, []any{map[string]int{"n": 1}}, once.Batch("b-1"))).Replayed, true)
	moment := time.Date(2030, 1, 2, 3, 4, 5, 6e6, time.UTC)
	must[once.Appended](t)(log.Append(ctx, []any{"x", once.LogEvent{Data: "y", Time: moment}}))
	page := must[once.Page](t)(log.ReadPage(ctx))
	same(t, indexesAndData(page.Events), []string{`1{"n":1}`, `2"x"`, `3"y"`})
	equal(t, page.Next, int64(4))
	equal(t, page.Events[2].Time.Equal(moment), true)
	var text string
	check(t, page.Events[1].Decode(&text))
	equal(t, text, "x")
	same(t, indexesAndData(must[[]once.Event](t)(log.Read(ctx, once.Descending(), once.Limit(1)))), []string{`3"y"`})
	_, err := log.Append(ctx, []any{1}, once.Expect(2))
	var refused *once.Error
	equal(t, errors.As(err, &refused) && errors.Is(err, once.ErrPreconditionFailed), true)
	equal(t, refused.Next, int64(4))
	equal(t, must[once.LogInfo](t)(log.Trim(ctx, 2)).Oldest, int64(2))
	var followed []once.Event
	for event := range log.Follow(ctx, once.From(2), once.Limit(2)) {
		followed = append(followed, event)
	}
	same(t, indexesAndData(followed), []string{`2"x"`, `3"y"`})
	for event := range log.Follow(ctx, once.Since(time.Unix(0, 0)), once.Limit(1)) {
		equal(t, event.Index, int64(2))
	}
}

func TestLogsAreClosedListedAndDeleted(t *testing.T) {
	client := newClient(t)
	log := client.Log("l/1")
	must[once.Appended](t)(log.Append(ctx, []any{1, once.LogEvent{Data: 2, ID: "i"}}))
	same(t, must[once.Appended](t)(log.Append(ctx, []any{once.LogEvent{Data: 2, ID: "i"}, 3})).Indexes, []int64{2, 3})
	same(t, must[[]once.LogInfo](t)(client.Logs(ctx, "l/")), []once.LogInfo{{Stream: "l/1", Oldest: 1, Next: 4}})
	equal(t, must[once.LogInfo](t)(log.Close(ctx)).Next, int64(4))
	_, err := log.Append(ctx, []any{4})
	equal(t, errors.Is(err, once.ErrClosed), true)
	equal(t, must[once.Page](t)(log.ReadPage(ctx)).Closed, true)
	var why error = errors.New("not told")
	count := 0
	for range log.Follow(ctx, once.ErrorTo(&why)) {
		count++
	}
	equal(t, count, 3)
	check(t, why)
	equal(t, must[bool](t)(log.Delete(ctx)), true)
	equal(t, must[bool](t)(log.Delete(ctx)), false)
	must[once.Appended](t)(log.Append(ctx, []any{1}))
	must[once.LogInfo](t)(log.Close(ctx, once.TTL(time.Hour)))
	equal(t, must[int64](t)(client.DeleteLogs(ctx, "l/", false)), int64(1))
}

func TestAFollowEndsWithItsContextOrARefusal(t *testing.T) {
	client := newClient(t)
	until, cancel := context.WithCancel(ctx)
	must[once.Appended](t)(client.Log("l").Append(ctx, []any{1, 2}))
	var why error
	events := client.Log("l").Follow(until, once.ErrorTo(&why))
	<-events
	cancel()
	for range events {
	}
	check(t, why)
	for range connect(t, sharedServer(t), once.Options{}).Log("a\nb").Follow(ctx, once.ErrorTo(&why)) {
	}
	equal(t, errors.Is(why, once.ErrInvalid), true)
	nobody := connect(t, "http://127.0.0.1:1", once.Options{Patience: 50 * time.Millisecond})
	for range nobody.Log("l").Follow(ctx, once.ErrorTo(&why)) {
	}
	equal(t, errors.Is(why, once.ErrUnavailable), true)
}

func TestDocuments(t *testing.T) {
	client := newClient(t)
	document := client.Document("config")
	if must[*once.Snapshot](t)(document.Get(ctx)) != nil {
		t.Error("there is a document")
	}
	etag := must[string](t)(document.Put(ctx, map[string]int{"n": 1}, once.Create()))
	got := must[*once.Snapshot](t)(document.Get(ctx))
	same(t, []string{string(got.Value), got.ETag, got.ContentType}, []string{`{"n":1}`, etag, "application/json"})
	_, err := document.Put(ctx, 1, once.Create())
	var refused *once.Error
	equal(t, errors.As(err, &refused) && errors.Is(err, once.ErrPreconditionFailed), true)
	equal(t, refused.Current, etag)
	if must[*once.Snapshot](t)(document.GetIfChanged(ctx, etag)) != nil {
		t.Error("it has not changed")
	}
	equal(t, string(must[*once.Snapshot](t)(document.Patch(ctx, map[string]any{"k": 2, "n": nil})).Value), `{"k":2}`)
	operations := []any{map[string]any{"op": "add", "path": "/m", "value": 3}}
	must[*once.Snapshot](t)(document.Patch(ctx, operations))
	equal(t, string(must[*once.Snapshot](t)(document.GetIfChanged(ctx, etag)).Value), `{"k":2,"m":3}`)
	_, err = document.Delete(ctx, once.IfMatch(etag))
	equal(t, errors.Is(err, once.ErrPreconditionFailed), true)
	equal(t, must[bool](t)(document.Delete(ctx)), true)
	equal(t, must[bool](t)(document.Delete(ctx)), false)
	_, err = document.GetIfChanged(ctx, etag)
	equal(t, errors.Is(err, once.ErrNotFound), true)

	must[string](t)(client.Document("raw").Put(ctx, []byte{0, 255}, once.Create(), once.TTL(time.Hour)))
	equal(t, string(must[*once.Snapshot](t)(client.Document("raw").Get(ctx)).Value), "\x00\xff")
	must[string](t)(client.Document("text").Put(ctx, "<b>", once.Create(), once.ContentType("text/plain")))
	equal(t, string(must[*once.Snapshot](t)(client.Document("text").Get(ctx)).Value), "<b>")
	equal(t, len(must[[]once.DocumentInfo](t)(client.Documents(ctx, "r"))), 1)
	equal(t, must[int64](t)(client.DeleteDocuments(ctx, "r", true)), int64(1))
	equal(t, must[int64](t)(client.DeleteDocuments(ctx, "r", false)), int64(1))
}

func TestAPutUnderAKnownIDIsDoneOnce(t *testing.T) {
	client := newClient(t)
	first := must[string](t)(client.Document("d").Put(ctx, 1, once.Create(), once.ID("i")))
	equal(t, must[string](t)(client.Document("d").Put(ctx, 1, once.Create(), once.ID("i"))), first)
	must[string](t)(client.Document("d").Put(ctx, 2, once.IfMatch(first)))
	again := must[string](t)(client.Document("d").Put(ctx, 1, once.Create(), once.ID("i")))
	equal(t, strings.Trim(again, "0"), "") // The document is another's by now: this matches nothing.
	must[bool](t)(client.Document("d").Delete(ctx))
	must[string](t)(client.Document("d").Put(ctx, 1, once.Create(), once.ID("i")))
}

func TestAnUpdateBeginsWithTheDocumentEachTimeAndKeepsNothingOfAnEarlierTry(t *testing.T) {
	client := newClient(t)
	document := client.Document("d")
	type config struct {
		Limit int
		Names []string
		Note  string `json:",omitempty"`
	}
	value := config{Limit: 10, Note: "initial"}
	tries := 0
	check(t, document.Update(ctx, &value, func() error {
		if tries++; tries == 1 { // Another is faster.
			must[string](t)(document.Put(ctx, config{Limit: 20, Names: []string{"a"}}, once.Create()))
			value.Note = "of the first try"
		}
		value.Names = append(value.Names, "b")
		return nil
	}))
	equal(t, tries, 2)
	same(t, value, config{Limit: 20, Names: []string{"a", "b"}})
	equal(t, string(must[*once.Snapshot](t)(document.Get(ctx)).Value), `{"Limit":20,"Names":["a","b"]}`)
	own := errors.New("no")
	equal(t, document.Update(ctx, &value, func() error { value.Limit = 0; return own }), own)
	equal(t, errors.Is(document.Update(ctx, new(int), func() error { return nil }), once.ErrInvalid), true)
	value = config{Limit: 7}
	check(t, client.Document("new").Update(ctx, &value, func() error { value.Limit++; return nil }))
	var counts map[string]int
	check(t, client.Document("counts").Update(ctx, &counts, func() error { counts["n"]++; return nil }))
	equal(t, counts["n"], 1)
	equal(t, string(must[*once.Snapshot](t)(client.Document("new").Get(ctx)).Value), `{"Limit":8,"Names":null}`)
}

func TestTallies(t *testing.T) {
	client := newClient(t)
	revenue := client.Tally("revenue")
	_, err := revenue.Value(ctx)
	equal(t, errors.Is(err, once.ErrNotFound), true)
	equal(t, must[once.Tallied](t)(revenue.Add(ctx, 1900, once.ID("invoice-42"))).Value, int64(1900))
	equal(t, must[once.Tallied](t)(revenue.Add(ctx, 1900, once.ID("invoice-42"))).Replayed, true)
	equal(t, must[int64](t)(revenue.Value(ctx)), int64(1900))
	_, err = revenue.Count(ctx, 1)
	equal(t, errors.Is(err, once.ErrMismatch), true)
	equal(t, must[once.Tallied](t)(client.Tally("high").Max(ctx, 5)).Value, int64(5))
	equal(t, must[once.Tallied](t)(client.Tally("low").Min(ctx, -5)).Value, int64(-5))
	must[once.Tallied](t)(client.Tally("real").Add(ctx, 0.5))
	equal(t, must[float64](t)(client.Tally("real").Real(ctx)), 0.5)
	must[once.Tallied](t)(client.Tally("people").Distinct(ctx, []string{"a", "b", "a"}))
	equal(t, must[int64](t)(client.Tally("people").Value(ctx)), int64(2))
	must[once.Tallied](t)(client.Tally("filter").Bloom(ctx, []string{"a"}, once.Shape{Capacity: 100}))
	equal(t, must[bool](t)(client.Tally("filter").Contains(ctx, "a")), true)
	equal(t, must[bool](t)(client.Tally("filter").Contains(ctx, "b")), false)
	must[once.Tallied](t)(client.Tally("pages").Hit(ctx, []string{"a", "b", "a"}))
	must[once.Tallied](t)(client.Tally("pages").HitCounted(ctx, []once.CountedItem{{Item: "b", Count: 5}}))
	must[once.Tallied](t)(client.Tally("pages").Add(ctx, "c"))
	same(t, must[[]once.TopItem](t)(client.Tally("pages").Top(ctx, 2)), []once.TopItem{{Item: "b", Count: 6}, {Item: "a", Count: 2}})
	equal(t, len(must[[]once.TopItem](t)(client.Tally("none").Top(ctx, 2))), 0)
	many := must[[]*once.Reading](t)(client.ReadTallies(ctx, []string{"revenue", "none"}))
	equal(t, string(many[0].Value), "1900")
	equal(t, many[1] == nil, true)
}

func TestTalliesAreListedChartedAndDeleted(t *testing.T) {
	client := newClient(t)
	tally := client.Tally("t/1")
	must[once.Tallied](t)(tally.Count(ctx, 2, once.Window("15m"), once.TTL(time.Hour)))
	must[once.Tallied](t)(tally.Count(ctx, 3, once.Window("15m"), once.At(time.Now().Add(-30*time.Minute))))
	same(t, must[[]once.TallyInfo](t)(client.Tallies(ctx, "t/")), []once.TallyInfo{{Key: "t/1", Kind: "count", Window: "15m"}})
	rows := must[[]once.Bucket](t)(tally.Series(ctx))
	equal(t, len(rows), 2)
	equal(t, fmt.Sprint(string(rows[0].Value), string(rows[1].Value)), "32")
	equal(t, must[int64](t)(tally.Value(ctx, once.Last(24*time.Hour))), int64(5))
	equal(t, must[int64](t)(tally.Value(ctx, once.Between(rows[1].At, time.Time{}))), int64(2))
	equal(t, must[bool](t)(tally.Delete(ctx)), true)
	equal(t, must[bool](t)(tally.Delete(ctx)), false)
	equal(t, must[int64](t)(client.DeleteTallies(ctx, "t/", false)), int64(0))
}

func TestCommitsByThemselves(t *testing.T) {
	client := newClient(t)
	effects := once.NewEffects().Append("l", 1, 2).Count("c", 1).Put("d", []int{1}, once.Create()).
		Max("max", 3).Min("min", 3).Distinct("people", []string{"a"}).Hit("pages", []string{"p"}).Bloom("filter", []string{"b"})
	done := must[once.Committed](t)(client.Commit(ctx, effects, once.ID("c-1")))
	equal(t, done.Replayed, false)
	equal(t, done.Logs[0].Last, int64(2))
	equal(t, must[once.Committed](t)(client.Commit(ctx, effects, once.ID("c-1"))).Replayed, true)
	equal(t, must[int64](t)(client.Tally("c").Value(ctx)), int64(1))
}

func TestACommitRemovesWhatIsThereAndPatchesOnlyThat(t *testing.T) {
	client := newClient(t)
	must[once.Committed](t)(client.Commit(ctx, once.NewEffects().Delete("none").Append("l", 1)))
	_, err := client.Commit(ctx, once.NewEffects().Patch("none", map[string]int{"n": 1}).Append("l", 2))
	equal(t, errors.Is(err, once.ErrNotFound), true)
	equal(t, len(must[[]once.Event](t)(client.Log("l").Read(ctx))), 1)
	if strings.Contains(must[string](t)(client.OpenAPI(ctx)), "required: [key, body]") {
		t.Skip("a server whose commits only put documents")
	}
	must[string](t)(client.Document("d").Put(ctx, map[string]int{"a": 1}, once.Create()))
	must[once.Committed](t)(client.Commit(ctx, once.NewEffects().Patch("d", map[string]int{"n": 1})))
	equal(t, string(must[*once.Snapshot](t)(client.Document("d").Get(ctx)).Value), `{"a":1,"n":1}`)
	must[once.Committed](t)(client.Commit(ctx, once.NewEffects().Delete("d")))
	equal(t, must[*once.Snapshot](t)(client.Document("d").Get(ctx)) == nil, true)
}

func TestClaimsByHand(t *testing.T) {
	client := newClient(t)
	claim := client.Claim("k")
	ticket, finished, err := claim.Take(ctx, once.TakeOptions{Owner: "me", Lease: time.Minute})
	check(t, err)
	if finished != nil || ticket.Fence == 0 {
		t.Fatal("not taken")
	}
	equal(t, must[*once.ClaimRecord](t)(claim.Get(ctx)).Owner, "me")
	check(t, claim.Renew(ctx, ticket, 2*time.Minute))
	equal(t, must[bool](t)(claim.Complete(ctx, ticket, map[string]int{"n": 1})), false)
	equal(t, must[bool](t)(claim.Complete(ctx, ticket, map[string]int{"n": 1})), true)
	_, finished, err = claim.Take(ctx, once.TakeOptions{})
	check(t, err)
	equal(t, string(finished.Result), `{"n":1}`)
	equal(t, must[[]once.ClaimRecord](t)(client.Claims(ctx, once.ClaimFilter{State: "done"}))[0].Key, "k")
	check(t, claim.Forget(ctx))
	equal(t, errors.Is(claim.Renew(ctx, ticket, time.Minute), once.ErrFenced), true)
	equal(t, must[*once.ClaimRecord](t)(claim.Get(ctx)) == nil, true)
	ticket, _, err = claim.Take(ctx, once.TakeOptions{})
	check(t, err)
	check(t, claim.Release(ctx, ticket, "later"))
	ticket, _, err = claim.Take(ctx, once.TakeOptions{})
	check(t, err)
	equal(t, string(ticket.Previous.Failure), `"later"`)
	check(t, claim.Fail(ctx, ticket, "never"))
	_, finished, err = claim.Take(ctx, once.TakeOptions{})
	check(t, err)
	equal(t, fmt.Sprint(finished.Failed, string(finished.Result)), `true"never"`)
}

func TestClaimsAreRetriedAndForgottenByPrefix(t *testing.T) {
	client := newClient(t)
	for _, key := range []string{"a/1", "a/2"} {
		_, err := client.Run(ctx, key, once.RunOptions{}, func(_ context.Context, a *once.Attempt) (any, error) {
			return nil, a.GiveUp("x")
		})
		equal(t, errors.Is(err, once.ErrFailed), true)
	}
	failed := once.ClaimFilter{Prefix: "a/", State: "failed", PageSize: 1}
	equal(t, len(must[[]once.ClaimRecord](t)(client.Claims(ctx, failed))), 2)
	equal(t, must[int64](t)(client.RetryClaims(ctx, once.ClaimFilter{Prefix: "a/"}, false)), int64(2))
	out := must[once.Outcome](t)(client.Run(ctx, "a/2", once.RunOptions{}, returning(1)))
	equal(t, out.Attempt, int64(2))
	equal(t, must[int64](t)(client.ForgetClaims(ctx, once.ClaimFilter{Prefix: "a/"}, true)), int64(2))
	equal(t, must[int64](t)(client.ForgetClaims(ctx, once.ClaimFilter{Prefix: "a/"}, false)), int64(2))
	equal(t, len(must[[]once.ClaimRecord](t)(client.Claims(ctx, once.ClaimFilter{Prefix: "a/"}))), 0)
}

func TestClaimsAreReleasedByTheirOwner(t *testing.T) {
	client := newClient(t)
	first, _, err := client.Claim("a").Take(ctx, once.TakeOptions{Owner: "one"})
	check(t, err)
	_, _, err = client.Claim("b").Take(ctx, once.TakeOptions{Owner: "two"})
	check(t, err)
	equal(t, must[int64](t)(client.ReleaseClaims(ctx, once.ClaimFilter{State: "busy", Owner: "one"}, false)), int64(1))
	equal(t, errors.Is(client.Claim("a").Renew(ctx, first, time.Minute), once.ErrFenced), true)
	equal(t, must[*once.ClaimRecord](t)(client.Claim("b").Get(ctx)).State, "busy")
}

func TestEventsAreProcessedOnce(t *testing.T) {
	client := newClient(t)
	event := map[string]any{"specversion": "1.0", "id": randomName(), "source": "/test", "type": "x", "data": 1}
	equal(t, must[*once.EventStatus](t)(client.SendEvent(ctx, event)).Status, "processed")
	equal(t, must[*once.EventStatus](t)(client.SendEvent(ctx, event)).Status, "skipped")
	equal(t, must[[]once.EventStatus](t)(client.SendEvents(ctx, []any{event}))[0].Status, "skipped")
}

func TestTheRestOfTheAPI(t *testing.T) {
	client := newClient(t)
	equal(t, len(must[[]once.Token](t)(client.Tokens(ctx))), 0)
	equal(t, len(must[[]once.HotKey](t)(client.Hot(ctx))), 0)
	equal(t, must[bool](t)(client.Ready(ctx)), true)
	equal(t, strings.Contains(string(must[json.RawMessage](t)(client.WhoAmI(ctx))), `"open":true`), true)
	equal(t, strings.Contains(string(must[json.RawMessage](t)(client.Health(ctx))), "instance"), true)
	equal(t, strings.Contains(must[string](t)(client.Metrics(ctx)), "once_"), true)
	equal(t, strings.Contains(must[string](t)(client.OpenAPI(ctx)), "openapi: 3.1.0"), true)
	must[[]bool](t)(client.Seen(ctx, "a"))
	items := must[[]json.RawMessage](t)(client.Items(ctx))
	equal(t, must[map[string]int64](t)(client.ImportItems(ctx, items, false))["imported"], int64(0))
	equal(t, must[*once.Answer](t)(client.Request(ctx, "GET", "/healthz", nil, once.RequestOptions{})).Status, 200)
	answer := must[*once.Answer](t)(client.Request(ctx, "POST", "/v1/seen", map[string]any{"ids": []string{"a"}}, once.RequestOptions{}))
	equal(t, strings.Contains(string(answer.Body), `"first":[false]`), true)
	for _, target := range []string{"healthz", "/a b", "/a\r\nX: y", "http://other/", "/a#b"} {
		_, err := client.Request(ctx, "GET", target, nil, once.RequestOptions{})
		equal(t, errors.Is(err, once.ErrInvalid), true)
	}
	nobody := connect(t, "http://127.0.0.1:1", once.Options{})
	equal(t, must[bool](t)(nobody.Ready(ctx)), false)
}
