package live

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
)

// A token opens only as it was signed: no other text, no other kind, no change.
func FuzzOpen(f *testing.F) {
	tickets, cookies := newSeal(strings.Repeat("s", auth.MinSecret), "ticket"), newSeal(strings.Repeat("s", auth.MinSecret), "cookie")
	// Of one time in each process of the fuzzer.
	signed := claims{Member: "ann", ID: "1", Ends: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).Unix()}
	good, err := tickets.sign(signed)
	require.NoError(f, err)
	f.Add(good)
	f.Add(good + "A")
	f.Add(strings.Replace(good, ".", "..", 1))
	f.Add("e30.")
	f.Add(".")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := tickets.open(text)
		switch {
		case err == nil && (text != good || c != signed):
			t.Fatalf("nobody has signed %q, which is %+v", text, c)
		case err != nil && text == good:
			t.Fatal(err)
		case err != nil && c != (claims{}):
			t.Fatalf("%q is refused (%v) and is %+v", text, err, c)
		}
		if _, err := cookies.open(text); err == nil {
			t.Fatalf("%q is a cookie", text)
		}
	})
}
