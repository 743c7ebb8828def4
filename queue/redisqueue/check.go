package redisqueue

import (
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/internal/roomcalls"
)

const maxOrder = roomcalls.MaxOrder

func checkRules(event string, r driver.Rules) error {
	switch {
	case event == "" || len(event) > maxEvent:
		return roomcalls.Bad("the event has %d bytes; it must have 1 to %d", len(event), maxEvent)
	case unfit(event) >= 0:
		return roomcalls.Bad("the event has a brace, a space or what is no text at byte %d; it is the hash tag of the keys", unfit(event))
	}
	return roomcalls.CheckRules(r)
}
