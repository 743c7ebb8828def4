package seal_test

import (
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/seal"
)

// exampleRing is a ring of a published secret: take your own from the environment.
func exampleRing() *seal.Ring {
	r, err := seal.NewRing("0123456789abcdef0123456789abcdef")
	if err != nil {
		panic(err)
	}
	return r
}

func ExampleNewTickets() {
	tickets := seal.NewTickets(exampleRing())
	text := tickets.Seal(seal.Ticket{Event: "show-1", User: "alice", Epoch: 1, Order: 1760000000000042, Until: time.UnixMilli(1760000122000)})
	fmt.Println(text)
	ticket, err := tickets.Open(text, "show-1", "alice")
	fmt.Println(ticket.Epoch, ticket.Order, ticket.Until.UnixMilli(), err)
	_, err = tickets.Open(text, "show-1", "bob")
	fmt.Println(err)
	// Output:
	// hfSTmAAAAAAAAAABAAZAte7OACoBmcgunJDkKbv41O7B-quxGglxulZl
	// 1 1760000000000042 1760000122000 <nil>
	// token: bad_signature
}

func ExampleNewRequests() {
	requests := seal.NewRequests(exampleRing())
	id := requests.Seal(seal.Request{Event: "show-1", Position: 7, Epoch: 1, Issued: time.Now()})
	r, err := requests.Open(id, "show-1", "")
	fmt.Println(len(id), r.Position, r.Epoch, err)
	// Output: 56 7 1 <nil>
}
