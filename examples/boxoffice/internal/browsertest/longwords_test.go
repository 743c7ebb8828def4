package browsertest

import (
	"strings"
	"testing"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
)

// TestPagesLongWords: a text without a space, from another system or a member, makes no page
// wider than a phone.
func TestPagesLongWords(t *testing.T) {
	long := strings.Repeat("W", 500)
	f := startFake(t)
	f.artistIs("1", "FRESH", false, nil)
	f.artists.views["1"]["snapshot"] = map[string]any{"id": "1", "name": long, "level": 1 << 50, "attributes": map[string]any{
		long: long, "group" + long: map[string]any{long: long}, "on": true}}
	show := &f.shows[0]
	show.Title, show.Venue.Name = "<b>"+long, long
	show.Performers, show.Prices = []catalog.Performer{{ArtistID: strings.Repeat("a", 64), Name: long}}, []catalog.Price{{Class: long, Price: 1 << 60}}
	tb := open(t, f.url(), device{name: "narrow", width: 320, height: 700, phone: true, lang: "en"})
	tb.Expect("status of 404")
	tb.signIn(strings.Repeat("m", 64))
	for _, path := range []string{"/", "/shows/show-1", "/artists/1", "/artists/" + strings.Repeat("a", 64), "/queue/show-1", "/scan", "/tickets"} {
		tb.visit(path)
		tb.at("/")
		switch path {
		case "/artists/1":
			tb.until("document.querySelector('#groups details')")
			eval[bool](tb, "(document.querySelector('#groups details').open = true)")
		case "/queue/show-1":
			tb.at("/events/show-1")
			tb.until("!document.querySelector('#pick-go').disabled")
		}
		sound(tb, path)
		tb.sheet("long" + strings.ReplaceAll(path[:min(len(path), 12)], "/", "-"))
	}
}
