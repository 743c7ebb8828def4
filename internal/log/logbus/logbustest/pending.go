package logbustest

import (
	"fmt"
	"testing"

	"github.com/millrace-go/millrace/internal/sourcetest"
)

// Pending checks the pending messages that a bus shows without consuming them. The URL's topics
// may have one lane or more.
func Pending(t *testing.T, tr Transport, url string) {
	b := tr.Open(t, url, Settings{})
	pending := func(topic, group string, limit int) []string {
		t.Helper()
		got, err := b.Pending(t.Context(), topic, group, limit)
		if err != nil {
			t.Fatal(err)
		}
		out := []string{}
		for _, m := range got {
			out = append(out, string(m.Payload))
		}
		return out
	}
	same := func(what string, got, want []string) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	same("a topic that does not exist", pending("topic", "group", 10), nil)
	var all []string
	for n := range 12 {
		all = append(all, fmt.Sprint(n))
		sourcetest.Publish(t, b, "topic", Keyed("k", fmt.Sprint(n)))
	}
	same("a group that does not exist", pending("topic", "group", 100), all)
	declare(t, b, "topic", "group")
	same("a group that has read nothing", pending("topic", "group", 5), all[:5])
	sub := sourcetest.Subscriber(b.Driver(), "group", 10)
	t.Cleanup(func() { sub.Close() }) //nolint:errcheck // a second Close does nothing
	ch, err := sub.Subscribe(t.Context(), "topic")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 4 {
		Expect(t, ch, fmt.Sprint(n))
	}
	if m := sourcetest.Receive(t, ch); string(m.Payload) != "4" { // stays unacknowledged
		t.Errorf("got %s", m.Payload)
	}
	if err := sub.Close(); err != nil {
		t.Fatal(err)
	}
	same("the rest of a group", pending("topic", "group", 100), all[4:])
	same("a part of it", pending("topic", "group", 3), all[4:7])
	same("nothing", pending("topic", "group", 0), nil)
	// Pending took no message from the group.
	ch = sourcetest.Subscribe(t, b, "group", "topic", 10)
	for n := 4; n < 12; n++ {
		Expect(t, ch, fmt.Sprint(n))
	}
	// Messages of keys on other lanes are pending as well.
	for n := range 20 {
		sourcetest.Publish(t, b, "many", Keyed(fmt.Sprint("key", n), fmt.Sprint(n)))
	}
	if got := pending("many", "group", 100); len(got) != 20 {
		t.Errorf("%d of 20 messages over all keys are pending", len(got))
	}
}
