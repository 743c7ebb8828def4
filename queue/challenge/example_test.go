package challenge_test

import (
	"fmt"

	"github.com/millrace-go/millrace/queue/challenge"
	"github.com/millrace-go/millrace/queue/token"
)

// A challenge that an operator turns on and off.
func ExampleNew() {
	keys, err := token.NewRing("a secret of at least thirty-two bytes")
	if err != nil {
		fmt.Println(err)
		return
	}
	on := false
	c, err := challenge.New(challenge.Config{
		Keys:    keys,
		Limiter: buckets{}, // a limiter of package ratelimit/keyed
		On:      func(string) bool { return on },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	on = true
	fmt.Println(c.On("show-1"))
	// Output: true
}
