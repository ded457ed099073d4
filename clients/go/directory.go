package once

import (
	"bufio"
	"context"
	"crypto/hmac"
	cryptorand "crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	mostOfAddress = 4096 // Bytes of the file with a server's address.
	startWithin   = 30 * time.Second
	proveWithin   = 2 * time.Second
	serverIdle    = "60s"
)

// The directory of an embedded store.
//
// A server leaves its URL, its instance, a secret and the SHA-256 of its certificates in DIR/server, one a line, which only
// the directory's owner can read. What listens at that URL may be another program by now. So on each new connection, before
// anything else is sent on it, the server proves that it knows the secret: it answers a new number with an HMAC over
// it and its URL (docs/threats.md).
type directory struct {
	path    string
	started func()
}

// What a server left in its directory.
type proof struct {
	url          string
	secret       string
	certificates map[string]bool // SHA-256 as hex; empty without TLS.
}

// One goroutine of this process starts a server; of several processes, the servers themselves agree on one.
var starting sync.Mutex

// The server that owns the directory and has proved it. Starts one if none is running.
func (d *directory) find(ctx context.Context) (*proof, error) {
	for {
		if found := d.proven(ctx); found != nil {
			return found, nil
		}
		if err := d.startIfNone(ctx); err != nil {
			return nil, err
		}
		if found := d.proven(ctx); found != nil {
			return found, nil
		}
		if !sleep(ctx, 50*time.Millisecond) {
			return nil, caused("unavailable", ctx.Err(), "no server of %s answers", d.path)
		}
	}
}

func (d *directory) proven(ctx context.Context) *proof {
	found := readAddress(d.path)
	if found == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, proveWithin)
	defer cancel()
	connection, err := found.dial(ctx)
	if err != nil {
		return nil
	}
	connection.Close()
	return found
}

// A start goes on if the context ends first, so that short tries get there together.
func (d *directory) startIfNone(ctx context.Context) error {
	done := make(chan error, 1)
	go func() {
		starting.Lock()
		defer starting.Unlock()
		if d.proven(context.Background()) != nil {
			done <- nil
			return
		}
		done <- d.start()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return caused("unavailable", ctx.Err(), "a server of %s is being started", d.path)
	}
}

// Starts a server that ends by itself, and waits for its line. If another server has the directory by then, the line is
// about that one.
func (d *directory) start() error {
	server, err := d.command()
	if err != nil {
		return err
	}
	output, err := server.StdoutPipe()
	if err != nil {
		return caused("unavailable", err, "cannot start %s", server.Path)
	}
	complaints, err := server.StderrPipe()
	if err != nil {
		return caused("unavailable", err, "cannot start %s", server.Path)
	}
	if err := server.Start(); err != nil {
		return caused("unavailable", err, "cannot start %s", server.Path)
	}
	complaint, ready := make(chan string, 1), make(chan bool, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(complaints, 1000))
		complaint <- strings.TrimSpace(string(text))
	}()
	go func() {
		_, err := bufio.NewReader(io.LimitReader(output, mostOfAddress)).ReadString('\n')
		ready <- err == nil
	}()
	up := receive(ready, startWithin, false)
	why := ""
	if !up {
		_ = server.Process.Kill()
		why = receive(complaint, time.Second, "it did not answer")
	}
	// A server whose pipes nobody reads would wait for ever once they are full.
	output.Close()
	complaints.Close()
	go func() { _ = server.Wait() }() // Reaps it when it ends.
	if !up {
		return failure("unavailable", "%s did not start: %s", server.Path, why)
	}
	d.started()
	return nil
}

func receive[T any](from <-chan T, within time.Duration, otherwise T) T {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case value := <-from:
		return value
	case <-timer.C:
		return otherwise
	}
}

func (d *directory) command() (*exec.Cmd, error) {
	binary, err := findBinary()
	if err != nil {
		return nil, err
	}
	server := exec.Command(binary, "serve", "--store", d.path, "--listen", "127.0.0.1:0", "--exit-when-idle", serverIdle)
	server.Dir = "/"
	server.SysProcAttr = ownSession()
	for _, one := range os.Environ() {
		if !strings.HasPrefix(one, "ONCE_") {
			server.Env = append(server.Env, one)
		}
	}
	return server, nil
}

// Absolute, because the server runs in another directory.
func findBinary() (string, error) {
	given := os.Getenv("ONCE_BINARY")
	if strings.ContainsRune(given, filepath.Separator) {
		return filepath.Abs(given)
	}
	name := given
	if name == "" {
		name = "once"
	}
	found, err := exec.LookPath(name)
	if err == nil {
		return filepath.Abs(found)
	}
	if given != "" {
		return "", caused("unavailable", err, "cannot start a server")
	}
	return "", failure("unavailable", "there is no 'once' on PATH, and ONCE_BINARY is not set: no server can be started")
}

// What a server left. Nil if there is nothing that can be trusted.
func readAddress(path string) *proof {
	file, err := openOwned(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostOfAddress))
	if err != nil {
		return nil
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 4 || lines[0] == "" || lines[2] == "" {
		return nil
	}
	found := &proof{url: lines[0], secret: lines[2], certificates: map[string]bool{}}
	for _, one := range strings.Fields(lines[3]) {
		found.certificates[strings.ToLower(strings.ReplaceAll(one, ":", ""))] = true
	}
	return found
}

func endpointOf(p *proof) *endpoint {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx) }
	return endpointWith(p.url, dial, dial, nil)
}

// A connection to the server, which has proved itself on it.
func (p *proof) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	parsed, err := url.Parse(p.url)
	if err != nil {
		return nil, err
	}
	plain, err := (&net.Dialer{}).DialContext(ctx, "tcp", parsed.Host)
	if err != nil {
		return nil, err
	}
	connection := plain
	if parsed.Scheme == "https" {
		connection = tls.Client(plain, p.pinned())
	}
	err = p.challengeUntil(ctx, connection, parsed.Host)
	if err == nil {
		err = connection.SetDeadline(time.Time{})
	}
	if err != nil {
		connection.Close()
		return nil, err
	}
	return connection, nil
}

// The same, but no longer than the context.
func (p *proof) challengeUntil(ctx context.Context, connection net.Conn, host string) error {
	if deadline, has := ctx.Deadline(); has {
		_ = connection.SetDeadline(deadline)
	}
	answered, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-ctx.Done():
			_ = connection.SetDeadline(time.Unix(1, 0))
		case <-answered:
		}
	}()
	err := p.challenge(connection, host)
	close(answered)
	<-stopped // From here on nobody else sets a deadline.
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// The certificate may have any name and any authority, but must be one of the server's own.
func (p *proof) pinned() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(state tls.ConnectionState) error {
		for _, shown := range state.PeerCertificates[:1] {
			sum := sha256.Sum256(shown.Raw)
			if p.certificates[hex.EncodeToString(sum[:])] {
				return nil
			}
		}
		return errors.New("the certificate is not that of the directory's server")
	}}
}

func (p *proof) challenge(connection net.Conn, host string) error {
	var random [16]byte
	if _, err := cryptorand.Read(random[:]); err != nil {
		return err
	}
	number := hex.EncodeToString(random[:])
	if _, err := fmt.Fprintf(connection, "GET /healthz HTTP/1.1\r\nHost: %s\r\nOnce-Prove: %s\r\n\r\n", host, number); err != nil {
		return err
	}
	// The server says no more than its answer until it is asked again, so the buffer keeps nothing back.
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var told struct {
		Proof string `json:"proof"`
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, mostOfAddress))
	if err != nil || response.Close || json.Unmarshal(body, &told) != nil {
		return errors.New("what listens there is not the directory's server")
	}
	expected := hmac.New(sha256.New, []byte(p.secret))
	fmt.Fprintf(expected, "once-prove\n%s\n%s", number, p.url)
	if subtle.ConstantTimeCompare([]byte(hex.EncodeToString(expected.Sum(nil))), []byte(told.Proof)) != 1 {
		return errors.New("what listens there is not the directory's server")
	}
	return nil
}

// $ONCE_STORE, else the directory that every command uses.
func defaultStore(environment func(string) string, user int) (string, error) {
	if given := environment("ONCE_STORE"); given != "" {
		return given, nil
	}
	if state := environment("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "once"), nil
	}
	if user == 0 {
		return "/var/lib/once", nil
	}
	if home := environment("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local/state/once"), nil
	}
	return "", failure("unavailable", "no store: neither an address nor ONCE_STORE nor HOME is set")
}

var hostAndPort = regexp.MustCompile(`^[A-Za-z0-9.\[\]:-]+:[0-9]+$`)

func storeDirectory(address string) (string, error) {
	if !strings.HasPrefix(address, "rocksdb:") && hostAndPort.MatchString(address) {
		return "", invalid("the URL of a server begins with http:// or https://, unlike %q", address)
	}
	address = strings.TrimPrefix(address, "rocksdb:")
	if scheme, _, is := strings.Cut(address, "://"); is || strings.HasPrefix(address, "memory:") {
		return "", invalid("a client talks to a server or a directory: run 'once serve' on that %s store", strings.TrimSuffix(scheme, ":"))
	}
	path, err := filepath.Abs(address)
	if err != nil {
		return "", caused("invalid", err, "not a directory: %s", address)
	}
	return path, nil
}
