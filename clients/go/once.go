// Package once is the client of Once: things take effect once, on a world that delivers at least once.
//
//	client, err := once.Connect("http://127.0.0.1:7600", once.Options{})
//	out, err := client.Run(ctx, "invoice-42", once.RunOptions{}, func(ctx context.Context, a *once.Attempt) (any, error) {
//		return charge(ctx, a.Fence)
//	})
//
// What may be repeated is repeated with jitter under one id, so that a lost answer is never a second effect. An error
// that is ErrUnavailable says that nothing was written, ErrUnknown that it may have been.
package once

import (
	"context"
	cryptorand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	version         = "0.1.0"
	defaultPatience = 60 * time.Second
	defaultTimeout  = 10 * time.Second
)

// Options of a client. The zero value is good.
type Options struct {
	// Token is sent with each request; without it that of TokenFile, $ONCE_TOKEN or the file $ONCE_TOKEN_FILE.
	Token     string
	TokenFile string
	// Namespace separates tenants; without it $ONCE_NAMESPACE.
	Namespace string
	// Patience is how long a call is tried (60s), Timeout how long one try may take (10s). A negative Patience is none:
	// one try.
	Patience time.Duration
	Timeout  time.Duration
	// Owner is a label for people; without it the host's name and the process id.
	Owner string
	// CAFile has the authorities (PEM) that sign the server's certificate, in place of the system's. CertFile and KeyFile are what the
	// client shows. TLS is for anything else.
	CAFile, CertFile, KeyFile string
	TLS                       *tls.Config
	// OnNotice is told of requests, runs and renewals, for logs and metrics. It must not block.
	OnNotice func(Notice)
	// Tracing makes spans and passes them on, by OpenTelemetry or anything like it.
	Tracing Tracing
}

// Client talks to one server. It is safe for use by several goroutines.
type Client struct {
	// Constant after Connect.
	options   Options
	header    http.Header // On every request.
	transport *transport

	chanceMutex sync.Mutex
	chance      *rand.Rand // Guarded by chanceMutex.
}

// Connect makes a client of a server ("http://127.0.0.1:7600"), or of a directory ("./state"): then the server that owns it
// is found, or started with the binary `once` of PATH or of $ONCE_BINARY. Such a server ends a minute after its last
// client. Without an address it is $ONCE_STORE, else the default store.
//
// A server at a URL is not asked anything yet; that of a directory is found or started before Connect returns.
func Connect(address string, options Options) (*Client, error) {
	if address == "" {
		var err error
		if address, err = defaultStore(os.Getenv, os.Geteuid()); err != nil {
			return nil, err
		}
	}
	c := &Client{options: options, chance: newChance()}
	if err := c.complete(); err != nil {
		return nil, err
	}
	settings, err := options.tls()
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://") {
		parsed, err := url.Parse(address)
		if err != nil || parsed.Hostname() == "" || parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
			return nil, invalid("not the URL of a server: %s", withoutSecrets(parsed))
		}
		c.transport = newTransport(newEndpoint(strings.TrimRight(address, "/"), settings), nil)
		return c, nil
	}
	path, err := storeDirectory(address)
	if err != nil {
		return nil, err
	}
	c.transport = newTransport(nil, &directory{path: path, started: func() {
		c.tell("server_started", map[string]any{"directory": path})
	}})
	ctx, cancel := context.WithTimeout(context.Background(), longer(c.options.Timeout, startWithin))
	defer cancel()
	if _, err := c.transport.current(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Fills in what was not given, and makes the headers of all requests.
func (c *Client) complete() error {
	o := &c.options
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	o.Patience = longer(o.Patience, 0)
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Owner == "" {
		host, _ := os.Hostname()
		o.Owner = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	if err := o.readToken(); err != nil {
		return err
	}
	if o.Namespace == "" {
		o.Namespace = os.Getenv("ONCE_NAMESPACE")
	}
	c.header = http.Header{"User-Agent": {"once-client-go/" + version}}
	if o.Token != "" {
		c.header.Set("Authorization", "Bearer "+o.Token)
	}
	if o.Namespace != "" {
		c.header.Set("Once-Namespace", o.Namespace)
	}
	return checkHeader(c.header)
}

func (o *Options) readToken() error {
	file := o.TokenFile
	if o.Token == "" && file == "" {
		if o.Token = os.Getenv("ONCE_TOKEN"); o.Token == "" {
			file = os.Getenv("ONCE_TOKEN_FILE")
		}
	}
	if o.Token != "" || file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return caused("invalid", err, "cannot read the token")
	}
	if o.Token = strings.TrimSpace(string(text)); o.Token == "" {
		return invalid("there is no token in %s", file)
	}
	return nil
}

func (o *Options) tls() (*tls.Config, error) {
	settings := &tls.Config{}
	if o.TLS != nil {
		settings = o.TLS.Clone()
	}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, caused("invalid", err, "cannot read the authorities")
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(pem) {
			return nil, invalid("there is no certificate in %s", o.CAFile)
		}
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return nil, invalid("CertFile and KeyFile come together")
	}
	if o.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, caused("invalid", err, "cannot read the client's certificate")
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	return settings, nil
}

// URL is that of the server as it was last known.
func (c *Client) URL() string { return c.transport.url() }

// Close closes connections that are idle. A server that was started for a directory ends by itself.
func (c *Client) Close() { c.transport.close() }

// Another one every time.
func newID() string {
	var bytes [16]byte
	if _, err := cryptorand.Read(bytes[:]); err != nil {
		panic("once: the system has no randomness: " + err.Error())
	}
	return "go-" + hex.EncodeToString(bytes[:])
}

// The default source of math/rand is the same in every process, which would then all pause alike.
func newChance() *rand.Rand {
	seed := time.Now().UnixNano()
	var bytes [8]byte
	if _, err := cryptorand.Read(bytes[:]); err == nil {
		seed = int64(binary.LittleEndian.Uint64(bytes[:]))
	}
	return rand.New(rand.NewSource(seed))
}

func withoutSecrets(parsed *url.URL) string {
	if parsed == nil {
		return "it cannot be read"
	}
	return parsed.Scheme + "://" + parsed.Hostname()
}

func checkHeader(header http.Header) error {
	for name, values := range header {
		for _, value := range values {
			if !isPrintable(value) {
				return invalid("what is given for %s cannot be a header", name)
			}
		}
	}
	return nil
}

func isPrintable(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

func longer(a, b time.Duration) time.Duration {
	if a > b {
		return a
	}
	return b
}

func shorter(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}

func least(a, b int) int {
	if a < b {
		return a
	}
	return b
}
