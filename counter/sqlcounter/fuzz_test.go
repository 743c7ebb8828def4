package sqlcounter

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
)

// FuzzPosition: a position encodes to the same text, and any other text is refused permanently.
func FuzzPosition(f *testing.F) {
	f.Add("")
	f.Add(`{"From":"1:5:2","To":"1:9:","End":10,"ID":7}`)
	f.Add(`{"id":-1}`)
	f.Add(`[]`)
	f.Add(`{"ID":1e400}`)
	f.Fuzz(func(t *testing.T, s string) {
		p, err := position(s)
		if err != nil {
			require.Equalf(t, fault.Permanent, fault.Of(err), "%q: %v is not permanent", s, err)
			return
		}
		if again, err := position(text(p)); err != nil || again != p {
			t.Fatalf("%+v comes back as %+v, %v", p, again, err)
		}
	})
}
