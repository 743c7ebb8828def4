package memsse_test

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/memsse"
)

func ExampleNew_cap() {
	c, _ := memsse.New()
	ctx, rules := context.Background(), driver.Rules{Max: 1, Lifetime: time.Hour}
	live, err := c.Renew(ctx, "one", time.Minute)
	if err != nil {
		panic(err)
	}
	for _, id := range []string{"one.1", "one.2"} {
		opened, err := c.Open(ctx, rules, live, driver.Conn{Member: "ann", ID: id, Token: "tab " + id})
		if err != nil {
			panic(err)
		}
		fmt.Println(id, opened.Evicted)
	}
	// Output:
	// one.1 []
	// one.2 [{ann one.1 tab one.1}]
}

func ExampleNew_broker() {
	_, b := memsse.New()
	ctx, cancel := context.WithCancel(context.Background())
	up, done := make(chan struct{}), make(chan error)
	go func() {
		done <- b.Listen(ctx, driver.Listener{
			Hear: func(m driver.Message) { fmt.Printf("%s: %q\n", m.To, m.Frame) },
			Up:   func() { close(up) },
			Down: func() {},
		})
	}()
	<-up
	if err := b.Publish(ctx, driver.Message{Kind: driver.ToMember, To: "ann", Frame: []byte("data: hello\n\n")}); err != nil {
		panic(err)
	}
	cancel()
	fmt.Println(<-done)
	// Output:
	// ann: "data: hello\n\n"
	// <nil>
}
