// payments is a service whose POST takes effect once for each Idempotency-Key:
//
//	ONCE_STORE=./state go run ./examples/payments -listen 127.0.0.1:8080
//	curl -d '{"account":"a","cents":500}' -H 'Idempotency-Key: k-1' http://127.0.0.1:8080/payments
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"once"
)

type payment struct {
	Account string `json:"account"`
	Cents   int64  `json:"cents"`
}

type receipt struct {
	Number int64 `json:"number"`
	Cents  int64 `json:"cents"`
}

// What the card processor would do; the count shows how often it was really called.
func pay(client *once.Client) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var wanted payment
		if err := json.NewDecoder(r.Body).Decode(&wanted); err != nil || wanted.Account == "" || wanted.Cents <= 0 {
			http.Error(w, "an account and cents are needed", http.StatusBadRequest)
			return
		}
		charged, err := client.Tally("charges-"+wanted.Account).Add(r.Context(), 1)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable) // Frees the key.
			return
		}
		answer(w, http.StatusCreated, receipt{charged.Value, wanted.Cents})
	}
}

// The same for a job that is no HTTP request: once for each invoice, for any caller.
func remind(client *once.Client) http.HandlerFunc {
	send := once.Idempotent(client, func(invoice string) string { return "reminder-" + invoice },
		func(ctx context.Context, invoice string) (receipt, error) {
			once.CurrentAttempt(ctx).Effects.Append("reminders", map[string]string{"invoice": invoice})
			return receipt{Number: 1}, nil
		}, once.RunOptions{Wait: 10 * time.Second})
	return func(w http.ResponseWriter, r *http.Request) {
		sent, err := send(r.Context(), strings.TrimPrefix(r.URL.Path, "/reminders/"))
		switch {
		case errors.Is(err, once.ErrInvalid):
			http.Error(w, err.Error(), http.StatusBadRequest)
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			answer(w, http.StatusOK, sent)
		}
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address to listen on")
	flag.Parse()
	client, err := once.Connect("", once.Options{})
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("/payments", once.Middleware(client, pay(client), once.Rules{RequireKey: true}))
	http.Handle("/reminders/", remind(client))
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}
