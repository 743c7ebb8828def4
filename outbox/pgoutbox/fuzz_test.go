package pgoutbox

import (
	"strings"
	"testing"
)

// A position of outbox_event_leases is one of ours, or an error that shows it.
func FuzzParsePosition(f *testing.F) {
	f.Add("7000000000000000000|1:5:2,3|1:9:|10|7")
	f.Add("")
	f.Add("||||")
	f.Add("1|a|b|3|4")
	f.Add("1|1:2:3'; DROP TABLE x|b|3|4")
	f.Fuzz(func(t *testing.T, text string) {
		_, p, err := parsePosition(text)
		args, behind := (*windows)(nil).Behind(text)
		if err != nil {
			if behind == nil {
				t.Fatalf("%q is no position (%v), and is behind %v", text, err, args)
			}
			return
		}
		if text != "" && strings.Count(text, "|") != 4 {
			t.Fatalf("%q is read as %+v", text, p)
		}
		if behind != nil {
			return
		}
		// What goes to PostgreSQL are a number and an array's literal, each an
		// argument of its own.
		if len(args) != 2 {
			t.Fatalf("%q is behind %v", text, args)
		}
		if running, ok := args[1].(string); !ok || !strings.HasPrefix(running, "{") || !strings.HasSuffix(running, "}") {
			t.Fatalf("%q is behind %v", text, args)
		}
	})
}
