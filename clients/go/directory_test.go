package once_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"once"
)

// Whether a process runs. One that has ended, and that its parent has not asked about, does not.
func isRunning(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := strings.TrimSpace(string(text[strings.LastIndex(string(text), ")")+1:]))
	return !strings.HasPrefix(state, "Z")
}

// A binary that notes the process ids of the servers that a client starts, so that the test can end them. `running` has those
// that have not ended: a client on a slow machine may start a second one, which finds the first and ends.
func notedBinary(t *testing.T) (running func() []int) {
	home := t.TempDir()
	script := filepath.Join(home, "once")
	noted := filepath.Join(home, "pids")
	text := fmt.Sprintf("#!/bin/sh\necho $$ >> %s\nexec %s \"$@\"\n", noted, binary)
	check(t, os.WriteFile(script, []byte(text), 0o755))
	t.Setenv("ONCE_BINARY", script)
	running = func() []int {
		text, _ := os.ReadFile(noted)
		var all []int
		for _, line := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(line)
			check(t, err)
			if isRunning(pid) {
				all = append(all, pid)
			}
		}
		return all
	}
	t.Cleanup(func() { killAll(t, running()) }) // Nothing writes to the test's directory any more.
	return running
}

func killAll(t *testing.T, pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	waitUntil(t, func() bool {
		for _, pid := range pids {
			if isRunning(pid) {
				return false
			}
		}
		return true
	})
}

func TestADirectorysServerIsFoundOrStartedAndStartedAgain(t *testing.T) {
	running := notedBinary(t)
	directory := t.TempDir() + "/state"
	var clients [20]*once.Client
	var all sync.WaitGroup
	for i := range clients { // All at once; one server remains.
		all.Add(1)
		go func(i int) {
			defer all.Done()
			clients[i] = connect(t, directory, once.Options{})
		}(i)
	}
	all.Wait()
	waitUntil(t, func() bool { return len(running()) == 1 })
	for _, client := range clients {
		equal(t, client.URL(), clients[0].URL())
	}
	first := running()[0]
	equal(t, must[once.Outcome](t)(clients[0].Run(ctx, "k", once.RunOptions{}, returning(1))).Replayed, false)
	equal(t, must[once.Outcome](t)(clients[1].Run(ctx, "k", once.RunOptions{}, returning(1))).Replayed, true)
	events := clients[0].Log("l").Follow(ctx, once.Limit(1))
	killAll(t, running())
	equal(t, must[once.Outcome](t)(clients[1].Run(ctx, "k", once.RunOptions{}, returning(1))).Replayed, true)
	must[once.Appended](t)(clients[1].Log("l").Append(ctx, []any{"after"}))
	equal(t, string((<-events).Data), `"after"`)
	waitUntil(t, func() bool { return len(running()) == 1 })
	equal(t, running()[0] != first, true)
}

func TestTheTokenIsNotSentToWhatCannotProveItself(t *testing.T) {
	running := notedBinary(t)
	directory := t.TempDir() + "/state"
	client := connect(t, directory, once.Options{Token: "secret"})
	must[[]bool](t)(client.Seen(ctx, "a"))
	killAll(t, running())
	impostor, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer impostor.Close()
	var mutex sync.Mutex
	var got strings.Builder
	go func() {
		for {
			connection, err := impostor.Accept()
			if err != nil {
				return
			}
			piece := make([]byte, 65536)
			n, _ := connection.Read(piece)
			mutex.Lock()
			got.Write(piece[:n])
			mutex.Unlock()
			fmt.Fprint(connection, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{\"proof\":\"abcd\"}")
			connection.Close()
		}
	}()
	file := directory + "/server"
	text, err := os.ReadFile(file)
	check(t, err)
	lines := strings.Split(string(text), "\n")
	lines[0] = "http://" + impostor.Addr().String()
	check(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
	// What listens where the dead server was is asked for its proof, and nothing else. Then a real one is started.
	same(t, must[[]bool](t)(client.Seen(ctx, "a")), []bool{false})
	mutex.Lock()
	defer mutex.Unlock()
	if !strings.Contains(got.String(), "Once-Prove") || strings.Contains(got.String(), "secret") || strings.Contains(got.String(), "/v1/") {
		t.Errorf("the impostor got %q", got.String())
	}
}

func TestWithoutABinaryADirectoryIsUnavailable(t *testing.T) {
	t.Setenv("ONCE_BINARY", "/nowhere/once")
	_, err := once.Connect(t.TempDir()+"/state", once.Options{})
	equal(t, errors.Is(err, once.ErrUnavailable), true)
	t.Setenv("ONCE_BINARY", "")
	t.Setenv("PATH", "/nowhere")
	_, err = once.Connect(t.TempDir()+"/state", once.Options{})
	equal(t, errors.Is(err, once.ErrUnavailable), true)
	t.Setenv("ONCE_BINARY", "/bin/false")
	_, err = once.Connect(t.TempDir()+"/state", once.Options{})
	equal(t, errors.Is(err, once.ErrUnavailable), true)
}

func TestWithoutAnAddressItIsTheStoreOfTheEnvironment(t *testing.T) {
	t.Setenv("ONCE_STORE", sharedServer(t))
	t.Setenv("ONCE_NAMESPACE", randomName())
	client := connect(t, "", once.Options{})
	equal(t, client.URL(), sharedServer(t))
	same(t, must[[]bool](t)(client.Seen(ctx, "a")), []bool{true})
}

func TestTokensOpenOneNamespace(t *testing.T) {
	s := newServer(t)
	open := connect(t, s.url, once.Options{})
	made := must[*once.Token](t)(open.NewToken(ctx, once.TokenRequest{Namespace: "n", Label: "x", Expires: time.Hour}))
	file := t.TempDir() + "/token"
	check(t, os.WriteFile(file, []byte(made.Secret+"\n"), 0o600))
	client := connect(t, s.url, once.Options{TokenFile: file})
	same(t, must[[]bool](t)(client.Seen(ctx, "a")), []bool{true})
	_, err := open.Seen(ctx, "a")
	equal(t, errors.Is(err, once.ErrDenied), true)
	_, err = connect(t, s.url, once.Options{TokenFile: file, Namespace: "other"}).Seen(ctx, "a")
	equal(t, errors.Is(err, once.ErrDenied), true)
	t.Setenv("ONCE_TOKEN_FILE", file)
	must[[]bool](t)(connect(t, s.url, once.Options{}).Seen(ctx, "a"))
	_, err = once.Connect(s.url, once.Options{TokenFile: file + "-none"})
	equal(t, errors.Is(err, once.ErrInvalid), true)
}

func writeCertificate(t *testing.T, home string) (certificate, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "once"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	made, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	check(t, err)
	encoded, err := x509.MarshalECPrivateKey(private)
	check(t, err)
	certificate, key = home+"/cert.pem", home+"/key.pem"
	check(t, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made}), 0o600))
	check(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}), 0o600))
	return certificate, key
}

func TestTLSIsVerifiedAndADirectorysCertificateIsKnown(t *testing.T) {
	certificate, key := writeCertificate(t, t.TempDir())
	s := newServer(t, "--tls-cert", certificate, "--tls-key", key)
	equal(t, strings.HasPrefix(s.url, "https://"), true)
	must[[]bool](t)(connect(t, s.url, once.Options{CAFile: certificate}).Seen(ctx, "a"))
	_, err := connect(t, s.url, once.Options{Patience: -1}).Seen(ctx, "a")
	equal(t, errors.Is(err, once.ErrUnavailable), true)
	must[[]bool](t)(connect(t, s.directory+"/store", once.Options{}).Seen(ctx, "a"))
	mutual := newServer(t, "--tls-cert", certificate, "--tls-key", key, "--tls-client-ca", certificate)
	must[[]bool](t)(connect(t, mutual.url, once.Options{CAFile: certificate, CertFile: certificate, KeyFile: key}).Seen(ctx, "a"))
	_, err = connect(t, mutual.url, once.Options{CAFile: certificate, Patience: -1}).Seen(ctx, "a")
	equal(t, err != nil, true)
}
