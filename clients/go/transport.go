package once

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

const (
	connectWithin = 5 * time.Second
	idleFor       = 30 * time.Second
	mostIdle      = 256
)

// A server, and the connections to it.
type endpoint struct {
	url    string
	base   *url.URL
	pooled *http.Transport
	fresh  *http.Transport // Every request has a connection of its own.
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func newEndpoint(address string, settings *tls.Config) *endpoint {
	plain := &net.Dialer{Timeout: connectWithin}
	return endpointWith(address, plain.DialContext, nil, settings)
}

func endpointWith(address string, dial, dialTLS dialer, settings *tls.Config) *endpoint {
	base, err := url.Parse(address)
	if err != nil {
		base = &url.URL{Scheme: "http", Host: "invalid."} // It cannot be reached, and calls say so.
	}
	pooled := &http.Transport{
		DialContext:         dial,
		DialTLSContext:      dialTLS,
		TLSClientConfig:     settings,
		TLSHandshakeTimeout: connectWithin,
		MaxIdleConnsPerHost: mostIdle,
		IdleConnTimeout:     idleFor,
		DisableCompression:  true,
		// No Proxy: the environment's is not for this. No HTTP/2: the server has none.
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
	fresh := pooled.Clone()
	fresh.DisableKeepAlives = true
	return &endpoint{address, base, pooled, fresh}
}

func (e *endpoint) close() {
	e.pooled.CloseIdleConnections()
	e.fresh.CloseIdleConnections()
}

// Sends requests, and says what became of each: answered, lost or never sent.
type transport struct {
	directory *directory // Nil if there is a URL.

	mutex sync.Mutex
	known *endpoint // Guarded. Nil if the directory's server is to be found.
	last  string    // Guarded.
}

func newTransport(known *endpoint, home *directory) *transport {
	t := &transport{directory: home, known: known}
	if known != nil {
		t.last = known.url
	}
	return t
}

func (t *transport) url() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.last
}

// The server; that of a directory is found, or started.
func (t *transport) current(ctx context.Context) (*endpoint, error) {
	t.mutex.Lock()
	known := t.known
	t.mutex.Unlock()
	if known != nil {
		return known, nil
	}
	found, err := t.directory.find(ctx)
	if err != nil {
		return nil, err
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.known == nil || t.known.url != found.url {
		t.known, t.last = endpointOf(found), found.url
	}
	return t.known, nil
}

// The server of a directory may be gone: who has it is asked anew.
func (t *transport) failed(used *endpoint) {
	if t.directory == nil {
		return
	}
	t.mutex.Lock()
	if t.known == used {
		t.known = nil
	}
	t.mutex.Unlock()
	used.close()
}

func (t *transport) close() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.known != nil {
		t.known.close()
	}
}

// One try.
func (t *transport) send(ctx context.Context, r *request, header http.Header, timeout time.Duration) reply {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	response, used, got := t.begin(ctx, r, header)
	if response == nil {
		return got
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errors.New("the answer is too long")
	}
	if err != nil {
		t.failed(used)
		return reply{sent: true, err: opaque(err)}
	}
	return reply{answer: &Answer{response.StatusCode, response.Header, body}, sent: true}
}

// Sends it and waits for the head of the answer, whose body the caller closes.
func (t *transport) begin(ctx context.Context, r *request, header http.Header) (*http.Response, *endpoint, reply) {
	used, err := t.current(ctx)
	if err != nil {
		return nil, nil, reply{err: opaque(err)}
	}
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	sent := httpRequest(used, r, header).WithContext(httptrace.WithClientTrace(ctx, trace))
	through := used.pooled
	if r.once {
		through = used.fresh // What may not be sent twice (docs/hazards.md#h40).
	}
	response, err := through.RoundTrip(sent)
	if err != nil {
		t.failed(used)
		return nil, nil, reply{sent: connected.Load(), err: opaque(err)}
	}
	return response, used, reply{}
}

func httpRequest(used *endpoint, r *request, header http.Header) *http.Request {
	// The target is written as it is: names are escaped in it already.
	target := &url.URL{Scheme: used.base.Scheme, Host: used.base.Host, Opaque: used.base.EscapedPath() + r.target}
	sent := &http.Request{Method: r.method, URL: target, Host: target.Host, Header: header, ProtoMajor: 1, ProtoMinor: 1}
	if r.body != nil {
		// Without GetBody, net/http does not repeat it behind our back: what is repeated is counted here. Of a type that
		// net/http knows to be in memory, so that head and body leave together.
		sent.Body = io.NopCloser(bytes.NewReader(r.body))
		sent.ContentLength = int64(len(r.body))
	}
	return sent
}

// Its text only. The end of a single try is not the end of the caller's context.
func opaque(err error) error { return errors.New(err.Error()) }
