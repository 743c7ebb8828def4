// Package hostiletest has hostile names of tables, keys and topics: tests of code that puts a
// name into SQL, into a Redis key or into a path use all of them.
package hostiletest

import "strings"

// SQL returns names that are not plain identifiers.
func SQL() []string {
	return []string{
		"", " ", "t; DROP TABLE users", "t--", "t/*", `t"`, "t`", "t'", "public.t", "t(x)", "T", "1t", "t t", "t\n", "t\x00", "ta\u0308", "$1", "?", "{{table}}",
		"t\\", "t,u", "t=1", strings.Repeat("t", 100),
	}
}

// Keys returns names that would move a Redis key into another slot, end it too soon, or break
// the line in which it is logged.
func Keys() []string {
	return []string{"{", "}", "{}", "a{b}c", "}{", "a\nb", "a\rb", "a\x00b", "a b", "\x1b[2J", "\xff", strings.Repeat("k", 5000)}
}
