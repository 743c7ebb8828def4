package millracetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox/driver"
)

// Emitted returns the events of type E that your code or handlers committed, oldest first. It
// delivers none of them.
func Emitted[E millrace.Event, Tx any](k *Kit[Tx]) []E {
	k.t.Helper()
	k.relay()
	var zero E
	spec := zero.Spec()
	var all []E
	for _, p := range k.emitted {
		if p.topic != spec.Topic || p.event.Type != spec.Type {
			continue
		}
		var e E
		if err := p.event.UnmarshalData(&e); err != nil {
			k.t.Fatalf("millracetest: %s %s is no %T: %v", p.event.Type, p.event.ID, e, err)
		}
		all = append(all, e)
	}
	return all
}

// RequireEmitted returns the first committed event of type E that all matches accept. If there
// is none, it fails the test and lists the committed events.
func RequireEmitted[E millrace.Event, Tx any](k *Kit[Tx], matches ...func(E) bool) E {
	k.t.Helper()
	for _, e := range Emitted[E](k) {
		if accepted(e, matches) {
			return e
		}
	}
	var none E
	k.t.Fatalf("millracetest: no %T%s was committed; committed were:%s", none, thatMatches(len(matches)), k.story())
	return none
}

// RequireNotEmitted fails the test if an event of type E was committed that all matches accept.
func RequireNotEmitted[E millrace.Event, Tx any](k *Kit[Tx], matches ...func(E) bool) {
	k.t.Helper()
	for _, e := range Emitted[E](k) {
		if accepted(e, matches) {
			k.t.Fatalf("millracetest: a %T%s was committed: %+v", e, thatMatches(len(matches)), e)
		}
	}
}

func accepted[E any](e E, matches []func(E) bool) bool {
	for _, match := range matches {
		if !match(e) {
			return false
		}
	}
	return true
}

func thatMatches(n int) string {
	if n == 0 {
		return ""
	}
	return " that matches"
}

// story lists all events that were committed.
func (k *Kit[Tx]) story() string {
	if len(k.emitted) == 0 {
		return " none"
	}
	var b strings.Builder
	for _, p := range k.emitted {
		fmt.Fprintf(&b, "\n\t%s %s, key %q: %s", p.topic, p.event.Type, p.event.Key(), p.event.Data)
	}
	return b.String()
}

// decode returns the message that a relay would publish.
func decode(it *driver.Item) (published, error) {
	m := message.NewMessage(it.MessageID, it.Payload)
	if it.Headers != "" {
		if err := json.Unmarshal([]byte(it.Headers), &m.Metadata); err != nil {
			return published{}, fmt.Errorf("the headers of event %s: %w", it.MessageID, err)
		}
	}
	if it.Key != "" {
		m.Metadata.Set(event.KeyHeader, it.Key)
	}
	e, err := event.Decode(m)
	return published{it.Topic, e, m}, err
}
