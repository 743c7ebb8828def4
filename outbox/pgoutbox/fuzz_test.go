package pgoutbox

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParsePosition: a text is a position of outbox_event_progress, or the error quotes it.
func FuzzParsePosition(f *testing.F) {
	f.Add("7000000000000000000|1:5:2,3|1:9:|10|7")
	f.Add("7000000000000000000|1:5:2,3|1:9:7,8|10|7|6")
	f.Add("")
	f.Add("7000000000000000000|1:5:2,3|1:9:|10|7|6")
	f.Add("||||")
	f.Add("1|a|b|3|4")
	f.Add("1|1:2:3'; DROP TABLE x|b|3|4")
	f.Fuzz(func(t *testing.T, text string) {
		_, p, err := parsePosition(text)
		args, behind := (*windows)(nil).Behind(text)
		if err != nil {
			require.Errorf(t, behind, "%q is no position (%v), and is behind %v", text, err, args)
			return
		}
		if n := strings.Count(text, "|"); text != "" && n != 4 && n != 5 {
			t.Fatalf("%q is read as %+v", text, p)
		}
		if behind != nil {
			return
		}
		// PostgreSQL gets numbers and array literals, each as a separate argument.
		require.Lenf(t, args, 8, "%q is behind %v", text, args)
		for _, i := range []int{1, 3} {
			if running, ok := args[i].(string); !ok || !strings.HasPrefix(running, "{") || !strings.HasSuffix(running, "}") {
				t.Fatalf("%q is behind %v", text, args)
			}
		}
	})
}
