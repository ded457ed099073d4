// contractdriver plays the scenarios of clients/contract with this client.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"net/http"
	"once"
)

type object = map[string]any

type scenario struct {
	URL    string
	Client struct{ Patience, Timeout, Token, Namespace string }
	Call   call
}

type call struct {
	Do      string
	Key     string
	Stream  string
	Lease   string
	TTL     string `json:"ttl"`
	Wait    string
	Payload any
	Work    work
	IDs     []string `json:"ids"`
	Events  []any
	Batch   string
	Expect  int64
	Take    int64
	Since   time.Time
	Value   any
	Create  bool
	IfMatch string `json:"if_match"`
	Set     object
	Amount  json.Number
	ID      string `json:"id"`
	Effects [][]any
}

type work struct {
	Effects   [][]any
	Until     string
	WaitsAt   string `json:"waits_at"`
	Raises    string
	GivesUp   any `json:"gives_up"`
	Prepares  any
	AppliesAt string `json:"applies_at"`
	Returns   any
}

// What the work of a scenario fails with.
type raised struct{ text string }

func (r raised) Error() string { return r.text }

var errorClasses = map[string]error{
	"Busy": once.ErrBusy, "Fenced": once.ErrFenced, "Mismatch": once.ErrMismatch, "Unavailable": once.ErrUnavailable,
	"Unknown": once.ErrUnknown, "Invalid": once.ErrInvalid, "PreconditionFailed": once.ErrPreconditionFailed,
	"NotFound": once.ErrNotFound, "Contended": once.ErrContended, "Closed": once.ErrClosed, "Denied": once.ErrDenied,
}

func duration(text string) time.Duration {
	if text == "" {
		return 0
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return parsed
}

func addEffects(effects *once.Effects, wanted [][]any) *once.Effects {
	for _, one := range wanted {
		name := one[1].(string)
		switch one[0] {
		case "append":
			effects.Append(name, one[2])
		case "add":
			amount, err := one[2].(json.Number).Int64()
			if err != nil {
				panic(err)
			}
			effects.Add(name, amount)
		case "put":
			var options []once.PartOption
			if len(one) > 3 {
				if etag, has := one[3].(object)["if_match"]; has {
					options = append(options, once.IfMatch(etag.(string)))
				} else {
					options = append(options, once.Create())
				}
			}
			effects.Put(name, one[2], options...)
		}
	}
	return effects
}

// A scenario's call, and how often its work ran.
type player struct {
	client *once.Client
	worked int
}

func (p *player) run(ctx context.Context, c call) (any, error) {
	options := once.RunOptions{Lease: duration(c.Lease), TTL: duration(c.TTL), Wait: duration(c.Wait), Payload: c.Payload}
	out, err := p.client.Run(ctx, c.Key, options, func(ctx context.Context, a *once.Attempt) (any, error) {
		p.worked++
		addEffects(a.Effects, c.Work.Effects)
		if c.Work.Until == "lost" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		if c.Work.WaitsAt != "" {
			if _, err := http.Get(c.Work.WaitsAt); err != nil {
				return nil, err
			}
		}
		if c.Work.Raises != "" {
			return nil, raised{c.Work.Raises}
		}
		if c.Work.GivesUp != nil {
			return nil, a.GiveUp(c.Work.GivesUp)
		}
		if c.Work.Prepares != nil {
			token, err := a.Prepare(ctx, c.Work.Prepares)
			if err == nil && c.Work.AppliesAt != "" {
				_, err = http.Post(c.Work.AppliesAt, "text/plain", strings.NewReader(token))
			}
			return nil, err
		}
		return c.Work.Returns, nil
	})
	return object{"result": out.Result, "replayed": out.Replayed}, err
}

func shown(events []once.Event) []object {
	out := []object{}
	for _, event := range events {
		out = append(out, object{"index": event.Index, "data": event.Data})
	}
	return out
}

func (p *player) follow(ctx context.Context, c call) (any, error) {
	var err error
	var events []once.Event
	for event := range p.client.Log(c.Stream).Follow(ctx, once.Limit(c.Take), once.Since(c.Since), once.ErrorTo(&err)) {
		events = append(events, event)
	}
	return shown(events), err
}

func (p *player) play(ctx context.Context, c call) (any, error) {
	client := p.client
	switch c.Do {
	case "run":
		return p.run(ctx, c)
	case "seen":
		return client.Seen(ctx, c.IDs...)
	case "append":
		var options []once.AppendOption
		if c.Batch != "" {
			options = append(options, once.Batch(c.Batch))
		}
		if c.Expect != 0 {
			options = append(options, once.Expect(c.Expect))
		}
		done, err := client.Log(c.Stream).Append(ctx, c.Events, options...)
		return object{"first": done.First, "last": done.Last, "replayed": done.Replayed}, err
	case "read":
		page, err := client.Log(c.Stream).ReadPage(ctx)
		return object{"events": shown(page.Events), "next": page.Next}, err
	case "follow":
		return p.follow(ctx, c)
	case "get":
		found, err := client.Document(c.Key).Get(ctx)
		if found == nil {
			return nil, err
		}
		return object{"value": found.Value, "etag": found.ETag}, err
	case "put":
		if c.Create {
			return client.Document(c.Key).Put(ctx, c.Value, once.Create())
		}
		return client.Document(c.Key).Put(ctx, c.Value, once.IfMatch(c.IfMatch))
	case "update":
		value := object{}
		err := client.Document(c.Key).Update(ctx, &value, func() error {
			for name, one := range c.Set {
				value[name] = one
			}
			return nil
		})
		return object{"value": value}, err
	case "delete":
		return client.Document(c.Key).Delete(ctx, once.IfMatch(c.IfMatch))
	case "add":
		amount, err := c.Amount.Int64()
		if err != nil {
			return nil, err
		}
		var options []once.MergeOption
		if c.ID != "" {
			options = append(options, once.ID(c.ID))
		}
		done, err := client.Tally(c.Key).Add(ctx, amount, options...)
		return object{"value": done.Value, "replayed": done.Replayed}, err
	case "value":
		return client.Tally(c.Key).Value(ctx)
	case "commit":
		done, err := client.Commit(ctx, addEffects(once.NewEffects(), c.Effects), once.ID(c.ID))
		return object{"replayed": done.Replayed}, err
	case "prepare":
		return client.Prepare(ctx, addEffects(once.NewEffects(), c.Effects))
	case "forget":
		return nil, client.Claim(c.Key).Forget(ctx)
	}
	return nil, fmt.Errorf("an unknown call: %s", c.Do)
}

func answerOf(s scenario) object {
	client, err := once.Connect(s.URL, once.Options{
		Patience: duration(s.Client.Patience), Timeout: duration(s.Client.Timeout), Token: s.Client.Token,
		Namespace: s.Client.Namespace,
	})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	p := &player{client: client}
	value, err := p.play(context.Background(), s.Call)
	var own raised
	var ours *once.Error
	switch {
	case err == nil:
		return object{"value": value, "worked": p.worked}
	case errors.As(err, &own):
		return object{"raised": own.text, "worked": p.worked}
	case errors.As(err, &ours):
		told := object{"code": ours.Code, "failure": ours.Failure}
		for name, class := range errorClasses {
			if errors.Is(err, class) {
				told["class"] = name
			}
		}
		return object{"error": told, "worked": p.worked}
	}
	panic(err)
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadString('\n')
		if strings.TrimSpace(line) == "" {
			if err != nil {
				return
			}
			continue
		}
		var given scenario
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.UseNumber()
		if err := decoder.Decode(&given); err != nil {
			panic(err)
		}
		encoded, err := json.Marshal(answerOf(given))
		if err != nil {
			panic(err)
		}
		fmt.Println(string(encoded))
	}
}
