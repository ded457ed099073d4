package once

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	quietFor = 45 * time.Second // A server sends a heartbeat every 15 s.
	mostLine = 64 << 20
)

// Follow gives events as they come. It resumes by itself, with no gap and no repeat, and the channel is closed when the
// context ends, when the log is closed and read to its end, after Limit events, or when no server was there for the client's
// patience or refused; ErrorTo tells why. It starts at 1 unless From or Since is given.
//
// A caller that stops reading before ends the context, else the goroutine behind the channel waits for ever.
func (l *Log) Follow(ctx context.Context, options ...FollowOption) <-chan Event {
	given := gathered(options)
	f := &follower{log: l, next: longest(given.from, 1), since: given.since, left: given.limit, limited: given.limit > 0, events: make(chan Event)}
	go func() {
		defer close(f.events)
		err := f.follow(ctx)
		if ctx.Err() != nil {
			err = nil
		}
		if err != nil {
			l.client.tell("follow_ended", map[string]any{"stream": l.stream, "code": err.Code})
		}
		if given.failure != nil {
			*given.failure = nil
			if err != nil {
				*given.failure = err
			}
		}
	}()
	return f.events
}

func longest(a, b int64) int64 {
	if a > b {
		return a
	}
	return b
}

// What to ask next, and what the lines of the answer mean.
type follower struct {
	log     *Log
	next    int64
	since   time.Time // Until the first event came: in place of next.
	left    int64
	limited bool
	events  chan Event
	alive   time.Time
	ended   bool
}

func (f *follower) follow(ctx context.Context) *Error {
	target, err := pathOf("logs", f.log.stream, "")
	if err != nil {
		return asError(err)
	}
	c := f.log.client
	pauses := c.newBackoff(firstPause, longestPause)
	f.alive = time.Now()
	for !f.ended {
		before := f.alive
		refused, final := f.once(ctx, target)
		if f.ended || ctx.Err() != nil {
			return nil
		}
		if final {
			return refused
		}
		if f.alive.After(before) {
			pauses.reset()
		}
		if time.Since(f.alive) > c.options.Patience {
			return refused
		}
		if !sleep(ctx, pauses.next()) {
			return nil
		}
	}
	return nil
}

func asError(err error) *Error {
	var ours *Error
	if !errors.As(err, &ours) {
		ours = caused("unavailable", err, "the stream broke")
	}
	return ours
}

// One connection, to its end: why it ended, and whether another would end like that.
func (f *follower) once(ctx context.Context, target string) (why *Error, final bool) {
	c := f.log.client
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(c.options.Timeout, cancel) // Until the head of the answer is there.
	defer quiet.Stop()
	query := parameters{"follow": "true"}.time("since", f.since)
	if f.since.IsZero() {
		query = query.number("from", f.next)
	}
	r := get(query.on(target))
	r.once = true // On a connection of its own.
	header := http.Header{}
	for name, values := range c.header {
		header[name] = values
	}
	header.Set("Accept", "text/event-stream")
	c.inject(ctx, header)
	response, used, got := c.transport.begin(ctx, r, header)
	if response == nil {
		return judge(r, got).err, false
	}
	defer response.Body.Close()
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") || response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
		found := judge(r, reply{answer: &Answer{response.StatusCode, response.Header, body}, sent: true})
		if found.err == nil {
			return failure("unavailable", "the answer is no stream of events"), false
		}
		return found.err, found.final
	}
	err := f.read(ctx, bufio.NewReader(response.Body), quiet)
	c.transport.failed(used)
	return caused("unavailable", opaque(err), "the stream broke off"), false
}

// Lines until the stream breaks or the log ends.
func (f *follower) read(ctx context.Context, from *bufio.Reader, quiet *time.Timer) error {
	var data [][]byte
	var id, event string
	for !f.ended {
		quiet.Reset(quietFor)
		line, err := readLine(from)
		if err != nil {
			return err
		}
		f.alive = time.Now()
		if len(line) > 0 {
			name, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(name) {
			case "data":
				data = append(data, value)
			case "id":
				id = string(value)
			case "event":
				event = string(value)
			}
			continue
		}
		if event == "end" {
			f.ended = true
		}
		if event == "" && len(data) > 0 {
			if err := f.take(ctx, id, bytes.Join(data, []byte("\n"))); err != nil {
				return err
			}
		}
		data, event = nil, ""
	}
	return io.EOF
}

func readLine(from *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := from.ReadSlice('\n')
		line = append(line, piece...)
		if err == nil {
			return bytes.TrimRight(line, "\r\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		if len(line) > mostLine {
			return nil, errors.New("a line of the stream is too long")
		}
	}
}

func (f *follower) take(ctx context.Context, id string, text []byte) error {
	index, err := strconv.ParseInt(id, 10, 64)
	if err != nil || index < f.next { // It was delivered before the connection broke.
		return nil
	}
	var event Event
	if err := json.Unmarshal(text, &event); err != nil {
		return err
	}
	event.Index = index
	select {
	case f.events <- event:
	case <-ctx.Done():
		return ctx.Err()
	}
	f.next, f.since = index+1, time.Time{}
	if f.limited {
		f.left--
		f.ended = f.left <= 0
	}
	return nil
}
