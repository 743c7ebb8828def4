package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestPagesShowLook takes pictures of the pages with the time, place and performers
// of a show, and checks each with axe.
func TestPagesShowLook(t *testing.T) {
	t.Parallel()
	each(t, showLook)
}

func showLook(t *testing.T, d device, name string) {
	f := startFake(t)
	f.artistIs("42", "FRESH", false, nil)
	tb := open(t, f.url(), d)
	tb.Expect("status of 404") // show-4 has no vote
	for what, path := range map[string]string{"list": "/", "billed": "/shows/show-1", "bare": "/shows/show-4", "artist": "/artists/42"} {
		tb.visit(path)
		if what == "artist" {
			tb.until(fresh("FRESH") + " && document.querySelectorAll('.coming li').length === 4")
		}
		tb.until(calm)
		tb.sheet(fmt.Sprintf("shows-%s-%s", name, what))
		sound(tb, what)
		tb.axe("body")
	}
}

// TestPagesShowKeyboard goes from a show to one of its artists, and on to another
// show of the artist, without a pointer.
func TestPagesShowKeyboard(t *testing.T) {
	f := startFake(t)
	f.artistIs("42", "FRESH", false, nil)
	tb := open(t, f.url(), desktop())
	tb.Expect("status of 404") // show-2 has no vote
	tb.visit("/")
	tb.tabTo("a.show[href='/shows/show-1']")
	tb.press(kb.Enter)
	tb.at("/shows/show-1")
	tb.tabTo(".billing a[href='/artists/42']")
	tb.press(kb.Enter)
	tb.at("/artists/42")
	tb.tabTo(".coming a[href='/shows/show-2']")
	tb.press(kb.Enter)
	tb.at("/shows/show-2")
}
