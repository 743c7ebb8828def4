package idempotency

import "github.com/millrace-go/millrace/event"

// ParseKey is parseKey.
func ParseKey(value string) (string, error) { return parseKey(value) }

// ByEvent is byEvent.
func ByEvent(group string, e event.Event) (string, error) { return byEvent(group, e) }
