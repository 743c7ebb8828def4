package queuepage_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/queue/queuepage"
)

func TestConfigErrorsNameTheFieldAndTheFix(t *testing.T) {
	brand := func(change func(*queuepage.Brand)) queuepage.Config {
		b := office(t)
		change(&b)
		return queuepage.Config{Brand: b}
	}
	for name, c := range map[string]struct {
		cfg  queuepage.Config
		want string
	}{
		"retry":             {queuepage.Config{Event: "e", RetryAfter: time.Millisecond}, "RetryAfter 1ms: set at least 1 s"},
		"another site":      {queuepage.Config{Check: "https://evil.example/{eventId}"}, `Check "https://evil.example/{eventId}" is not local`},
		"another host":      {queuepage.Config{Admitted: "//evil.example/"}, "Admitted \"//evil.example/\" is not local: begin it with one slash"},
		"backslash":         {queuepage.Config{Admitted: `/\evil.example`}, "escape it"},
		"markup":            {queuepage.Config{SignIn: `/"><script>`}, "SignIn"},
		"no event":          {queuepage.Config{Leave: "/leave"}, "Leave \"/leave\" needs {eventId} once"},
		"two events":        {queuepage.Config{Path: "/{eventId}/{eventId}"}, "needs {eventId} once"},
		"another hole":      {queuepage.Config{Check: "/{eventId}/{user}"}, "has a brace that is no"},
		"dots":              {queuepage.Config{Show: "/a/../{eventId}"}, "has a step of dots"},
		"query of the page": {queuepage.Config{Path: "/queue?e={eventId}"}, "leave its query out"},
		"no request":        {queuepage.Config{Gate: true, Check: "/vwr/check/{eventId}"}, "needs {requestId} once"},
		"gate's heartbeat":  {queuepage.Config{Gate: true, Heartbeat: "/h/{eventId}"}, "are a room's"},
		"gate's event":      {queuepage.Config{Gate: true, Event: "e"}, "Event is a room's"},
		"event":             {queuepage.Config{Event: "a/b"}, "without slashes"},
		"gate's entry":      {queuepage.Config{Gate: true, EntryKey: "k"}, "EntryKey is a room's"},
		"room's assign":     {queuepage.Config{Assign: "/a/{eventId}"}, "Assign is a gate's"},
		"move on":           {queuepage.Config{MoveOn: time.Millisecond}, "MoveOn 1ms: set 1 s to 5 min"},
		"keep":              {queuepage.Config{Keep: time.Second}, "Keep 1s"},
		"age":               {queuepage.Config{MaxAge: 2 * time.Hour}, "MaxAge 2h0m0s: set 1 s to 1 h"},
		"bearer":            {queuepage.Config{BearerField: "token"}, "name the key of localStorage"},
		"language":          {queuepage.Config{Language: "fr"}, "set en or ko"},
		"title":             {brand(func(b *queuepage.Brand) { b.Title = "a\nb" }), "Brand.Title"},
		"home":              {brand(func(b *queuepage.Brand) { b.Home = "javascript:alert(1)" }), "Brand.Home"},
		"mark":              {brand(func(b *queuepage.Brand) { b.Mark = `M0 0"/><script>` }), "Brand.Mark"},
		"font":              {brand(func(b *queuepage.Brand) { b.Headings = []string{`x";}</style>`} }), "Brand.Headings"},
		"font file":         {brand(func(b *queuepage.Brand) { b.HeadingsFile = `/f.woff2")}</style>` }), "Brand.HeadingsFile"},
		"font elsewhere":    {brand(func(b *queuepage.Brand) { b.HeadingsFile = "https://fonts.example/f.woff2" }), "Brand.HeadingsFile"},
		"colour":            {brand(func(b *queuepage.Brand) { b.Dark.Wash = "red" }), `Brand.Dark.Wash "red" is no colour: write #rrggbb`},
		"colour and more":   {brand(func(b *queuepage.Brand) { b.Light.Ink = "#000000;}" }), "Brand.Light.Ink"},
		"contrast":          {brand(func(b *queuepage.Brand) { b.Light.Soft = "#aaaaaa" }), "Brand.Light.Soft #aaaaaa on Paper #f6f2e9 has a contrast of 2.08: choose colours with at least 4.5"},
		"button":            {brand(func(b *queuepage.Brand) { b.Dark.OnAccent = "#ffffff" }), "Brand.Dark.OnAccent"},
	} {
		_, err := queuepage.New(c.cfg)
		if err == nil || !strings.HasPrefix(err.Error(), "queuepage: Config.") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestBrandIsText shows that texts of a brand are never markup, and that its
// drawing stays as given.
func TestBrandIsText(t *testing.T) {
	brand := office(t)
	brand.Title = `</title><script>alert(1)</script>"'&`
	brand.HeadingsFile = "/static/1a2b/font/fraunces.woff2"
	document, header := get(t, queuepage.Config{Brand: brand, BearerKey: `</script><b>"`})
	assert.Equal(t, 2, strings.Count(document, "<script"), "scripts, want the settings and the program")
	if strings.Contains(document, "alert(1)</script>") || strings.Contains(document, "<b>") {
		t.Error("the title or the key has become markup")
	}
	for _, part := range []string{
		`@font-face{font-family:"Fraunces";src:url("/static/1a2b/font/fraunces.woff2")`, `--headings:"Fraunces","Iowan Old Style"`, "--accent:#125355;", "--accent:#86d3c7;",
		`d="M16 6.5a9.5`, `content="#101819" media="(prefers-color-scheme: dark)"`,
	} {
		assert.Contains(t, document, part, "the document lacks")
	}
	assert.Contains(t, header.Get("Content-Security-Policy"), "font-src 'self'", "the policy does not let the font in")
	_, plain := get(t, queuepage.Config{})
	assert.NotContains(t, plain.Get("Content-Security-Policy"), "font-src", "the policy lets fonts in that nobody asked for")
}
