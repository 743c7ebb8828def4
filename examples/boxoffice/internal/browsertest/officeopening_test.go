package browsertest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/queue/draw"
)

// opensIn is long enough for all to join before the room freezes.
const opensIn = 30 * time.Second

// TestOfficeOpening goes through an on-sale: a show's page tells when it opens, a member
// joins before and waits without a place, enters at the opening, and has the page check the
// place in the draw. It is the place that package draw finds. A member who came later was not
// in the draw.
func TestOfficeOpening(t *testing.T) {
	o := startOffice(t)
	const show = "show-5"
	opens := time.Now().Add(opensIn).UTC()
	guest{o: o, token: o.Admin}.call("PUT", "/api/queue/admin/opening/"+show, "", map[string]any{"opens": opens}, nil)

	tb := open(t, o.url(), phone())
	tb.signIn("mina")
	tb.visit("/shows/" + show)
	tb.until(visible("#opening"))
	tb.until("document.querySelector('#opening-text').textContent.startsWith('The sale opens on ')")
	assert.False(t, eval[bool](tb, visible("#opening-check")), "before the draw a place can be checked")
	tb.visit("/queue?event=" + show)
	tb.until("document.body.dataset.view === 'early'")
	if text := eval[string](tb, "document.querySelector('#position').checkVisibility()+document.querySelector('#text').textContent"); text[:5] != "false" {
		t.Errorf("before the draw the page shows a place: %s", text)
	}
	tb.sheet("office-early")

	others := []guest{o.guest("jun"), o.guest("sora"), o.guest("haru")}
	var p draw.Published
	boxtest.WaitFor(t, "the draw", func() bool {
		for _, g := range others { // each poll is a sign of life
			g.call("POST", "/api/queue/check/"+show, "", nil, nil)
		}
		others[0].call("GET", "/api/queue/draw/"+show, "", nil, &p)
		return len(p.Seed) > 0
	})
	tb.at("/events/" + show)
	if early := time.Until(opens); early > 0 {
		t.Errorf("the page entered %s before the opening", early)
	}

	placeOf, n := o.drawn(t, show, p)
	assert.Equal(t, 4, n, "took part in the draw")
	var receipt struct{ Leaf string }
	o.guest("mina").call("GET", "/api/queue/receipt/"+show, "", nil, &receipt)
	leaf, err := draw.ParseLeaf(receipt.Leaf)
	require.NoError(t, err)
	place := placeOf(leaf)
	if place == 0 {
		t.Fatal("the member of the page was not in the draw")
	}
	tb.visit("/shows/" + show)
	tb.click("#opening-check")
	tb.until(fmt.Sprintf("document.querySelector('#opening-place').textContent === 'Your place in the draw is %d of 4. Your browser has checked it with what was published.'", place))
	if text := eval[string](tb, "document.querySelector('#opening-text').textContent"); text != "The sale is open. 4 people were in the draw." {
		t.Errorf("after the draw the page says %q", text)
	}
	tb.sheet("office-opened")

	late := open(t, o.url(), desktop())
	late.signIn("nari")
	late.visit("/shows/" + show)
	late.click("#opening-check")
	late.until("document.querySelector('#opening-place').textContent.startsWith('You were not in the draw.')")
}

// drawn is the order of a draw and its length, verified with what the office has published.
func (o *office) drawn(t *testing.T, show string, p draw.Published) (placeOf func(draw.Leaf) int, n int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, o.url()+"/api/queue/draw/"+show+"/leaves", nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close() //nolint:errcheck // it was read
	leaves, err := draw.ReadLeaves(answer.Body)
	require.NoError(t, err)
	placeOf, err = p.Verify(leaves)
	require.NoError(t, err)
	return placeOf, len(leaves)
}
