package token_test

import (
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/queue/token"
)

// exampleRing is a ring of a published secret: take your own from the environment.
func exampleRing() *token.Ring {
	r, err := token.NewRing("0123456789abcdef0123456789abcdef")
	if err != nil {
		panic(err)
	}
	return r
}

func ExampleNewRing() {
	_, err := token.NewRing(strings.Repeat("x", 16))
	fmt.Println(err)
	// Output: token: secret 1 of 1 is 16 bytes long; use at least 32, such as the output of: openssl rand -hex 32
}

func ExampleNewEntries() {
	entries, err := token.NewEntries(exampleRing(), token.Config{})
	if err != nil {
		panic(err)
	}
	text, err := entries.Issue(token.EntryClaims{Event: "show-1", User: "alice", ID: "1.42"})
	if err != nil {
		panic(err)
	}
	claims, err := entries.Verify(text, "show-1")
	fmt.Println(claims.Event, claims.User, claims.ID, err)
	_, err = entries.Verify(text, "show-2")
	fmt.Println(token.Reason(err))
	// Output:
	// show-1 alice 1.42 <nil>
	// wrong_event
}

func ExamplePass_Sign() {
	request := token.Pass{Method: "POST", Path: "/api/seats/reserve", Event: "show-1", User: "alice"}
	pass := request.Sign(exampleRing()) // for the header X-Queue-Pass
	fmt.Println(len(strings.Split(pass, ".")), "parts")
	// Output: 3 parts
}
