package redissse

import "strings"

// keys are the names of the cap's keys.
type keys struct{ prefix string }

// Braces in a member's name would end the hash tag too soon, or empty it.
var braces = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")

// of returns the keys of a member, which share a slot: streams, tabs, evicted.
func (k keys) of(member string) []string {
	streams := k.prefix + "sse:notification:{" + braces.Replace(member) + "}"
	return []string{streams, streams + ":tabs", streams + ":evicted"}
}

func (k keys) instances() string { return k.prefix + "sse:instances" }
func (k keys) members() string   { return k.prefix + "sse:members" }
