// Package hostiletest has the names with which tables, keys and topics are attacked:
// tests of what puts a name into SQL, into a Redis key or into a path try them all.
package hostiletest

import "strings"

// SQL are names that are no plain identifiers.
func SQL() []string {
	return []string{
		"", " ", "t; DROP TABLE users", "t--", "t/*", `t"`, "t`", "t'", "public.t", "t(x)", "T", "1t", "t t", "t\n", "t\x00", "ta\u0308", "$1", "?", "{{table}}",
		"t\\", "t,u", "t=1", strings.Repeat("t", 100),
	}
}

// Keys are names that would move a key of Redis into another slot, end it too soon, or
// break the line that it is logged in.
func Keys() []string {
	return []string{"{", "}", "{}", "a{b}c", "}{", "a\nb", "a\rb", "a\x00b", "a b", "\x1b[2J", "\xff", strings.Repeat("k", 5000)}
}
