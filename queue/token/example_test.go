package token_test

import (
	"errors"
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
	claims, err := entries.Verify(text)
	fmt.Println(claims.Event, claims.User, claims.ID, err)
	err = claims.For("show-2", "alice")
	fmt.Println(errors.Is(err, token.ErrEvent), token.Reason(err))
	// Output:
	// show-1 alice 1.42 <nil>
	// true wrong_event
}

func ExampleNewGates() {
	gates, err := token.NewGates(exampleRing(), token.Config{})
	if err != nil {
		panic(err)
	}
	text, err := gates.Issue(token.GateClaims{Event: "show-1", Position: 7})
	if err != nil {
		panic(err)
	}
	claims, err := gates.Verify(text, "show-1")
	fmt.Println(claims.Position, err)
	// Output: 7 <nil>
}

func ExampleNewPasses() {
	passes := token.NewPasses(exampleRing())
	request := token.Pass{Method: "POST", Path: "/api/seats/reserve", Event: "show-1", User: "alice"}
	text := passes.Sign(request)
	fmt.Println(passes.Check(text, request))
	request.User = "bob"
	fmt.Println(passes.Check(text, request))
	fmt.Println(passes.Check("true", request))
	// Output:
	// <nil>
	// token: bad_signature
	// token: malformed
}
